"""Attacks as hypothesis tests: S, P, R, D and L (Ye et al. 2022), and difficulty calibration."""

from collections.abc import Callable

import numpy as np
import scipy

from guestlist._kernels import student_log_odds
from guestlist._views import Signals, View
from guestlist.attacks.likelihood import standard_deviation

# Maximum degrees of freedom of a pooled variance: its tail is then nearly normal, and never too light.
PLENTY = 10_000


def reference(signals: View) -> np.ndarray:
    """Score by attack R, smoothed: log-odds that a model not trained on the record has a smaller margin.

    The margins of the OUT references are modelled as a normal sample. Student's t then gives the probability that the margin
    of a further OUT model is smaller than the target's (Ye et al. 2022, attack R, with quantiles beyond 1 / references). A
    record with a single OUT reference uses the pooled variance and its degrees of freedom. A variance below the floor is
    raised to the floor.

    Returns:
        (records,) scores, or (models, records); NaN where every reference trained on the record.
    """
    return signals.once("reference", lambda: _reference(signals))  # also used by its p-values


def _reference(signals: View) -> np.ndarray:
    outside = signals.outside("margin")
    pooled_dof = np.clip(np.maximum(outside.count - 1, 0).sum(axis=-1, keepdims=True), 1, PLENTY)
    dof = np.where(outside.count > 1, outside.count - 1, pooled_dof)
    with np.errstate(divide="ignore"):  # 1 / 0: the mean is NaN there, and so is the score
        scale = standard_deviation(outside, True) * np.sqrt(1 + 1 / outside.count)
    return student_log_odds((signals.target("margin") - outside.mean) / scale, dof.astype(np.float64))


def reference_empirical(signals: View) -> np.ndarray:
    """Score by attack R: share of OUT references with a larger loss than the target, ties counting 0.5 (Ye et al. 2022).

    It has no values between 0 and 1 / references, so it cannot resolve low false positive rates. NaN where every reference
    trained on the record.
    """
    return np.where(np.isnan(signals.target("loss")), np.nan, signals.share_above("loss"))


def difficulty(signals: View) -> np.ndarray:
    """Score by the margin minus the mean of the IN mean and the OUT mean (difficulty calibration, Watson et al. 2022).

    NaN where no reference trained, or none did not train, on the record.
    """
    return signals.target("margin") - (signals.inside("margin").mean + signals.outside("margin").mean) / 2


def difficulty_offline(signals: View) -> np.ndarray:
    """Score by the margin minus the mean of the OUT references (Watson et al. 2022); NaN where every reference trained on it."""
    return signals.target("margin") - signals.outside("margin").mean


def shadow(signals: View) -> np.ndarray:
    """Score by attack S: minus the share of smaller losses of references on non-members of the class, ties counting 0.5.

    A class in which the references have no non-members uses those of all classes. NaN where there are none.
    """
    ecdf = signals.class_ecdf("loss")
    with np.errstate(invalid="ignore"):  # 0 / 0 is NaN: no reference has a non-member
        return -(ecdf.below + ecdf.up_to) / (2 * ecdf.count)


def shadow_p_value(signals: Signals) -> np.ndarray:
    """Return the share of losses of references on non-members of the class that are as small, counting the record's own."""
    ecdf = signals.class_ecdf("loss")
    return np.where(ecdf.count > 0, (1 + ecdf.up_to) / (1 + ecdf.count), np.nan)


def population_p_value(signals: Signals) -> np.ndarray:
    """Return p-values of attack P: share of population records with as small a loss of the target, counting the record.

    Args:
        signals: The adversary's view.

    Returns:
        (records,) p-values; NaN without a population: records the target did not train on, and that are not evaluated.
    """
    loss = signals.target("loss")
    population = signals.population
    if population is None or not (population & ~np.isnan(loss)).any():
        return np.full(loss.shape, np.nan)
    population_losses = loss[population & ~np.isnan(loss)]
    up_to = np.searchsorted(np.sort(population_losses), loss, side="right")
    already_counted = population.astype(float)
    p_value = (1 + up_to - already_counted) / (1 + population_losses.size - already_counted)
    return np.where(np.isnan(loss), np.nan, p_value)


def reference_p_value(signals: Signals) -> np.ndarray:
    """Return p-values of attack R: probability that a model not trained on the record has as large a margin (Student's t)."""
    return scipy.special.expit(-reference(signals))


def reference_empirical_p_value(signals: Signals) -> np.ndarray:
    """Return p-values of attack R: share of OUT references with as small a loss, counting the target."""
    loss = signals.target("loss")
    others = signals.reference("loss")
    out = ~signals.reference_member & ~np.isnan(others)
    count = out.sum(axis=0)
    p_value = (1 + (out & (others <= loss)).sum(axis=0)) / (1 + count)
    return np.where(np.isnan(loss) | (count == 0), np.nan, p_value)


def with_other_models(signals: Signals, *, test: Callable[[Signals], np.ndarray], evidence: str) -> np.ndarray:
    """Apply a test that compares the target with its references to other models.

    Attack D is attack R with models distilled from the target (``distilled``). Attack L is attack R with models trained on its
    members without the record (``left_out``); for a non-member, these are models trained like the target with other seeds. NaN
    for records for which no such model was queried.
    """
    return test(signals.with_references(signals.evidence.need(evidence)))
