"""Attacks on only the target's outputs, with thresholds estimated from reference models."""

import numpy as np

from guestlist._views import Signals, View

# Which way a signal points: members have larger margins and smaller losses.
SIGN = {"correct": 1, "p_y": 1, "margin": 1, "loss": -1, "entropy": -1, "mentr": -1}


def loss(signals: View) -> np.ndarray:
    """Minus the target's loss: members are fitted better (Yeom et al. 2018; attack P of Ye et al. 2022)."""
    return -signals.target("loss")


def correctness(signals: View) -> np.ndarray:
    """1 where the target is right, 0 where it is wrong (Yeom et al. 2018)."""
    return signals.target("correct")


def confidence(signals: View) -> np.ndarray:
    """Probability of the true class (Song & Mittal 2021)."""
    return signals.target("p_y")


def entropy(signals: View) -> np.ndarray:
    """Minus the entropy of the output, which does not depend on the label (Salem et al. 2019)."""
    return -signals.target("entropy")


def mentr(signals: View) -> np.ndarray:
    """Minus the modified entropy, which does (Song & Mittal 2021, eq. 8)."""
    return -signals.target("mentr")


def beyond_threshold(view: View, name: str, *, per_class: bool = True) -> np.ndarray:
    """Return the distance of signal ``name`` from the threshold fitted on the references, positive for members.

    A class in which the references have no members or no non-members takes the threshold of all classes.

    Returns:
        (records,) scores, or (models, records); NaN where the references have only members, or only non-members, in all classes.
    """
    sign = SIGN[name]
    thresholds = np.full(view.target(name).shape, np.nan)
    if per_class:
        thresholds = view.class_thresholds(name, sign)
    missing = np.isnan(thresholds)
    if missing.any():
        overall = view.best_threshold(name, sign)
        thresholds = np.where(missing, overall, thresholds)
    return sign * view.target(name) - thresholds


def average_threshold(signals: Signals) -> float:
    """Minus the mean loss of references on their own members (Yeom et al. 2018); NaN without any.

    It replaces the training loss of the target, which its owner may publish and its signals do not hold.
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
    """Robustness of the target's correct label, a distance from its decision boundary (Choquette-Choo et al. 2021).

    Where the label of the record is right, the share of perturbed copies whose label is right as well; where it is
    wrong, minus the share of copies whose label is wrong: a record on the wrong side of the boundary scores below those
    on the right one. Only labels are read. Records whose copies all have the same label have equal scores, so
    few copies resolve no low false positive rates.

    Returns:
        (records,) scores in [-1, 1]; NaN where the target was not queried on copies of the record.
    """
    return signals.evidence.need("perturbed").share - (1 - signals.target("correct"))


def quantile(signals: Signals) -> np.ndarray:
    """Return the target's hinge minus the quantile of similar non-members (Bertran et al. 2023, algorithm 1).

    A quantile of the hinge is regressed on features and label over known non-members. If the regressor has
    no skill, all records have one quantile, and the results say so. A score of 0 is not a threshold for a given
    false-positive rate, since regressors tend to predict too little beyond the records that they fit; p-values are.

    Returns:
        (records,) scores; NaN for the known non-members themselves, and where the target was not queried.
    """
    view = signals.evidence.need("quantiles")
    return np.where(np.isnan(signals.target("margin")), np.nan, view.hinge - view.ceiling)


def quantile_p_value(signals: Signals) -> np.ndarray:
    """Share of known non-members, kept out of the regression, with as large a score, the record's own counting as one.

    (A split-conformal p-value: it holds for non-members on the whole, however good the regressor is.)
    """
    scores = quantile(signals)
    beyond = signals.evidence.need("quantiles").beyond
    as_large = len(beyond) - np.searchsorted(beyond, scores, side="left")
    return np.where(np.isnan(scores), np.nan, (1 + as_large) / (1 + len(beyond)))
