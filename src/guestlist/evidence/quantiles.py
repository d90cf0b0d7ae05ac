"""Quantile regression of the target's confidence on non-members."""

import math
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from guestlist._collect import CollectContext, Files
from guestlist._store import Store
from guestlist._util import grams, is_free, number, stream
from guestlist._views import Degenerate, QuantilesView
from guestlist.data import Data
from guestlist.errors import InputError
from guestlist.evidence.perturbed import as_table, numbers_of
from guestlist.evidence.plan import (
    EvidenceType,
    FilesTask,
    SimulatedModels,
    Work,
    begin_file,
    stored_arrays,
    work_of_one_file,
)
from guestlist.games import Split
from guestlist.models import Target

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
    if labels.dtype.kind == "f":
        columns.append((labels, False))
    else:
        columns.append(_coded(pd.Series(labels)))
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


# Number of records beyond a quantile that an estimate of it needs.
BEYOND = 5

_FILE = "regression.npz"


@dataclass(frozen=True)
class Quantiles:
    """Fit a quantile regression of the target's hinge on known non-members.

    The population is the set of known non-members if it has enough records for the level: twice the number with five expected
    beyond it, 200 for 0.95. Otherwise some of the non-members are known, and have no score.

    Attributes:
        known: Share of the non-members that are known, if the population is too small.
        level: Level of the quantile, in (0, 1).

    Raises:
        ValueError: If a number is not in (0, 1).
    """

    known: float = 0.5
    level: float = 0.95

    name: ClassVar[str] = "quantiles"
    grows: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self):
        number("known", self.known, 0, 1)
        number("level", self.level, 0, 1)

    @property
    def min_known(self) -> int:
        """Smallest number of known non-members: half of them fit the model, the others check it."""
        return 2 * math.ceil(round(BEYOND / min(self.level, 1 - self.level), 6))

    def check(self, target: Target, pool: Data, split: Split) -> None:
        if "margin" not in target.scale.signal_names:
            raise InputError(
                f"{target.name} predicts labels without probabilities, which 'quantiles' are fitted on. Omit "
                "'quantiles' from evidence= (--evidence)."
            )
        population = int(split.population.sum())
        nonmembers = int(split.nonmembers.sum())
        if max(population, int(self.known * nonmembers)) < self.min_known:
            raise InputError(
                f"A quantile of level {self.level:g} needs at least {self.min_known} known non-members. The population "
                f"has {population} records, and known={self.known:g} of the non-members are "
                f"{int(self.known * nonmembers)}. Pass more non-members or a population= "
                "(--population), or a level nearer to 0.5: gl.evidence.Quantiles(level=0.9)."
            )

    def collect(self, context: CollectContext) -> None:
        path = begin_file(context.store, self, _FILE)
        if path is None:
            return
        fit = partial(
            fit_quantiles,
            level=self.level,
            known=self.known_nonmembers(context.store.split, context.seed),
            hinge=context.extractor.scale.hinge(context.store.required_outputs(), context.extractor.labels),
            labels=context.extractor.labels,
            seed=context.seed,
            path=path,
        )
        context.run(FilesTask(fit), [1])

    def known_nonmembers(self, split: Split, seed: int) -> np.ndarray:
        """Return the positions of the known non-members, in random order."""
        rng = stream(seed, "evidence", *self.name.encode(), 0)
        population = np.flatnonzero(split.population)
        if len(population) >= self.min_known:
            return rng.permutation(population)
        nonmembers = np.flatnonzero(split.nonmembers)
        return rng.permutation(nonmembers)[: int(self.known * len(nonmembers))]

    @staticmethod
    def read(store: Store) -> QuantilesView | None:
        arrays = stored_arrays(store, Quantiles.name, _FILE)
        if arrays is None:
            return None
        degenerate = Degenerate(*arrays["degenerate"]) if arrays["degenerate"].size else None
        return QuantilesView(arrays["hinge"], arrays["ceiling"], arrays["beyond"], degenerate)


def fit_quantiles(
    k: int,
    pool: Data,
    *,
    level: float,
    known: np.ndarray,
    hinge: np.ndarray,
    labels: np.ndarray,
    seed: int,
    path: Path,
) -> Files:
    """Fit the regressor and return its predictions."""
    fit, check = np.array_split(known, 2)
    rng = stream(seed, "evidence", *Quantiles.name.encode(), k)
    fitted = quantile_regression(regression_features(pool.x, labels), hinge, fit=fit, check=check, level=level, rng=rng)
    ceiling = fitted.quantile.copy()
    ceiling[known] = np.nan
    beyond = np.sort(hinge[check] - fitted.quantile[check])
    degenerate = np.array(fitted.degenerate or (), dtype=np.float64)
    return {path: {"hinge": hinge, "ceiling": ceiling, "beyond": beyond, "degenerate": degenerate}}


# Standard deviation of the simulated regressor's error, in standard deviations of a margin.
ERROR = 0.5


def _simulate(simulated: SimulatedModels, k: int) -> QuantilesView:
    """Simulate the 95% quantile of a non-member's margin with an error in its difficulty."""
    noise = simulated.rng(4, k).normal(size=(3, len(simulated.labels)))
    above = 1.645 * simulated.deviation
    beyond = simulated.deviation * noise[0] - above - ERROR * noise[1]
    return QuantilesView(simulated.margin[k], simulated.difficulty + above + ERROR * noise[2], np.sort(beyond))


EVIDENCE_TYPE = EvidenceType(
    plan=Quantiles,
    view=QuantilesView,
    summary="quantiles of the target's hinge on non-members",
    cost="trains one regressor on known non-members",
    work=work_of_one_file(Work(seconds=5)),
    missing="needs quantiles of the target's outputs for known non-members.",
    simulate=_simulate,
    perfect_fit=lambda view: replace(view, hinge=np.full(view.hinge.shape, np.inf)),
)
