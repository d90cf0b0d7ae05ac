"""Target outputs on perturbed records, and the perturbations."""

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import expit

from guestlist._collect import CollectContext, Files, Here, SignalExtractor
from guestlist._store import Store
from guestlist._util import integer, is_free, number, reason, stream
from guestlist._views import PerturbedView
from guestlist.data import Data
from guestlist.errors import InputError
from guestlist.evidence.plan import (
    EvidenceType,
    FilesTask,
    SimulatedModels,
    Work,
    begin_plan,
    evidence_folder,
    evidence_path,
    missing_files,
    number_of_files,
    read_files,
)
from guestlist.games import Split
from guestlist.models import Predict, Target, predict_outputs, query

MAX_WORDS = 100_000  # maximum size of the vocabulary of a column


class ColumnScale(NamedTuple):
    """Scale and type of numbers; each part broadcasts against the records.

    Args:
        deviation: Their standard deviation.
        integer: Whether all are whole numbers, 0 and 1 included.
        binary: Whether all are 0 or 1.
    """

    deviation: np.ndarray
    integer: np.ndarray
    binary: np.ndarray


# Words of all texts of a column, with repetitions.
Vocabulary = np.ndarray
# One scale for an array, and one per column of a table; None for a column with neither numbers nor free text.
ColumnScales = ColumnScale | tuple[ColumnScale | Vocabulary | None, ...]


def column_scales(x: np.ndarray | pd.DataFrame) -> ColumnScales:
    """Estimate the scale of each column, or of the whole array if it has more than two axes."""
    if isinstance(x, np.ndarray) and x.dtype.kind in "iufb":
        return _column_scale(x, axis=0 if x.ndim == 2 else None)
    table = as_table(x)
    return tuple(_describe_column(table.iloc[:, position]) for position in range(table.shape[1]))


def perturbed(
    x: np.ndarray | pd.DataFrame,
    rows: np.ndarray,
    scales: ColumnScales,
    rng: np.random.Generator,
    *,
    noise: float,
    flips: float,
) -> np.ndarray | pd.DataFrame:
    """Return copies of some records, in the form of ``x``, with random changes.

    Args:
        x: All records; values that are not numbers are replaced by those of others.
        rows: Positions of the records to copy.
        scales: The result of :func:`column_scales` for ``x``.
        rng: Random stream.
        noise: Standard deviation of the noise on numbers, in standard deviations of their column. Whole numbers are rounded.
        flips: Probability that a 0 or 1 becomes the other, that a word is drawn from all texts of the column, and that any other
            value that is not a number is drawn from its column.
    """
    if isinstance(scales, ColumnScale):
        return _cast(_perturb_numbers(np.asarray(x[rows], dtype=np.float64), scales, rng, noise, flips), x.dtype)
    table = as_table(x)
    copies = table.iloc[rows].copy()
    for position, (name, scale) in enumerate(zip(table.columns, scales, strict=True)):
        column = table.iloc[:, position]
        if scale is None:
            copies[name] = _perturb_categories(column, rows, rng, flips)
        elif isinstance(scale, Vocabulary):
            copies[name] = _perturb_texts(column.iloc[rows], scale, rng, flips)
        else:
            copies[name] = _perturb_number_column(column.iloc[rows], scale, rng, noise, flips)
    if isinstance(x, pd.DataFrame):
        return copies
    return copies.to_numpy(dtype=x.dtype).reshape(len(rows), *x.shape[1:])


def as_table(x: np.ndarray | pd.DataFrame) -> pd.DataFrame:
    """Return features as a table; columns of objects get the type of their values."""
    if not isinstance(x, pd.DataFrame):
        return pd.DataFrame(x.reshape(len(x), -1)).infer_objects()
    sparse = [name for name, kind in x.dtypes.items() if isinstance(kind, pd.SparseDtype)]
    if not sparse:
        return x
    return x.astype({name: x[name].dtype.subtype for name in sparse})


def numbers_of(column: pd.Series) -> np.ndarray | None:
    """Return a column as (records,) float64, NaN where missing; None for categories, text, dates or booleans."""
    if not pd.api.types.is_numeric_dtype(column.dtype) or _numpy_dtype(column).kind not in "iuf":
        return None
    return column.to_numpy(dtype=np.float64, na_value=np.nan)


