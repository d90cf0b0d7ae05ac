"""Measures of one trained model: advantages of attacks and accuracies."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from guestlist.defences.plain import answered, tensor

ATTACKS = ("average_threshold", "optimal_threshold", "shadow")
ACCURACIES = ("members", "nonmembers", "validation")


def measures(
    log_p: np.ndarray,
    labels: np.ndarray,
    member: np.ndarray,
    nonmember: np.ndarray,
    unseen: np.ndarray,
    shadow_calls: np.ndarray | None = None,
    average_loss: float | None = None,
) -> Mapping[str, float]:
    """Advantages of attacks, and accuracies; NaN if there is no record to measure.

    Args:
        log_p: (records, classes) what the model answers.
        labels: (records,) positions of the classes.
        member, nonmember, unseen: (records,) masks; those unseen are drawn as members are.
        shadow_calls: (records,) whom the attack that shadows taught calls a member.
        average_loss: up to which ``average_threshold`` calls a member; by default the target's own on its members.
    """
    loss = -log_p[np.arange(len(labels)), labels]
    right = log_p.argmax(axis=1) == labels
    # The target's own average training loss, which its owner may publish (Yeom et al. 2018).
    average = loss[member].mean() if average_loss is None else average_loss
    results = {
        "average_threshold": np.nan if np.isnan(average) else gap(loss <= average, member, nonmember),
        "optimal_threshold": best_gap(loss, member, nonmember),
        "shadow": np.nan if shadow_calls is None else gap(shadow_calls, member, nonmember),
    }
    parts = zip(ACCURACIES, (member, nonmember, unseen), strict=True)
    return results | {name: float(right[part].mean()) if part.any() else np.nan for name, part in parts}


def gap(called: np.ndarray, member: np.ndarray, nonmember: np.ndarray) -> float:
    """Share of members who are called members, minus that of non-members."""
    return float(called[member].mean() - called[nonmember].mean())


def best_gap(loss: np.ndarray, member: np.ndarray, nonmember: np.ndarray) -> float:
    """The same at the threshold that is best for the truth: an upper bound, above 0 by chance alone."""
    levels = np.unique(loss[member])
    below = [np.searchsorted(np.sort(loss[part]), levels, side="right") / part.sum() for part in (member, nonmember)]
    return float(max(0.0, (below[0] - below[1]).max()))


def log_probabilities(module, x) -> np.ndarray:
    """(records, classes) of a torch module that answers with logits."""
    return answered(module, tensor(x, module)).double().log_softmax(dim=1).numpy()
