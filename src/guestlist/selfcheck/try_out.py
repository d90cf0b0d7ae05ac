"""A user's own attacks on made-up signals: faults show before anything is trained."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np

from guestlist.attacks import Attack
from guestlist.errors import InputError
from guestlist.selfcheck.worlds import gaussian_world


def try_out(
    attacks: Mapping[str, Attack], labels: np.ndarray, references: int, signals: Collection[str] | None = None
) -> None:
    """Run a user's own attacks on made-up signals of the same shape.

    Args:
        signals: those that the target gives; by default those of a classifier.
    """
    for name, attack in attacks.items():
        if not attack.own:
            continue
        view = replace(gaussian_world(0.0, records=len(labels), models=1 + references).facing(0), labels=labels)
        if signals is not None:
            made = {"residual": view.values["margin"], **view.values}
            view = replace(view, values={name: made[name] for name in signals})
        try:
            scores = np.asarray(attack.score(view), dtype=np.float64)
        except Exception as error:
            raise InputError(f"Attack {name!r} failed on made-up signals ({type(error).__name__}: {error}).") from error
        if scores.shape != labels.shape:
            raise InputError(
                f"Attack {name!r} must give one score per record, shaped {labels.shape}, found {scores.shape}."
            )
