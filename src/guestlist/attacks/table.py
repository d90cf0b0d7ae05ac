"""Facts about attacks: the command line, the docs, the tests and the report read this table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from guestlist.attacks import likelihood, metrics
from guestlist.errors import InputError
from guestlist.signals import Signals


@dataclass(frozen=True)
class Attack:
    """One way to guess membership.

    Args:
        score: signals to (records,) scores that rise with membership.
        needs: the signals it reads.
        references: the fewest reference models it can do with.
        summary, paper: for people.
        threshold: signals to the threshold at which it calls a record a member (``score >= threshold``), if the
            attack has one of its own.
        compares: the references without which a record has no score (NaN): "nothing" (none needed), "any", "out" (at
            least one that did not train on it), or "both" (one that did and one that did not).
        default: whether an audit runs it unless told otherwise; variants are run by name.
        rotates: whether ``score`` also takes a ``Rotation`` and scores every model as target at once.
    """

    score: Callable[[Signals], np.ndarray]
    needs: tuple[str, ...]
    references: int
    summary: str
    paper: str
    threshold: Callable[[Signals], float] | None = None
    compares: Literal["nothing", "any", "out", "both"] = "nothing"
    default: bool = True
    rotates: bool = False


def _fixed(value: float) -> Callable[[Signals], float]:
    return lambda signals: value


def _metric(score, signal: str, summary: str, paper: str) -> Attack:
    return Attack(score, (signal,), 0, summary, paper, partial(metrics.single_threshold, name=signal), rotates=True)


def _class_metric(signal: str, summary: str) -> Attack:
    score = partial(metrics.beyond_threshold, name=signal)
    return Attack(score, (signal,), 1, summary, "Song & Mittal 2021", _fixed(0.0), rotates=True)


def _lira(score, variance: str, summary: str, default: bool) -> Attack:
    compares = "both" if score is likelihood.lira else "out"
    score = partial(score, variance=variance)
    return Attack(score, ("margin",), 4, summary, "Carlini et al. 2022", None, compares, default, rotates=True)


ATTACKS: dict[str, Attack] = {
    "loss": _metric(metrics.loss, "loss", "small loss of the target (P)", "Yeom et al. 2018; Ye et al. 2022"),
    "correctness": Attack(
        metrics.correctness, ("correct",), 0, "the target is right", "Yeom et al. 2018", _fixed(1.0), rotates=True
    ),
    "confidence": _metric(metrics.confidence, "p_y", "large probability of the true class", "Song & Mittal 2021"),
    "entropy": _metric(metrics.entropy, "entropy", "small entropy of the answer", "Salem et al. 2019"),
    "mentr": _metric(metrics.mentr, "mentr", "small modified entropy", "Song & Mittal 2021"),
    "class_confidence": _class_metric("p_y", "confidence beyond a threshold per class"),
    "class_entropy": _class_metric("entropy", "entropy below a threshold per class"),
    "class_mentr": _class_metric("mentr", "modified entropy below a threshold per class"),
    "lira": _lira(likelihood.lira, "auto", "likelihood ratio of IN and OUT references", True),
    "lira_pooled": _lira(likelihood.lira, "pooled", "LiRA with one variance, pooled within records", False),
    "lira_record": _lira(likelihood.lira, "record", "LiRA with a variance per record", False),
    "lira_offline": _lira(likelihood.lira_offline, "auto", "tail of the OUT references alone", True),
    "lira_offline_pooled": _lira(likelihood.lira_offline, "pooled", "LiRA offline with one variance", False),
    "lira_offline_record": _lira(likelihood.lira_offline, "record", "LiRA offline with a variance per record", False),
}


def named(names: Sequence[str | Callable] | None, references: int) -> dict[str, Attack]:
    """The attacks to run: those named, a user's own functions ``(signals) -> scores``, or all that can by default."""
    if names is None:
        return {n: a for n, a in ATTACKS.items() if a.default and a.references <= references}
    chosen = {}
    for name in names:
        if callable(name):
            own = getattr(name, "__name__", type(name).__name__)
            chosen[own] = Attack(name, (), 0, "given by the user", "")
            continue
        if name not in ATTACKS:
            raise InputError(f"There is no attack {name!r}; there are {', '.join(ATTACKS)}.")
        if ATTACKS[name].references > references:
            raise InputError(f"Attack {name!r} needs at least {ATTACKS[name].references} references, found {references}.")
        chosen[name] = ATTACKS[name]
    return chosen