def _describe_column(column: pd.Series) -> ColumnScale | Vocabulary | None:
    numbers = numbers_of(column)
    if numbers is not None:
        return _column_scale(numbers, axis=0)
    if not is_free(column):
        return None
    words = [word for text in column.dropna() for word in text.split(" ") if word]
    return np.array(words[:: 1 + len(words) // MAX_WORDS] or [""], dtype=object)


def _numpy_dtype(column: pd.Series) -> np.dtype:
    """Return the NumPy type of a column, also if its own type allows missing values."""
    return np.dtype(getattr(column.dtype, "numpy_dtype", column.dtype))


def _column_scale(values: np.ndarray, axis: int | None) -> ColumnScale:
    values = np.asarray(values, dtype=np.float64)
    known = np.isfinite(values)
    count = np.maximum(known.sum(axis=axis), 1)
    mean = np.where(known, values, 0.0).sum(axis=axis) / count
    squares = np.square(np.where(known, values - mean, 0.0)).sum(axis=axis)
    missing = np.isnan(values)
    return ColumnScale(
        deviation=np.sqrt(squares / count),
        integer=((values == np.rint(values)) | missing).all(axis=axis),
        binary=((values == 0) | (values == 1) | missing).all(axis=axis),
    )


def _perturb_numbers(
    values: np.ndarray, scale: ColumnScale, rng: np.random.Generator, noise: float, flips: float
) -> np.ndarray:
    """Add noise to numbers; missing ones stay missing."""
    noisy = values + noise * scale.deviation * rng.normal(size=values.shape)
    noisy = np.where(scale.integer, np.rint(noisy), noisy)
    flipped = np.where(rng.random(values.shape) < flips, 1 - values, values)
    return np.where(scale.binary, flipped, noisy)


def _perturb_number_column(column: pd.Series, scale: ColumnScale, rng, noise: float, flips: float) -> pd.Series:
    missing = column.isna()
    noisy = _perturb_numbers(column.to_numpy(dtype=np.float64, na_value=np.nan), scale, rng, noise, flips)
    filled = pd.Series(_cast(np.where(missing, 0, noisy), _numpy_dtype(column)), index=column.index)
    return filled.astype(column.dtype).where(~missing, column)


def _perturb_categories(column: pd.Series, rows: np.ndarray, rng: np.random.Generator, flips: float):
    """Replace some values by those of other records; missing ones stay missing."""
    present = np.flatnonzero(column.notna())
    redraw = (rng.random(len(rows)) < flips) & column.iloc[rows].notna().to_numpy()
    others = present[rng.integers(len(present), size=len(rows))] if len(present) else rows
    return column.array.take(np.where(redraw, others, rows))


def _perturb_texts(column: pd.Series, vocabulary: Vocabulary, rng: np.random.Generator, flips: float) -> pd.Series:
    """Replace some words by those of other texts; missing texts stay missing."""

    def perturb(text: str) -> str:
        words = np.array(text.split(" "), dtype=object)
        redraw = np.flatnonzero(rng.random(len(words)) < flips)
        words[redraw] = vocabulary[rng.integers(len(vocabulary), size=len(redraw))]
        return " ".join(words)

    return column.map(perturb, na_action="ignore").astype(column.dtype)


def _cast(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Convert numbers to a type; values outside its range take its largest or smallest value."""
    if dtype.kind == "b":
        return values > 0.5
    if dtype.kind not in "iu":
        return values.astype(dtype)
    low = float(np.iinfo(dtype).min)
    high = float(np.iinfo(dtype).max)
    if int(high) > np.iinfo(dtype).max:  # for 64 bits the nearest float is larger
        high = np.nextafter(high, 0)
    return np.clip(values, low, high).astype(dtype)


# Numbers in a batch of copies. Results depend on it, since a batch draws its noise at once.
BATCH = 2**24
N_TRIED = 20  # perturbed copies that are tried before the long work


@dataclass(frozen=True)
class Perturbed:
    """Query the target for perturbed copies of every record.

    Attributes:
        copies: Number of copies of each record.
        noise: Standard deviation of the noise on a number, in standard deviations of its column.
        flips: Probability that a 0 or 1 becomes the other, or that a category or a word is replaced at random.

    Raises:
        ValueError: If a number is out of range, or nothing would change.
    """

    copies: int = 50
    noise: float = 0.25
    flips: float = 0.1

    name: ClassVar[str] = "perturbed"
    grows: ClassVar[tuple[str, ...]] = ("copies",)

    def __post_init__(self):
        integer("copies", self.copies, 1)
        number("noise", self.noise, 0, ends="[)")
        number("flips", self.flips, 0, 1, ends="[]")
        if self.noise == self.flips == 0:
            raise ValueError(f"noise={self.noise} and flips={self.flips} change no record. Set one of them above 0.")

    def check(self, target: Target, pool: Data, split: Split) -> None:
        """Raise unless the target is a classifier that reads a few perturbed records."""
        if not target.scale.has_classes:
            raise InputError(
                f"{target.name} predicts values, and 'perturbed' needs a classifier: it counts how often labels stay "
                "correct. Omit 'perturbed' from evidence= (--evidence)."
            )
        rows = np.flatnonzero(split.evaluated[0])[:N_TRIED]
        rng = stream(0, "evidence", *Perturbed.name.encode())
        copies = perturbed(pool.x, rows, column_scales(pool.x), rng, noise=self.noise, flips=self.flips)
        PerturbedPredict(target.predict)(copies)

    def collect(self, context: CollectContext) -> None:
        plan = begin_plan(context.store, self)
        folder = evidence_folder(context.store, self.name)
        query_target = partial(
            query_copy,
            predict=context.target.predict,
            plan=self,
            scales=column_scales(context.pool.x),
            evaluated=np.flatnonzero(context.store.split.evaluated[0]),
            seed=context.seed,
            extractor=context.extractor,
            folder=folder,
        )
        # In this process: a target may be a service or a model on a device, which cannot be pickled.
        replace(context, engine=Here()).run(
            FilesTask(query_target), missing_files(context.store, folder, "copy", plan.copies)
        )

    @staticmethod
    def read(store: Store) -> PerturbedView | None:
        copies = read_files(store, Perturbed.name, "copy", at_most="copies")
        if not copies:
            return None
        evaluated = store.split.evaluated[0]
        share = np.full(len(evaluated), np.nan)
        share[evaluated] = np.mean([copy["right"] for copy in copies], axis=0)
        return PerturbedView(share, len(copies))


def query_copy(
    k: int,
    pool: Data,
    *,
    predict: Predict,
    plan: Perturbed,
    scales: ColumnScales,
    evaluated: np.ndarray,
    seed: int,
    extractor: SignalExtractor,
    folder: Path,
) -> Files:
    """Query the target for one perturbed copy of every record, and return where its labels are correct."""
    rng = stream(seed, "evidence", *Perturbed.name.encode(), k)
    size = max(1, BATCH // max(1, int(np.prod(pool.x.shape[1:]))))
    right = []
    for start in range(0, len(evaluated), size):
        rows = evaluated[start : start + size]
        x = perturbed(pool.x, rows, scales, rng, noise=plan.noise, flips=plan.flips)
        outputs = predict_outputs(PerturbedPredict(predict), x, extractor.columns, extractor.scale)
        right.append(extractor.scale.correct(outputs, extractor.labels[rows]).astype(bool))
    return {evidence_path(folder, "copy", k): {"right": np.concatenate(right)}}


@dataclass(frozen=True)
class PerturbedPredict:
    """Prediction function that reports perturbed records which the target cannot read."""

    predict: Predict
    leaves_input: ClassVar[bool] = True  # the target gets a copy

    def __call__(self, x) -> np.ndarray:
        try:
            return query(self.predict, x)
        except InputError:
            raise
        except Exception as error:
            raise InputError(
                f"The model cannot read perturbed records ({reason(error)}). Noise is added to every numeric column, also "
                "to numbers that encode categories. Pass those as a category type, or omit 'perturbed' from evidence= "
                "(--evidence)."
            ) from error


# Number of perturbed copies of each record of a simulation.
N_SIMULATED = 20


def _simulate(simulated: SimulatedModels, k: int) -> PerturbedView:
    """Simulate labels that are correct with the target's probability."""
    share = simulated.rng(3, k).binomial(N_SIMULATED, expit(simulated.margin[k])) / N_SIMULATED
    return PerturbedView(share, N_SIMULATED)


EVIDENCE_TYPE = EvidenceType(
    plan=Perturbed,
    view=PerturbedView,
    summary="the target's labels of perturbed records",
    cost="queries the target once per copy",
    work=lambda plan, split, store: Work(
        queries=plan.copies - number_of_files(store, Perturbed.name, "copy", plan.copies)
    ),
    missing="needs the target's labels of perturbed records.",
    default_scales=("labels",),
    simulate=_simulate,
)
