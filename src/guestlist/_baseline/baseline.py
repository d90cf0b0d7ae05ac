"""The model-free baseline of an audit: a cross-fitted classifier, its permutation test, and its cache."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from guestlist._baseline.columns import (
    columns_of,
    design,
    feature_and_label_columns,
    folds_of,
    permuted_membership,
    sample_units,
    units_of,
)
from guestlist._baseline.regression import Fold, cross_fitted, folds, propensity_scores, second_order, selected_terms
from guestlist._kernels import aucs, optional_take
from guestlist._store import PREDICTIONS, Store, from_json, read_or_explain, row_hashes, to_json
from guestlist._util import joined_digest, stream
from guestlist.data import Data
from guestlist.games import is_iid

LEVEL = 0.05
# Standard deviations from the mean of the permutations to the AUC that is detected with 80 % power.
POWER_80 = 1.645 + 0.842
FOLDS = 5
MAX_RECORDS = 2000  # maximum number of members, and of non-members
# Permutations are drawn until this number of them reach the observed AUC (Besag & Clifford 1991), or to the maximum.
ENOUGH = 20
PERMUTATIONS = 399
AT_ONCE = 100
CLASSIFIER = "ridge with squares and products"


@dataclass(frozen=True)
class Baseline:
    """Performance of the model-free baseline.

    Attributes:
        auc: AUC of the classifier on records that it was not fitted on.
        p_value: Share of permutations of the membership labels under which its AUC is as large.
        permutations: Number of permutations.
        detectable_auc: Smallest AUC of this classifier that is detected at the 5 % level with 80 % power.
        members, nonmembers: Numbers of records that were read.
        units: Number of persons, or records, whose membership was permuted.
        columns: Number of feature columns that were read.
        inputs: Some of ``features``, ``label`` and ``groups``.
        classifier: Name of the classifier.
        permutation_std: Standard deviation of its AUC under permutations of the membership labels.
        game: Name of the game that drew members and non-members from different populations; empty if the user chose the sets.
    """

    auc: float
    p_value: float
    permutations: int
    detectable_auc: float
    members: int
    nonmembers: int
    units: int
    columns: int
    inputs: tuple[str, ...]
    classifier: str = CLASSIFIER
    permutation_std: float = float("nan")
    game: str = ""

    @property
    def significant(self) -> bool:
        """True if the permutation test rejects chance at the 5 % level."""
        return self.p_value <= LEVEL


@dataclass(frozen=True, eq=False)
class CrossFitted:
    """Cross-fitted predictions of the baseline: those of a record come from classifiers that were not fitted on it.

    Attributes:
        score: (records,) score of the classifier; comparable within a fold. NaN where the record was not read.
        fold: (records,) number of the fold; -1 where the record was not read.
        propensity: (records,) probability of membership among the records that were read.
    """

    score: np.ndarray
    fold: np.ndarray
    propensity: np.ndarray

    @property
    def scored(self) -> np.ndarray:
        """(records,) true for records with a score."""
        return self.fold >= 0

    @property
    def across_folds(self) -> np.ndarray:
        """(records,) the score, standardised to be comparable between folds: records are assigned to them at random."""
        standardised = np.full(len(self.score), np.nan)
        for number in np.unique(self.fold[self.scored]):
            inside = self.fold == number
            centred = self.score[inside] - self.score[inside].mean()
            standardised[inside] = centred / max(float(centred.std()), 1e-12)
        return standardised


@dataclass(frozen=True, eq=False)
class BaselineFit:
    """Performance of the baseline, and its predictions per record.

    Attributes:
        baseline: Performance.
        predict: Computes the predictions, which takes longer.
    """

    baseline: Baseline
    predict: Callable[[], CrossFitted]

    @cached_property
    def cross_fitted(self) -> CrossFitted:
        """Predictions per record, computed once."""
        return self.predict()


def cross_fit_baseline(
    x: np.ndarray | pd.DataFrame | None,
    y: np.ndarray | None,
    member: np.ndarray,
    persons: np.ndarray | None = None,
    groups: Mapping[str, np.ndarray] | None = None,
    *,
    values: bool = False,
    rng: np.random.Generator,
    hashes: np.ndarray | None = None,
) -> BaselineFit | None:
    """Evaluate the baseline; its predictions of each record's membership are computed when they are first read.

    Args:
        x: (records, …) features, or None.
        y: (records,) labels: classes or, if ``values``, numbers; None if they are unknown.
        member: (records,) true for members.
        persons: (records,) person identifiers; by default each record is its own person, except for copies (``units_of``).
        groups: Name to (records,) texts.
        values: True if labels are numbers.
        rng: Random generator.
        hashes: (records,) hashes of features and label, if they are known already.

    Returns:
        None if there are too few records for held-out comparisons.
    """
    records = len(member)
    featureless = x is None or not np.prod(np.shape(x)[1:])
    inputs = {"features": not featureless, "label": y is not None, "groups": bool(groups)}
    if x is None or featureless:
        x = np.zeros((records, 1))
    if y is None:
        y = np.zeros(records, dtype=np.int64)
    feature_names = set()
    if isinstance(x, pd.DataFrame):
        feature_names = set(map(str, x.columns))
    data = Data(x, y, groups={name: texts for name, texts in (groups or {}).items() if name not in feature_names})
    if hashes is None:
        hashes = row_hashes(data)
    counted, unit = units_of(member, persons, hashes)
    sampled = sample_units(unit, member[counted], MAX_RECORDS, rng)
    rows = counted[sampled]
    unit = np.unique(unit[sampled], return_inverse=True)[1]
    data = data.take(rows)
    member = member[rows]
    fold = folds_of(unit, FOLDS, rng)
    columns = columns_of(data.x, rng)
    matrix = design(columns, data.y, data.groups, fold, values=values, rng=rng)
    terms = second_order(matrix.combined.values, matrix.combined.source, unit, rng)
    parts = folds(matrix.linear, fold, terms)
    auc = float(within_folds(parts, member[None])[0])
    if np.isnan(auc):
        return None
    p_value, permuted_aucs = _test(auc, parts, unit, member, rng)
    baseline = Baseline(
        auc=auc,
        p_value=p_value,
        permutations=len(permuted_aucs),
        detectable_auc=float(permuted_aucs.mean() + POWER_80 * permuted_aucs.std(ddof=1)),
        members=int(member.sum()),
        nonmembers=int((~member).sum()),
        units=int(unit.max()) + 1,
        columns=0 if featureless else columns.sources,
        inputs=tuple(name for name, is_read in inputs.items() if is_read),
        permutation_std=float(permuted_aucs.std(ddof=1)),
    )

    def predict() -> CrossFitted:
        signs = np.where(member, 1.0, -1.0)
        (score,) = cross_fitted(parts, signs[None])
        features, labels = feature_and_label_columns(columns, data.y, data.groups, values=values)
        chosen = terms.values[:, selected_terms(parts, signs)]
        propensity = propensity_scores(features, labels, chosen, score, fold, member, unit)
        return scattered(CrossFitted(score, fold, propensity), rows, records)

    return BaselineFit(baseline, predict)


def scattered(predictions: CrossFitted, rows: np.ndarray, records: int) -> CrossFitted:
    """Return the predictions of some records over all of them, at the positions ``rows``."""
    everywhere = CrossFitted(np.full(records, np.nan), np.full(records, -1), np.full(records, np.nan))
    for name, values in vars(everywhere).items():
        values[rows] = getattr(predictions, name)
    return everywhere


def within_folds(parts: tuple[Fold, ...], member: np.ndarray) -> np.ndarray:
    """Return (labellings,) AUC of cross-fitted predictions over the pairs of records in one fold; NaN without any."""
    scores = cross_fitted(parts, np.where(member, 1.0, -1.0))
    won = np.zeros(len(member))
    pairs = np.zeros(len(member))
    for part in parts:
        truth = member[:, part.inside]
        pairs_in_fold = truth.sum(axis=1) * (~truth).sum(axis=1)
        won += np.nan_to_num(aucs(scores[:, part.inside], truth)) * pairs_in_fold
        pairs += pairs_in_fold
    with np.errstate(invalid="ignore"):  # 0 / 0 is NaN: no fold has members and non-members
        return won / pairs


def _test(
    auc: float, parts: tuple[Fold, ...], unit: np.ndarray, member: np.ndarray, rng: np.random.Generator
) -> tuple[float, np.ndarray]:
    """Return the p-value, and the AUCs under permutations of the membership labels."""
    permuted_aucs = np.empty(0)
    while len(permuted_aucs) < PERMUTATIONS:
        count = min(AT_ONCE, PERMUTATIONS - len(permuted_aucs))
        drawn = within_folds(parts, permuted_membership(unit, member, count, rng))
        permuted_aucs = np.append(permuted_aucs, np.where(np.isnan(drawn), 0.5, drawn))
        as_large = np.cumsum(permuted_aucs >= auc)
        if as_large[-1] >= ENOUGH:
            return ENOUGH / (1 + int(np.argmax(as_large >= ENOUGH))), permuted_aucs
    return (1 + int(as_large[-1])) / (1 + len(permuted_aucs)), permuted_aucs


FILE = "baseline.json"
RECORDS = "baseline.npz"
VERSION = 6  # increase it whenever the same records would give a different result


def cached_baseline(
    store: Store,
    x: np.ndarray | pd.DataFrame | None,
    y: np.ndarray | None,
    groups: Mapping[str, np.ndarray],
    persons: np.ndarray | None = None,
    *,
    values: bool,
    hashes: np.ndarray | None = None,
) -> Baseline | None:
    """Evaluate the baseline on the evaluated records, or read it from the folder if these records are the same.

    Args:
        store: Audit folder.
        x, y, groups, persons, values, hashes: as for :func:`cross_fit_baseline`, over all records of the pool.
    """
    # The manifest's digest of the data does not cover the features of prediction files.
    unsigned = x if store.manifest.recipe == PREDICTIONS else None
    digest = _digest(store, groups, persons, unsigned)
    path = store.folder / FILE
    if path.exists() and store.read_json(path).get("digest") == digest:
        return read_baseline(store)
    rows = np.flatnonzero(store.split.evaluated[0])
    fitted = cross_fit_baseline(
        x.iloc[rows] if isinstance(x, pd.DataFrame) else optional_take(x, rows),
        optional_take(y, rows),
        store.split.members[rows],
        optional_take(persons, rows),
        {name: texts[rows] for name, texts in groups.items()},
        values=values,
        rng=stream(store.manifest.seed, "baseline"),
        hashes=optional_take(hashes, rows),
    )
    if fitted is None:
        store.write_json(path, {"digest": digest, "baseline": None})
        return None
    store.write(store.folder / RECORDS, vars(scattered(fitted.cross_fitted, rows, len(store.split.members))))
    game = store.manifest.make_game()
    baseline = replace(fitted.baseline, game="" if is_iid(game) else game.name)
    store.write_json(path, {"digest": digest, "baseline": to_json(baseline)})
    return read_baseline(store)


def read_baseline(store: Store) -> Baseline | None:
    """Read the baseline from an audit folder; None where it was not evaluated."""
    path = store.folder / FILE
    if not path.exists():
        return None
    content = store.read_json(path)
    return read_or_explain(path, lambda path: from_json(Baseline | None, content["baseline"]))


def read_cross_fitted(store: Store) -> CrossFitted | None:
    """Read the baseline's predictions for each record of the pool; None where they were not stored."""
    path = store.folder / RECORDS
    if not path.exists():
        return None
    arrays = store.read(path)
    return CrossFitted(arrays["score"], arrays["fold"], arrays["propensity"])


def _digest(
    store: Store,
    groups: Mapping[str, np.ndarray],
    persons: np.ndarray | None,
    x: np.ndarray | pd.DataFrame | None = None,
) -> str:
    """Hash everything that the result depends on."""
    manifest = store.manifest
    header = [str(VERSION), manifest.data, manifest.split, str(manifest.seed), manifest.scale]
    columns = dict(groups)
    if persons is not None:
        columns["(person)"] = persons
    parts = ["\n".join(header).encode()]
    for name, texts in columns.items():
        parts += [name.encode(), pd.util.hash_array(np.asarray(texts).astype(object)).tobytes()]
    if x is not None:
        parts.append(row_hashes(Data(x, np.zeros(len(x)))).tobytes())
    return joined_digest(*parts)
