"""Ratios of probabilities: the target's for the true class, against a mean over reference models.

RMIA (Zarifzadeh et al. 2024) scores a record x by the share of population records z with r(x) / r(z) >=
gamma, where r is this ratio. For one target that share rises with r(x) whatever the population, so log r
ranks records exactly as RMIA does; a population would only place thresholds. BASE (Lassila et al. 2025) is
the same ratio against all references alike.

Both are ratios of softmax probabilities at temperature 1: the stored signals determine the probability of the
true class, but not what other temperatures would make of it when there are more than two classes.

Outputs of exactly 0 are common for trees and small forests. A target's 0 has ratio 0 by the formula, so it ranks below every
positive output: a tree that was fitted to a record never outputs 0 for its class. Where every reference outputs 0, the ratio
is undefined or infinite. Their losses then tell what such a 0 stands for (see
:func:`guestlist.targets.signals.smallest_answer`); a ratio to 0 would outrank everything else.
"""

from __future__ import annotations

import numpy as np

from guestlist.arrays.probability import SMALLEST_PROBABILITY
from guestlist.views.view import View


def rmia(signals: View) -> np.ndarray:
    """RMIA online: log p(target) - log P, where P is the mean of the IN mean and the OUT mean.

    Returns:
        (records,) scores, or (models, records); NaN where no reference trained, or none did not train, on the
        record.
    """
    return _log_ratio(signals, (signals.inside("p_y").mean + signals.outside("p_y").mean) / 2)


def rmia_offline(signals: View, *, a: float | None = None) -> np.ndarray:
    """RMIA offline: log p(target) - log P, where P = ((1 + a) OUT mean + (1 - a)) / 2.

    Args:
        a: how close IN is to OUT: the mean of IN references is modelled as a * OUT mean + (1 - a). By default
            it is tuned on the references, see :func:`tuned_a`.

    Returns:
        (records,) scores, or (models, records); NaN where every reference trained on the record.
    """
    if a is not None and not 0 <= a <= 1:
        raise ValueError(f"Expected a={a} in [0, 1].")
    near = tuned_a(signals) if a is None else a
    return _log_ratio(signals, ((1 + near) * signals.outside("p_y").mean + (1 - near)) / 2)


def tuned_a(signals: View) -> np.ndarray:
    """RMIA's ``a``, (1,) or (targets, 1), with every reference as a stand-in target for its own members.

    A reference that trained on a record should answer with the probability a * (OUT mean) + (1 - a). That is
    linear in a, so least squares over all (reference, member) pairs, with the other references for the OUT
    mean, has a closed form in the moments. The target takes no part: in a :class:`Rotation`, each target has
    a separate ``a``. Clipped to [0, 1]; 1, where offline RMIA compares with the OUT mean only, if the
    references carry no information.

    The paper searches a grid for the largest AUC of one stand-in target. This needs no search and no choice of a
    stand-in target, on which the scores would depend.
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
    """BASE at temperature 1: log p(target) - log of the mean probability over all references (Lassila et al. 2025).

    NaN where no reference was asked about the record.
    """
    inside = signals.inside("p_y")
    outside = signals.outside("p_y")
    total = sum(np.where(side.count > 0, side.count * side.mean, 0.0) for side in (inside, outside))
    with np.errstate(invalid="ignore"):  # 0 / 0 is NaN: no reference applies
        return _log_ratio(signals, total / (inside.count + outside.count))


def _log_ratio(signals: View, mean: np.ndarray) -> np.ndarray:
    # The target's own logarithm comes from its loss, which is exact where the probability has run out of
    # digits; so does that of references which all answer 0, and then all have one loss.
    log_p = -signals.target("loss")
    log_mean = np.log(np.maximum(mean, SMALLEST_PROBABILITY))
    # An output of exactly 0 has ratio 0, below every other ratio. The loss only holds a stand-in for it.
    zero = (signals.target("p_y") == 0) & (mean > 0)
    log_p = np.where(zero, np.minimum(log_p, np.log(SMALLEST_PROBABILITY)), log_p)
    if (mean == 0).any():  # seldom: the losses need not be summed up otherwise
        inside = signals.inside("loss")
        outside = signals.outside("loss")
        log_mean = np.where(mean == 0, -np.where(outside.count > 0, outside.mean, inside.mean), log_mean)
    return log_p - log_mean
