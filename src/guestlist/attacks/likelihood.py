"""Likelihood-ratio attacks: LiRA, RMIA and its base."""

from typing import Literal

import numpy as np
import scipy

from guestlist._kernels import SMALLEST_PROBABILITY, Moments
from guestlist._views import View

Variance = Literal["auto", "pooled", "record"]

_HALF_LOG_TAU = 0.5 * np.log(2 * np.pi)

# Minimum number of references for a variance per record (Carlini et al. 2022, sec. V-C).
ENOUGH_FOR_RECORD = 64

# If all references agree on a record (a saturated output, a deterministic trainer), its sample variance is 0. It is
# then set to this share of the pooled variance, which keeps the score finite and ranks such records by the distance of
# the target from the references.
VARIANCE_FLOOR = 1e-4

# If hardly any record has a variance, the pooled variance is only rounding error. Margins are log-odds, and their
# variance is at least this: a standard deviation of 1e-6, the rounding error of float32 near 10.
SMALLEST_VARIANCE = 1e-12


def lira(signals: View, *, variance: Variance = "auto") -> np.ndarray:
    """Score by LiRA online: log-density of the margin under IN minus that under OUT references (Carlini et al. 2022, alg. 1).

    Args:
        variance: one for all records, pooled *within* records; one per record; or pooled below 64 references and
            per record with more.

    Returns:
        (records,) scores, or (models, records); NaN where no reference trained, or none did not train, on the
        record.
    """
    x = signals.target("margin")
    inside = signals.inside("margin")
    outside = signals.outside("margin")
    per_record = _uses_record_variance(variance, inside, outside)
    return _log_density(x, inside, per_record) - _log_density(x, outside, per_record)


def lira_offline(signals: View, *, variance: Variance = "auto") -> np.ndarray:
    """Score by LiRA offline: log-odds that a model *not* trained on the record has a smaller margin.

    The test is one-sided, so that unusually low confidence never counts as membership (Carlini et al. 2022, eq. 4).
    """
    outside = signals.outside("margin")
    t = (signals.target("margin") - outside.mean) / standard_deviation(
        outside, _uses_record_variance(variance, outside)
    )
    return scipy.special.log_ndtr(t) - scipy.special.log_ndtr(-t)


def standard_deviation(over: Moments, per_record: bool | np.ndarray) -> np.ndarray:
    """Return the standard deviation over references, ``per_record`` or pooled; never below the floor."""
    pooled = np.maximum(over.pooled_variance, SMALLEST_VARIANCE)
    record_variance = np.maximum(np.where(over.count > 1, over.variance, pooled), VARIANCE_FLOOR * pooled)
    return np.sqrt(np.where(per_record, record_variance, pooled))


def _uses_record_variance(variance: Variance, *sides: Moments) -> bool | np.ndarray:
    """Return True, for each target, if records have separate variances.

    With "auto" this requires enough IN, and enough OUT, references.
    """
    if variance not in ("auto", "pooled", "record"):
        raise ValueError(f"Expected variance={variance!r} to be 'auto', 'pooled' or 'record'.")
    if variance != "auto":
        return variance == "record"
    fewest = np.min([np.median(side.count, axis=-1, keepdims=True) for side in sides], axis=0)
    return fewest >= ENOUGH_FOR_RECORD / 2


def _log_density(x: np.ndarray, over: Moments, per_record: bool | np.ndarray) -> np.ndarray:
    scale = standard_deviation(over, per_record)
    return -0.5 * np.square((x - over.mean) / scale) - np.log(scale) - _HALF_LOG_TAU


def rmia(signals: View) -> np.ndarray:
    """Score by RMIA online: log p(target) - log P, where P is the mean of the IN mean and the OUT mean.

    Returns:
        (records,) scores, or (models, records); NaN where no reference trained, or none did not train, on the
        record.
    """
    return _log_ratio(signals, (signals.inside("p_y").mean + signals.outside("p_y").mean) / 2)


def rmia_offline(signals: View, *, a: float | None = None) -> np.ndarray:
    """Score by RMIA offline: log p(target) - log P, where P = ((1 + a) OUT mean + (1 - a)) / 2.

    Args:
        a: similarity of IN to OUT: the mean of IN references is modelled as a * OUT mean + (1 - a). By default
            it is tuned on the references, see :func:`tuned_a`.

    Returns:
        (records,) scores, or (models, records); NaN where every reference trained on the record.
    """
    if a is not None and not 0 <= a <= 1:
        raise ValueError(f"Expected a={a} in [0, 1].")
    near = tuned_a(signals) if a is None else a
    return _log_ratio(signals, ((1 + near) * signals.outside("p_y").mean + (1 - near)) / 2)


def tuned_a(signals: View) -> np.ndarray:
    """Estimate RMIA's ``a``, (1,) or (targets, 1), with every reference as a stand-in target for its own members.

    A reference that trained on a record is modelled to output the probability a * (OUT mean) + (1 - a). This is linear in a,
    so least squares over all (reference, member) pairs, with the other references for the OUT mean, has a closed form in the
    moments. The target is not used: in a :class:`Rotation`, each target has a separate ``a``. The result is clipped to [0, 1].
    It is 1 if the references carry no information; offline RMIA then compares with the OUT mean only.

    The paper searches a grid for the largest AUC of one stand-in target. The closed form needs no search, and no choice
    of a stand-in target that would affect the scores.
    """
    inside = signals.inside("p_y")
    outside = signals.outside("p_y")
    both = (inside.count > 0) & (outside.count > 0)
    x = np.where(both, 1 - outside.mean, 0.0)
    y = np.where(both, 1 - inside.mean, 0.0)
    weight = np.where(both, inside.count, 0.0)  # the sum over a record's IN references
    squares = (weight * x * x).sum(axis=-1, keepdims=True)
    with np.errstate(invalid="ignore"):
        a = (weight * x * y).sum(axis=-1, keepdims=True) / squares
    return np.clip(np.where(squares > 0, a, 1.0), 0.0, 1.0)


def base(signals: View) -> np.ndarray:
    """Score by BASE at temperature 1: log p(target) - log of the references' mean probability (Lassila et al. 2025).

    NaN where no reference was queried on the record.
    """
    inside = signals.inside("p_y")
    outside = signals.outside("p_y")
    total = sum(np.where(side.count > 0, side.count * side.mean, 0.0) for side in (inside, outside))
    with np.errstate(invalid="ignore"):  # 0 / 0 is NaN: no reference applies
        return _log_ratio(signals, total / (inside.count + outside.count))


def _log_ratio(signals: View, mean: np.ndarray) -> np.ndarray:
    # The target's log-probability comes from its loss, which is exact where the probability underflows. If all
    # references output 0, they have equal losses, and their log-probability comes from the loss too.
    log_p = -signals.target("loss")
    log_mean = np.log(np.maximum(mean, SMALLEST_PROBABILITY))
    # An output of exactly 0 has ratio 0, below every other ratio. The loss contains only a replacement value for it.
    zero = (signals.target("p_y") == 0) & (mean > 0)
    log_p = np.where(zero, np.minimum(log_p, np.log(SMALLEST_PROBABILITY)), log_p)
    if (mean == 0).any():  # rare; otherwise the losses need not be summed
        inside = signals.inside("loss")
        outside = signals.outside("loss")
        log_mean = np.where(mean == 0, -np.where(outside.count > 0, outside.mean, inside.mean), log_mean)
    return log_p - log_mean
