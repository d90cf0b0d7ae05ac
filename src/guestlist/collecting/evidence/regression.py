"""Quantile regression with gradient-boosted trees, and a check that it beats a constant.

The known records have two parts: one for the fit, one for the check. If the pinball loss on the second part is not
significantly below that of a constant, the regressor is degenerate, because the features are uninformative or the records are
few. The constant is then used instead.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from guestlist.collecting.evidence.perturbations import as_table, numbers_of
from guestlist.texts import grams, is_free
from guestlist.views.evidence import Degenerate

# Number of categories in one feature that the trees can distinguish.
MAX_CATEGORIES = 255
# The regressor must beat the constant by this many standard errors of the difference: a one-sided test at 5%.
CRITICAL_VALUE = 1.645


@dataclass(frozen=True)
class Features:
    """Inputs of the regressor: (records, features) numbers, and a mask of the features that are category codes."""

    values: np.ndarray
    categorical: np.ndarray


class FittedQuantiles(NamedTuple):
    """Quantiles predicted for all records, and the losses of a regressor that a constant replaces."""

    quantile: np.ndarray
    degenerate: Degenerate | None


def regression_features(x: np.ndarray | pd.DataFrame, labels: np.ndarray) -> Features:
    """Return records and labels as inputs of the regressor.

    Categories become codes, or frequencies if there are more than 255. The label is one more category, or a number for
    regression. Free text becomes counts of its character n-grams. Arrays with more than two axes are flattened; missing values
    stay.
    """
    if isinstance(x, np.ndarray) and x.dtype.kind in "iufb":
        columns = [(x.reshape(len(x), -1).astype(np.float64), False)]
    else:
        table = as_table(x)
        columns = [_column(table.iloc[:, position]) for position in range(table.shape[1])]
    columns.append((labels, False) if labels.dtype.kind == "f" else _coded(pd.Series(labels)))
    widths = [1 if values.ndim == 1 else values.shape[1] for values, _ in columns]
    categorical = np.repeat([coded for _, coded in columns], widths)
    return Features(np.column_stack([values for values, _ in columns]), categorical)


def quantile_regression(
    features: Features,
    y: np.ndarray,
    fit: np.ndarray,
    check: np.ndarray,
    level: float,
    rng: np.random.Generator,
) -> FittedQuantiles:
    """Estimate the ``level`` quantile of ``y`` given the features.

    Args:
        features: Inputs of the regressor for all records.
        y: (records,) outcomes; only those of the two parts are read.
        fit: Positions of the records for the fit.
        check: Positions of the records for the check.
        level: Level of the quantile.
        rng: Random stream.
    """
    constant = float(np.quantile(y[fit], level))
    predicted = _predicted_quantiles(features, y, fit, level, rng)
    plain = pinball(y[check], np.full(len(check), constant), level)
    if np.ptp(predicted[check]) == 0:
        return FittedQuantiles(np.full(len(y), constant), Degenerate(len(check), math.nan, float(plain.mean())))
    losses = pinball(y[check], predicted[check], level)
    gain = plain - losses
    if gain.mean() > CRITICAL_VALUE * gain.std(ddof=1) / math.sqrt(len(gain)):
        return FittedQuantiles(predicted, None)
    return FittedQuantiles(np.full(len(y), constant), Degenerate(len(check), float(losses.mean()), float(plain.mean())))


def pinball(y: np.ndarray, quantile: np.ndarray, level: float) -> np.ndarray:
    """Return the pinball loss of each record; its mean is smallest at the true quantile.

    >>> pinball(np.array([1.0, 3.0]), np.array([2.0, 2.0]), 0.75)
    array([0.25, 0.75])
    """
    return np.where(y > quantile, level * (y - quantile), (1 - level) * (quantile - y))


def _predicted_quantiles(features: Features, y: np.ndarray, fit: np.ndarray, level: float, rng: np.random.Generator):
    from sklearn.ensemble import HistGradientBoostingRegressor

    model = HistGradientBoostingRegressor(
        loss="quantile",
        quantile=level,
        categorical_features=features.categorical,
        max_iter=300,
        max_leaf_nodes=8,
        # At least one record of a leaf is expected beyond the quantile, on its rarer side.
        min_samples_leaf=max(20, math.ceil(1 / min(level, 1 - level))),
        early_stopping=True,
        validation_fraction=0.2,
        random_state=int(rng.integers(2**31 - 1)),
    )
    with threadpool_limits(limits=1):  # identical results on any number of cores
        return model.fit(features.values[fit], y[fit]).predict(features.values)


def _column(column: pd.Series) -> tuple[np.ndarray, bool]:
    numbers = numbers_of(column)
    if numbers is not None:
        return numbers, False
    if is_free(column):
        return grams(column), False
    return _coded(column)


def _coded(column: pd.Series) -> tuple[np.ndarray, bool]:
    codes, values = pd.factorize(column)
    missing = codes < 0
    if len(values) > MAX_CATEGORIES:
        frequency = np.bincount(codes[~missing], minlength=len(values))
        return np.where(missing, np.nan, frequency[codes]), False
    return np.where(missing, np.nan, codes), True
