"""Quantile regression with gradient-boosted trees, and whether it learnt anything.

The records that it may learn from come in two parts: one is fitted, the other is kept to check. A regressor whose
pinball loss on the second part is not surely below that of a constant has degenerated, as such regressors do where the
features say nothing, or where there are few records; the constant is then taken instead.
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

# Categories that the trees can tell apart in one feature.
MOST_CATEGORIES = 255
# The regressor must beat the constant by this many standard errors of the difference: once in 20 if it knows nothing.
SURELY = 1.645


@dataclass(frozen=True)
class Features:
    """What the regressor reads: (records, features) numbers, and which of the features are codes of categories."""

    values: np.ndarray
    categorical: np.ndarray


class Fitted(NamedTuple):
    """Quantiles predicted for all records, and why they are a constant if they are."""

    quantile: np.ndarray
    degenerate: Degenerate | None


def features(x: np.ndarray | pd.DataFrame, labels: np.ndarray) -> Features:
    """Records and their labels as the regressor reads them.

    Categories become codes, and the label is one more of these features (a number where it is a true value); one with more
    than 255 values is described by how frequent each value is. Free text becomes numbers by what it is made of. Arrays with
    more than two axes are flattened; missing values stay.
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
    described: Features,
    y: np.ndarray,
    fit: np.ndarray,
    check: np.ndarray,
    level: float,
    rng: np.random.Generator,
) -> Fitted:
    """The ``level`` quantile of ``y`` given the features, learnt on some records and checked on others.

    Args:
        y: (records,) only the values of the two parts are read.
        fit, check: positions of the records to learn from, and of those to check on.
    """
    constant = float(np.quantile(y[fit], level))
    predicted = _predicted(described, y, fit, level, rng)
    plain = pinball(y[check], np.full(len(check), constant), level)
    if np.ptp(predicted[check]) == 0:
        return Fitted(np.full(len(y), constant), Degenerate(len(check), math.nan, float(plain.mean())))
    ours = pinball(y[check], predicted[check], level)
    gain = plain - ours
    if gain.mean() > SURELY * gain.std(ddof=1) / math.sqrt(len(gain)):
        return Fitted(predicted, None)
    return Fitted(np.full(len(y), constant), Degenerate(len(check), float(ours.mean()), float(plain.mean())))


def pinball(y: np.ndarray, quantile: np.ndarray, level: float) -> np.ndarray:
    """What a quantile costs, record by record: its mean is smallest at the true one.

    >>> pinball(np.array([1.0, 3.0]), np.array([2.0, 2.0]), 0.75)
    array([0.25, 0.75])
    """
    return np.where(y > quantile, level * (y - quantile), (1 - level) * (quantile - y))


def _predicted(described: Features, y: np.ndarray, fit: np.ndarray, level: float, rng: np.random.Generator):
    from sklearn.ensemble import HistGradientBoostingRegressor

    model = HistGradientBoostingRegressor(
        loss="quantile",
        quantile=level,
        categorical_features=described.categorical,
        max_iter=300,
        max_leaf_nodes=8,
        # A leaf holds at least one record that is expected beyond the quantile, whichever side is rarer.
        min_samples_leaf=max(20, math.ceil(1 / min(level, 1 - level))),
        early_stopping=True,
        validation_fraction=0.2,
        random_state=int(rng.integers(2**31 - 1)),
    )
    with threadpool_limits(limits=1):  # the bits must not depend on the number of cores
        return model.fit(described.values[fit], y[fit]).predict(described.values)


def _column(column: pd.Series) -> tuple[np.ndarray, bool]:
    numbers = numbers_of(column)
    if numbers is None and is_free(column):
        return grams(column), False
    return _coded(column) if numbers is None else (numbers, False)


def _coded(column: pd.Series) -> tuple[np.ndarray, bool]:
    codes, values = pd.factorize(column)
    missing = codes < 0
    if len(values) > MOST_CATEGORIES:
        frequency = np.bincount(codes[~missing], minlength=len(values))
        return np.where(missing, np.nan, frequency[codes]), False
    return np.where(missing, np.nan, codes), True
