"""One network and its owner: risks of its members, and the modified-entropy attack fitted on the network itself.

No reference models are needed, so that a network with any defence can be evaluated separately.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import softmax

import guestlist as gl
from papers.shapr.measures import beyond, score, shapr_in
from papers.shapr.models import query
from papers.shapr.summaries import Summary, summarise


@dataclass(frozen=True, eq=False)
class OwnerView:
    """View of the model owner.

    Args:
        member: (records,) the truth.
        shapr, outputs: (members,) SHAPr times the number of members, in the space of the first layer and of the outputs.
        score: (members,) the privacy risk score.
        calls: (records,) 1.0 where the attack flags a record, NaN where it has no score.
        right: (records,) 1.0 where the network is correct.
    """

    member: np.ndarray
    shapr: np.ndarray
    outputs: np.ndarray
    score: np.ndarray
    calls: np.ndarray
    right: np.ndarray


def owner_view(module: Any, x: np.ndarray, labels: np.ndarray, member: np.ndarray) -> OwnerView:
    """Return the owner's view of a network that was trained on ``x[member]``."""
    first, last = query(module[:2], x), softmax(query(module, x), axis=1)
    return OwnerView(
        member=member,
        shapr=shapr_in(first, member, labels) * member.sum(),
        outputs=shapr_in(last, member, labels) * member.sum(),
        **_attacked(module, x, labels, member),
    )


def with_queries(view: OwnerView, module: Any, x: np.ndarray, labels: np.ndarray) -> OwnerView:
    """Return the view with an attack and a risk score that query ``x``; SHAPr still reads the training records."""
    return replace(view, **_attacked(module, x, labels, view.member))


def _attacked(module: Any, x: np.ndarray, labels: np.ndarray, member: np.ndarray) -> dict[str, np.ndarray]:
    signals = gl.models.signals_of_logits(query(module, x), labels)
    entropy = np.stack([signals["mentr"]] * 2)
    distance = beyond(entropy, member, labels)
    return {
        "score": score(entropy, member, labels)[member],
        "calls": np.where(np.isnan(distance), np.nan, distance >= 0),
        "right": signals["correct"],
    }


@dataclass(frozen=True)
class Averages:
    """Metrics of some members over repeats, each compared with that of another network, repeat by repeat.

    Args:
        shapr, outputs: mean SHAPr times the number of members of the network, in two spaces.
        at_risk: mean over members whose SHAPr in the first layer is above 0; ``share`` is their share.
        score: mean privacy risk score.
        attack: balanced accuracy of the attack on these members and on all non-members.
        train, test: accuracy on these members, and on all non-members.
    """

    shapr: Summary
    outputs: Summary
    at_risk: Summary
    share: Summary
    score: Summary
    attack: Summary
    train: Summary
    test: Summary


Part = tuple[OwnerView, np.ndarray]  # a view, and (members,) true for the evaluated members


def averages(parts: Sequence[Part], against: Sequence[Part] | None = None) -> Averages:
    """Return the averages; there is one part per repeat."""
    return Averages(**{
        name: summarise(each(name, parts), None if against is None else each(name, against)) for name in METRICS
    })  # fmt: skip


def each(name: str, parts: Sequence[Part]) -> list[float]:
    """Return one of the metrics, repeat by repeat."""
    return [float(METRICS[name](view, chosen)) for view, chosen in parts]


def all_members(view: OwnerView) -> Part:
    """Return the view with all members."""
    return view, np.ones(len(view.shapr), dtype=bool)


def _at_risk(view: OwnerView, chosen: np.ndarray) -> float:
    values = view.shapr[chosen & (view.shapr > 0)]
    return values.mean() if len(values) else np.nan


def _attack(view: OwnerView, chosen: np.ndarray) -> float:
    return (np.nanmean(view.calls[view.member][chosen]) + 1 - np.nanmean(view.calls[~view.member])) / 2


METRICS: dict[str, Callable[[OwnerView, np.ndarray], float]] = {
    "shapr": lambda view, chosen: view.shapr[chosen].mean(),
    "outputs": lambda view, chosen: view.outputs[chosen].mean(),
    "at_risk": _at_risk,
    "share": lambda view, chosen: (view.shapr[chosen] > 0).mean(),
    "score": lambda view, chosen: np.nanmean(view.score[chosen]),
    "attack": _attack,
    "train": lambda view, chosen: view.right[view.member][chosen].mean(),
    "test": lambda view, chosen: view.right[~view.member].mean(),
}
