"""A user's own attacks on made-up signals: faults show before anything is trained."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np
from scipy.special import log_softmax

from guestlist.attacks import Attack
from guestlist.attacks.attack import checked_scores
from guestlist.errors import InputError, MissingEvidenceError
from guestlist.lines import reason
from guestlist.selfcheck.worlds import gaussian_simulation
from guestlist.views.evidence import FullAnswersView
from guestlist.views.signals import Signals


def try_custom_attacks(
    attacks: Mapping[str, Attack],
    labels: np.ndarray,
    references: int,
    signals: Collection[str] | None = None,
    population: np.ndarray | None = None,
    *,
    unmade: bool = False,
) -> None:
    """Run a user's own attacks on made-up signals of the same shape.

    Args:
        labels: (records,) positions of the true classes.
        signals: those that the target gives; by default those of a classifier.
        population: (records,) true for records that are not evaluated.
        unmade: whether the audit has evidence that cannot be made up, which an attack may then ask for here in vain.
    """
    for name, attack in attacks.items():
        if not attack.custom:
            continue
        view = _made_up(labels, references, signals, population)
        try:
            scores = attack.score(view)
        except Exception as error:
            if unmade and isinstance(error, MissingEvidenceError):
                continue
            raise InputError(f"Attack {name!r} failed on made-up signals ({reason(error)}).") from error
        checked_scores(name, scores, labels.shape)


def _made_up(
    labels: np.ndarray, references: int, signals: Collection[str] | None, population: np.ndarray | None
) -> Signals:
    """A view of as many records, classes and references; whole answers as any model might give them."""
    view = gaussian_simulation(0.0, records=len(labels), models=1 + references).facing(0)
    classes = max(2, int(labels.max(initial=0)) + 1)

    def answers(rows: int) -> np.ndarray:
        drawn = np.random.default_rng(0).normal(size=(rows, len(labels), classes))
        return log_softmax(drawn, axis=2).astype(np.float32)

    whole = FullAnswersView(answers(references), view.reference_member)
    evidence = view.evidence.with_part("full_answers", whole)
    view = replace(view, labels=labels, population=population, answers=answers(1)[0], evidence=evidence)
    if signals is None:
        return view
    made = {"residual": view.values["margin"], **view.values}
    return replace(view, values={name: made[name] for name in signals})
