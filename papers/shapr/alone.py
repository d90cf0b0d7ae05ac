"""One network and its owner: risks of its members, and the modified-entropy attack that learnt from the network itself.

No reference is needed, so that a network of any defence can be looked at by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import softmax

import guestlist as gl
from papers.shapr.measures import beyond, score, shapr_in
from papers.shapr.models import asked
from papers.shapr.spread import Spread, spread


@dataclass(frozen=True, eq=False)
class Seen:
    """What the owner sees.

    Args:
        member: (records,) the truth.
        shapr, outputs: (members,) SHAPr times the number of members, in the space of the first layer and of the outputs.
        score: (members,) the privacy risk score.
        calls: (records,) 1.0 where the attack calls, NaN where it has no score.
        right: (records,) 1.0 where the network is right.
    """

    member: np.ndarray
    shapr: np.ndarray
    outputs: np.ndarray
    score: np.ndarray
    calls: np.ndarray
    right: np.ndarray


def seen(
    module: Any, x: np.ndarray, labels: np.ndarray, member: np.ndarray, *, known: np.ndarray | None = None
) -> Seen:
    """A network that trained on ``x[member]``.

    Args:
        known: the records as the attack and the risk score ask about them, where these are not as they were trained on.
    """
    logits = asked(module, x if known is None else known)
    entropy = np.stack([gl.models.SIGNALS["mentr"](logits, labels)] * 2)
    beyond_ = beyond(entropy, member, labels)
    first, last = asked(module[:2], x), softmax(asked(module, x), axis=1)
    return Seen(
        member,
        *(shapr_in(space, member, labels) * member.sum() for space in (first, last)),
        score(entropy, member, labels)[member],
        np.where(np.isnan(beyond_), np.nan, beyond_ >= 0),
        gl.models.SIGNALS["correct"](logits, labels),
    )


@dataclass(frozen=True)
class Averages:
    """Of some members, over repeats; each compared with the same figure of another network, repeat by repeat.

    Args:
        shapr, outputs: mean SHAPr times the number of members of the network, in two spaces.
        at_risk: mean of those members alone whose SHAPr in the first layer is above 0, and ``share`` is how many they are.
        score: mean privacy risk score.
        attack: balanced accuracy of the attack on these members and on all non-members.
        train, test: shares of these members, and of all non-members, that the network is right about.
    """

    shapr: Spread
    outputs: Spread
    at_risk: Spread
    share: Spread
    score: Spread
    attack: Spread
    train: Spread
    test: Spread


Part = tuple[Seen, np.ndarray]  # and (members,) true for those of its members that are looked at


def averages(parts: Sequence[Part], against: Sequence[Part] | None = None) -> Averages:
    """One part for each repeat."""
    return Averages(**{
        name: spread(each(name, parts), None if against is None else each(name, against)) for name in FIGURES
    })  # fmt: skip


def each(name: str, parts: Sequence[Part]) -> list[float]:
    """One of the figures, repeat by repeat."""
    return [float(FIGURES[name](one, chosen)) for one, chosen in parts]


def whole(one: Seen) -> Part:
    """All members."""
    return one, np.ones(len(one.shapr), dtype=bool)


def _at_risk(one: Seen, chosen: np.ndarray) -> float:
    values = one.shapr[chosen & (one.shapr > 0)]
    return values.mean() if len(values) else np.nan


def _attack(one: Seen, chosen: np.ndarray) -> float:
    return (np.nanmean(one.calls[one.member][chosen]) + 1 - np.nanmean(one.calls[~one.member])) / 2


FIGURES: dict[str, Callable[[Seen, np.ndarray], float]] = {
    "shapr": lambda one, chosen: one.shapr[chosen].mean(),
    "outputs": lambda one, chosen: one.outputs[chosen].mean(),
    "at_risk": _at_risk,
    "share": lambda one, chosen: (one.shapr[chosen] > 0).mean(),
    "score": lambda one, chosen: np.nanmean(one.score[chosen]),
    "attack": _attack,
    "train": lambda one, chosen: one.right[one.member][chosen].mean(),
    "test": lambda one, chosen: one.right[~one.member].mean(),
}
