"""Attacks on only the target's outputs, with thresholds estimated from reference models."""

import numpy as np

from guestlist import metrics
from guestlist._views import Signals, View

# Sign of each signal: members have larger margins and smaller losses.
SIGN = {"correct": 1, "p_y": 1, "margin": 1, "loss": -1, "entropy": -1, "mentr": -1}


def signed_signal(signals: View, name: str) -> np.ndarray:
    """Return signal ``name`` of the target, with the sign that makes it rise with membership: members are fitted better.

    These are the attacks of Yeom et al. (2018; attack P of Ye et al. 2022) on the loss and on correct predictions, of Salem et
    al. (2019) on the entropy, and of Song & Mittal (2021) on the probability of the true class and on the modified entropy.
    """
    return SIGN[name] * signals.target(name)


def beyond_threshold(view: View, name: str, *, per_class: bool = True) -> np.ndarray:
    """Return the distance of signal ``name`` from the threshold fitted on the references, positive for members.

    A class in which the references have no members or no non-members uses the threshold of all classes.

    Returns:
        (records,) scores, or (models, records); NaN where the references have only members, or only non-members, in all classes.
    """
    sign = SIGN[name]
    thresholds = np.full(view.target(name).shape, np.nan)
    if per_class:
        thresholds = view.class_thresholds(name, sign)
    missing = np.isnan(thresholds)
    if missing.any():
        thresholds = np.where(missing, view.best_threshold(name, sign), thresholds)
    return sign * view.target(name) - thresholds


def average_threshold(signals: Signals) -> float:
    """Return minus the mean loss of references on their own members (Yeom et al. 2018); NaN without any.

    It replaces the training loss of the target, which its owner may publish but which its signals do not contain.
    """
    losses = signals.reference("loss")
    known = losses[signals.reference_member & ~np.isnan(losses)]
    if not known.size:
        return float("nan")
    return -float(known.mean())


def single_threshold(signals: Signals, name: str) -> float:
    """Return the one threshold on the score of signal ``name``, fitted on the references; NaN without any."""
    if not signals.references:
        return float("nan")
    return float(signals.best_threshold(name, SIGN[name])[0])


def label_only(signals: Signals) -> np.ndarray:
    """Score by the robustness of the predicted label: a distance from the decision boundary (Choquette-Choo et al. 2021).

    If the predicted label of the record is correct, the score is the share of perturbed copies that are labelled correctly.
    Otherwise it is minus the share of copies that are labelled wrongly. Only labels are read. Records whose copies all have the
    same label have equal scores, so few copies cannot resolve low false positive rates.

    Returns:
        (records,) scores in [-1, 1]; NaN where the target was not queried on copies of the record.
    """
    return signals.evidence.need("perturbed").share - (1 - signals.target("correct"))


def quantile(signals: Signals) -> np.ndarray:
    """Return the target's hinge minus the quantile of similar non-members (Bertran et al. 2023, algorithm 1).

    A quantile of the hinge is regressed on features and label over known non-members. If the regressor has
    no skill, all records have one quantile, and the results report it. A score of 0 does not guarantee a false positive
    rate, since regressors tend to underestimate on records that they were not fitted on; p-values do.

    Returns:
        (records,) scores; NaN for the known non-members themselves, and where the target was not queried.
    """
    view = signals.evidence.need("quantiles")
    return np.where(np.isnan(signals.target("margin")), np.nan, view.hinge - view.ceiling)


def quantile_p_value(signals: Signals) -> np.ndarray:
    """Return the share of known non-members, not used in the regression, with as large a score, counting the record's own.

    This is a split-conformal p-value: it is valid on average over non-members, for any regressor.
    """
    return metrics.conformal_p_values(quantile(signals), signals.evidence.need("quantiles").beyond)
