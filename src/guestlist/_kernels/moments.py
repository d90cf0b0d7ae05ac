"""Count, mean and variance of model outputs per record, flags and bins, statistics over OUT models, and leverage."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

# With fewer numbers NumPy takes less time than loading the compiled loops, whose results are identical, or than compiling them
# in the first audit after an installation.
MANY_CELLS = 2**21
MANY_TAILS = 2**19
RECORDS_PER_BLOCK = 2**12  # The values of some models for these records fit in the cache.
HALF_LOG_PI = 0.5 * math.log(math.pi)
LOG_2 = math.log(2)
LARGE = 1e100


@dataclass(frozen=True)
class Moments:
    """Moments over models: arrays shaped (records,), or (targets, records) where each target has its own.

    ``mean`` is NaN where ``count`` is 0; ``squares`` is the sum of squared deviations from the mean.
    """

    count: np.ndarray
    mean: np.ndarray
    squares: np.ndarray

    @cached_property
    def variance(self) -> np.ndarray:
        """Unbiased variance per record; NaN where fewer than two models apply."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return _read_only(np.where(self.count > 1, self.squares / (self.count - 1), np.nan))

    @cached_property
    def pooled_variance(self) -> np.ndarray:
        """Variance *within* records, pooled over them: shaped (1,) or (targets, 1).

        Pooling the raw matrix would add the variance between records, which is not due to training.
        """
        dof = np.maximum(self.count - 1, 0).sum(axis=-1, keepdims=True)
        squares = np.where(self.count > 1, self.squares, 0.0).sum(axis=-1, keepdims=True)
        with np.errstate(invalid="ignore", divide="ignore"):
            return _read_only(squares / dof)


class InOutMoments(NamedTuple):
    """Moments of the models that trained on a record (IN), and of those that did not (OUT)."""

    inside: Moments
    outside: Moments


def moments(values: np.ndarray, mask: np.ndarray) -> Moments:
    """Compute moments over the models (axis 0) that ``mask`` selects; both arguments are (models, records)."""
    count = mask.sum(axis=0)
    values = values.astype(np.float64, copy=False)
    first = _masked_mean(values, mask, count)
    # A second round makes the mean of equal values exactly that value, and their sum of squares exactly 0:
    # a saturated record must not look as if it had a variance of 1e-32.
    with np.errstate(invalid="ignore"):
        mean = first + _masked_mean(values - first, mask, count)
        squares = np.square(np.where(mask, values - mean, 0.0)).sum(axis=0)
    return Moments(count, mean, squares)


def in_out_moments(values: np.ndarray, member: np.ndarray, models: slice = slice(None)) -> InOutMoments:
    """Compute moments over the models that trained on a record, and over the others.

    Args:
        values: (models, records) NaN is ignored.
        member: (models, records) Training membership.
        models: Models that count.
    """
    if values.size <= MANY_CELLS:
        values = values[models]
        member = member[models]
        known = ~np.isnan(values)
        return InOutMoments(moments(values, member & known), moments(values, ~member & known))
    from guestlist._kernels.compiled_moments import fill_in_out_moments  # imports numba

    chosen = np.arange(len(values))[models]
    records = values.shape[1]
    parts = np.zeros((2, records), dtype=np.int64), *np.zeros((2, 2, records))
    fill_in_out_moments(values, member, chosen, *parts)
    outside, inside = (Moments(*(part[side] for part in parts)) for side in (0, 1))
    return InOutMoments(inside, outside)


def leave_block_out_moments(values: np.ndarray, mask: np.ndarray, together: np.ndarray | None = None) -> Moments:
    """Compute moments over the *other* models that ``mask`` selects, for each model in turn as the target.

    The models before the target and those after it are summed in one pass each, then merged (Chan et al.
    1979). Nothing is ever subtracted from a sum of squares, so a target far from its references causes no
    rounding error in their moments. Time is O(models x records), extra memory O(records).

    Args:
        values: (models, records).
        mask: (models, records) Values that count.
        together: (models,) Models with equal labels are excluded together; by default each model separately.

    Returns:
        Moments with (models, records) arrays.
    """
    if together is None:
        blocks = np.arange(len(values))
    else:
        blocks = np.unique(together, return_inverse=True)[1]
    order = np.argsort(blocks, kind="stable")
    models_of_block = np.split(order, np.flatnonzero(np.diff(blocks[order])) + 1)
    result = Moments(*(np.empty(values.shape) for _ in range(3)))
    for records in _record_blocks(values.shape[1]):
        part = Moments(result.count[:, records], result.mean[:, records], result.squares[:, records])
        _fill_leave_block_out_moments(part, values[:, records], mask[:, records], models_of_block)
    return result


def _record_blocks(records: int) -> list[slice]:
    """Return slices that cover all records, one of them if there are none."""
    return [slice(start, start + RECORDS_PER_BLOCK) for start in range(0, max(records, 1), RECORDS_PER_BLOCK)]


def _fill_leave_block_out_moments(
    result: Moments, values: np.ndarray, mask: np.ndarray, models_of_block: list[np.ndarray]
) -> None:
    """Fill the (models, records) arrays of ``result``; see :func:`leave_block_out_moments`."""
    with np.errstate(invalid="ignore", over="ignore"):
        pivot = _nearest_to_zero(values, mask)
        running = np.zeros((3, values.shape[1]))
        for block in models_of_block:  # moments of the blocks before each block
            for part, moment in zip((result.count, result.mean, result.squares), running, strict=True):
                part[block] = moment
            for k in block:
                _add_model(values[k], mask[k], pivot, *running)
        running[:] = 0.0
        for block in reversed(models_of_block):  # merged with those of the blocks after it, from the other end
            n, m, s = running
            count, mean, squares = result.count[block], result.mean[block], result.squares[block]
            total = count + n
            weight = n / np.maximum(total, 1.0)
            difference = np.where((count > 0) & (n > 0), m - mean, 0.0)
            result.squares[block] = squares + s + difference * difference * count * weight
            merged = np.where(count > 0, mean + weight * difference, m)
            result.mean[block] = np.where(total > 0, merged + pivot, np.nan)
            result.count[block] = total
            for k in block:
                _add_model(values[k], mask[k], pivot, *running)


def _nearest_to_zero(values: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """(records,) selected value of smallest magnitude, 0 without any; subtracting it never costs another value a digit."""
    if not len(values):
        return np.zeros(values.shape[1])
    values = values.astype(np.float64, copy=False)
    sizes = np.where(mask, np.abs(values), np.inf)
    nearest = sizes.argmin(axis=0)[None]
    known = np.isfinite(np.take_along_axis(sizes, nearest, axis=0)[0])
    return np.where(known, np.take_along_axis(values, nearest, axis=0)[0], 0.0)


def _add_model(values: np.ndarray, mask: np.ndarray, pivot: np.ndarray, n, m, s) -> None:
    """Add one model to running moments (Welford 1962)."""
    value = np.where(mask, values - pivot, m)
    n += mask
    deviation = value - m
    m += deviation / np.maximum(n, 1.0)
    s += deviation * (value - m)


def _read_only(array: np.ndarray) -> np.ndarray:
    """Make an array read-only, because it is cached and shared."""
    array.flags.writeable = False
    return array


def _masked_mean(values: np.ndarray, mask: np.ndarray, count: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore"):  # 0 / 0 is NaN: no model applies.
        return np.where(mask, values, 0.0).sum(axis=0) / count


@dataclass(frozen=True)
class OutModelStats:
    """Statistics of each record's scores under its OUT models; arrays are (records,).

    Args:
        target: Scores under the target.
        count: Number of OUT models with a score.
        n_at_least: Number of those under which the record scores at least as high as under the target.
        mean: Mean of their scores, NaN without any.
        squares: Sum of squared deviations from the mean.
    """

    target: np.ndarray = field(repr=False)
    count: np.ndarray = field(repr=False)
    n_at_least: np.ndarray = field(repr=False)
    mean: np.ndarray = field(repr=False)
    squares: np.ndarray = field(repr=False)

    @property
    def p_values(self) -> np.ndarray:
        """P-values (1 + number of OUT models that score as high) / (n + 1); NaN without OUT models or a score.

        If the target did not train on a record either, it is exchangeable with the OUT models, and P(p <= a) <= a holds for
        every single record, however easy.
        """
        unknown = np.isnan(self.target) | (self.count == 0)
        return np.where(unknown, np.nan, (1 + self.n_at_least) / (1 + self.count))

    @property
    def gap(self) -> np.ndarray:
        """Score minus the mean of the OUT models, in their standard deviations; NaN where it is undefined."""
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):  # infinite scores; models that all agree
            z_scores = (self.target - self.mean) / np.sqrt(self.squares / (self.count - 1))
            return np.where(self.target == self.mean, 0.0, z_scores)


def out_model_stats(target: np.ndarray, scores: np.ndarray, member: np.ndarray) -> OutModelStats:
    """Compute the statistics of each record's OUT models in one pass.

    Args:
        target: (records,) Scores under the target.
        scores: (models, records) Scores under other models; NaN where there is none.
        member: (models, records) True where a model trained on a record.
    """
    parts = [
        _out_model_moments(target[records], scores[:, records], member[:, records])
        for records in _record_blocks(len(target))
    ]
    count, n_at_least, mean, squares = map(np.concatenate, zip(*parts, strict=True))
    return OutModelStats(target=target, count=count, n_at_least=n_at_least, mean=mean, squares=squares)


def _out_model_moments(target: np.ndarray, scores: np.ndarray, member: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return count, number at least as high, mean and squares, summed in the order of the models."""
    counted = ~np.isnan(scores) & ~member
    count = counted.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):  # infinite scores; 0 / 0: no model applies
        n_at_least = (counted & (scores >= target)).sum(axis=0)
        first = _sum_of_counted(scores, counted) / count
        # A second pass makes the mean of equal scores exactly that score, and their sum of squares exactly 0.
        correction = _sum_of_counted(scores - first, counted) / count
        # For infinite scores only the first pass has a meaning.
        mean = np.where(np.isinf(first), first, first + correction)
        return count, n_at_least, mean, _sum_of_counted(np.square(scores - mean), counted)


def _sum_of_counted(values: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """(records,) sums of the values that count, in the order of the models; ``sum`` may add in another order."""
    total = np.zeros(values.shape[1])
    for row, counts in zip(values, counted, strict=True):
        total += np.where(counts, row, 0.0)
    return total


def flag_counts(scores: np.ndarray, member: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
    """Count (4, records) OUT models that flag a record, OUT models with a score, and the same of IN models.

    Args:
        scores: (models, records) NaN is ignored.
        member: (models, records) Training membership.
        thresholds: (models,) A record is flagged if its score is at least this; NaN flags no record.
    """
    counts = np.zeros((4, scores.shape[1]), dtype=np.int64)
    for row, trained, threshold in zip(scores, member, thresholds[:, None], strict=True):
        known = ~np.isnan(row)
        flagged = row >= threshold  # false for NaN
        counts += (flagged & ~trained, known & ~trained, flagged & trained, known & trained)
    return counts


def count_and_range(values: np.ndarray, member: np.ndarray, records: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (2,) numbers of members and non-members, and (2,) their smallest and largest value.

    Args:
        values: (models, all records) NaN is ignored.
        member: (models, all records) Training membership.
        records: Positions of the records that count.
    """
    sizes = np.zeros(2, dtype=np.int64)
    ends = np.array([np.inf, -np.inf])
    for chosen, inside in _known_values(values, member, records):
        sizes += (inside.sum(), (~inside).sum())
        ends = np.array([chosen.min(initial=ends[0]), chosen.max(initial=ends[1])])
    return sizes, ends


def _known_values(
    values: np.ndarray, member: np.ndarray, records: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the values of each model on those of the records for which it has one, and its membership of these."""
    for row, trained in zip(values, member, strict=True):
        chosen = row[records].astype(np.float64, copy=False)
        known = ~np.isnan(chosen)
        yield chosen[known], trained[records][known]


def count_in_bins(
    values: np.ndarray, member: np.ndarray, records: np.ndarray, edges: np.ndarray, smallest: float
) -> np.ndarray:
    """Count (2, bins) members and non-members; the last bin is closed, as in ``numpy.histogram``.

    Args:
        values: (models, all records) NaN is ignored.
        member: (models, all records) Training membership.
        records: Positions of the records that count.
        edges: (bins + 1,) in rising order.
        smallest: Smaller values are raised to this value.
    """
    counts = np.zeros((2, len(edges) - 1), dtype=np.int64)
    for chosen, inside in _known_values(values, member, records):
        raised = np.maximum(chosen, smallest)
        for side, in_bin in zip((inside, ~inside), counts, strict=True):
            in_bin += np.histogram(raised[side], edges)[0]
    return counts


# Singular values below this share of the largest are rounding.
ROUNDING = 1e-10
# Largest number of array entries for a batch of records.
BATCH_NUMBERS = 2**23


def student_log_odds(t: np.ndarray, dof: np.ndarray) -> np.ndarray:
    """Return log P(T < t) / P(T > t) for Student's T with ``dof`` degrees of freedom, finite for every finite ``t``.

    >>> student_log_odds(np.array([0.0, 1e9]), np.array([60.0, 60.0])).round(1)
    array([   0. , 1123.5])
    """
    t, dof = np.broadcast_arrays(t, dof)
    if t.size > MANY_TAILS:
        from guestlist._kernels.compiled_moments import fill_student_log_odds  # imports numba

        log_odds = np.empty(t.shape)
        fill_student_log_odds(t.ravel(), dof.ravel(), log_odds.reshape(-1))
        return log_odds
    size = np.abs(t)
    known = np.isfinite(size) & ~np.isnan(dof)
    log_odds = np.where(np.isinf(size), size, np.nan)
    log_odds[known] = _log_odds(size[known], dof[known])
    return np.copysign(log_odds, t)


def _log_odds(t: np.ndarray, dof: np.ndarray) -> np.ndarray:
    """Compute the log-odds of (values,) finite t >= 0 with the operations of the compiled loop in the same order.

    Logarithms are those of the C library, as in the loop: NumPy's may differ in the last digit.
    """
    different, position = np.unique(dof, return_inverse=True)
    log_dof = _map(math.log, different)[position]
    log_a = _map(math.log, different / 2)[position]
    log_gamma_ratio = _log_gamma_ratio(different / 2)[position]
    a = dof / 2
    with np.errstate(over="ignore", under="ignore", divide="ignore"):
        square = t * t
        far = square > dof
        ratio = np.where(far, dof / square, square / dof)
    x = np.where(far, ratio, 1.0) / (1 + ratio)
    y = np.where(far, 1.0, ratio) / (1 + ratio)
    log1p_ratio = _map(math.log1p, ratio)
    log_x = -log1p_ratio
    log_x[far] = log_dof[far] - 2 * _map(math.log, t[far]) - log1p_ratio[far]
    log_y = -log1p_ratio
    log_y[y == 0] = -np.inf
    near = ~far & (y > 0)
    log_y[near] = _map(math.log, y[near])
    front = a * log_x + log_y / 2 + log_gamma_ratio - HALF_LOG_PI
    log_odds = np.empty(len(t))
    centred = y < 1.5 / (a + 2.5)
    centre = 2 * _map(math.exp, front[centred]) * _power_series(a[centred], y[centred])
    log_odds[centred] = _map(math.log1p, centre) - _map(math.log1p, -centre)
    tail = ~centred
    fraction = _continued_fraction(a[tail], x[tail])
    log_tail = front[tail] - log_a[tail] + _map(math.log, fraction) - LOG_2
    log_odds[tail] = _map(math.log1p, -_map(math.exp, log_tail)) - log_tail
    return log_odds


def _map(function: Callable[[float], float], values: np.ndarray) -> np.ndarray:
    """Apply a function of the C library to each of (values,) numbers."""
    return np.fromiter(map(function, values.tolist()), np.float64, len(values))


def _log_gamma_ratio(a: np.ndarray) -> np.ndarray:
    """Return log Γ(a + 1/2) - log Γ(a), as the compiled loop does."""
    below = np.ones(len(a))
    low = a < 12
    while low.any():
        below = np.where(low, below * (a / (a + 0.5)), below)
        a = a + low
        low = a < 12
    z = 1 / (a * a)
    series = -1 / 8 + z * (1 / 192 + z * (-1 / 640 + z * (17 / 14336 + z * (-31 / 18432 + z * 691 / 180224))))
    return 0.5 * _map(math.log, a) + series / a + _map(math.log, below)


def _power_series(a: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the power series of I_y(1/2, a) over its front, as the compiled loop does."""
    sums = np.empty(len(a))
    rows = np.arange(len(a))
    term = np.ones(len(a))
    total = np.ones(len(a))
    n = 0.0
    while len(rows):
        term = term * (y * (a + 0.5 + n) / (1.5 + n))
        total = total + term
        n += 1
        unfinished = term > 1e-17 * total
        if 2 * np.count_nonzero(unfinished) <= len(rows):  # Further terms do not change a finished sum.
            sums[rows] = total
            rows = rows[unfinished]
            a, y, term, total = (part[unfinished] for part in (a, y, term, total))
    return sums


def _continued_fraction(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return I_x(a, 1/2) over its front and 1 / a, as the compiled loop does."""
    fractions = np.empty(len(a))
    rows = np.arange(len(a))
    value = np.ones(len(a))
    top = np.ones(len(a))
    top_before = np.ones(len(a))
    bottom = np.ones(len(a))
    bottom_before = np.zeros(len(a))
    m = 0.0
    while len(rows):
        odd = -(a + m) * (a + 0.5 + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        top_before = top + odd * top_before
        bottom_before = bottom + odd * bottom_before
        m += 1
        even = m * (0.5 - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        top = top_before + even * top
        bottom = bottom_before + even * bottom
        last = value
        value = bottom / top
        size = np.abs(bottom)
        extreme = (size <= 1 / LARGE) | (size >= LARGE)
        if extreme.any():  # Only the ratios matter.
            for part in (top, top_before, bottom_before, bottom):
                part[extreme] /= np.copysign(size[extreme], bottom[extreme])
        unfinished = np.abs(value - last) > 1e-15 * value
        if not unfinished.all():
            fractions[rows[~unfinished]] = value[~unfinished]
            rows = rows[unfinished]
            parts = (a, x, value, top, top_before, bottom, bottom_before)
            a, x, value, top, top_before, bottom, bottom_before = (part[unfinished] for part in parts)
    return fractions


def leverage(
    x: np.ndarray,
    *,
    member: np.ndarray | None = None,
    penalty: float = 0.0,
    intercept: bool = True,
    weight: np.ndarray | None = None,
) -> np.ndarray:
    """Leverage of each record in a linear model with a ridge penalty, fitted to the members.

    A non-member gets the leverage it would have as an additional member: 1 where no member constrains its direction.

    Args:
        x: (records, features).
        member: (records,) True for records that the model is fitted to; by default all.
        penalty: Added to the diagonal of X'X, except for the intercept.
        intercept: Whether the model has an intercept.
        weight: (records,) Weights of squared errors; by default 1.

    Returns:
        (records,) in [0, 1].

    >>> leverage(np.array([[0.0], [1.0], [2.0]])).round(4)
    array([0.8333, 0.3333, 0.8333])
    >>> leverage(np.array([[1.0], [2.0]]), member=np.array([True, False]), penalty=3.0, intercept=False)
    array([0.25, 0.5 ])

    Raises:
        ValueError: If the arrays do not fit together, or a number is out of range.
    """
    x = np.asarray(x, dtype=np.float64)
    if x.ndim != 2 or not len(x):
        raise ValueError(f"Expected x shaped {x.shape} to be (records, features), with one record or more.")
    if not penalty >= 0:
        raise ValueError(f"Expected penalty={penalty} to be 0 or more.")
    member = np.ones(len(x), dtype=bool) if member is None else np.asarray(member)
    weight = np.ones(len(x)) if weight is None else np.asarray(weight, dtype=np.float64)
    # An unpenalised intercept is equivalent to centred features plus the share of each record in the mean.
    total = weight[member].sum()
    if total == 0:  # All weights are 0 if a model is certain of every member.
        return np.zeros(len(x))
    centre = weight[member] @ x[member] / total if intercept else np.zeros(x.shape[1])
    rows = np.sqrt(weight)[:, None] * (x - centre)
    values = _inverse_norm(rows, rows[member], penalty) + (weight / total if intercept else 0.0)
    return np.where(member, np.minimum(values, 1.0), _if_added(values))


def softmax_leverage(
    x: np.ndarray, log_p: np.ndarray, *, member: np.ndarray, penalty: float, weight: np.ndarray
) -> np.ndarray:
    """Generalised leverage of each record in a multinomial logistic regression: Σ over classes of ∂p_c/∂y_c.

    It is the trace of W_i^½ X_i H⁻¹ X_i' W_i^½, with W_i = diag(p) − p p' and H the Hessian of the penalised loss over members.
    It is between 0 and the number of classes minus 1. A non-member gets the value it would have as an additional member.

    Args:
        x: (records, features).
        log_p: (records, classes) Logarithms of the model's probabilities.
        member: (records,) True for records that the model is fitted to.
        penalty: Added to the diagonal of H, except for intercepts.
        weight: (records,) Weights of losses.
    """
    p = np.exp(log_p)
    design = np.column_stack([np.ones(len(x)), x])
    classes = p.shape[1]
    width = design.shape[1]
    size = max(1, BATCH_NUMBERS // (classes**2 * width))
    batches = [np.arange(start, min(start + size, len(x))) for start in range(0, len(x), size)]

    def weighted_covariance(batch: np.ndarray) -> np.ndarray:
        covariance = p[batch, :, None] * np.eye(classes) - p[batch, :, None] * p[batch, None, :]
        return weight[batch, None, None] * covariance

    # Both loops are matrix products over all pairs of classes.
    products = np.zeros((classes**2 * width, width))
    for batch in batches:
        rows = batch[member[batch]]
        weighted = weighted_covariance(rows).reshape(len(rows), classes**2, 1) * design[rows, None, :]
        products += weighted.reshape(len(rows), classes**2 * width).T @ design[rows]
    hessian = products.reshape(classes, classes, width, width).swapaxes(1, 2)
    flat = hessian.reshape(classes * width, classes * width)
    flat[np.diag_indices_from(flat)] += np.tile(np.append(0.0, np.full(width - 1, penalty)), classes)
    inverse = np.linalg.pinv(flat, rcond=ROUNDING, hermitian=True).reshape(classes, width, classes, width)
    by_feature = inverse.swapaxes(0, 1).reshape(width, classes**2 * width)
    leverages = np.empty(len(x))
    for batch in batches:
        along = (design[batch] @ by_feature).reshape(len(batch), classes**2, width)
        quadratic = (along @ design[batch, :, None]).reshape(len(batch), classes, classes)
        # W G and W^½ G W^½ have the same eigenvalues, which give the effect of adding the record.
        values = np.maximum(np.linalg.eigvals(weighted_covariance(batch) @ quadratic).real, 0.0)
        leverages[batch] = np.where(member[batch], values.sum(axis=1), _if_added(values).sum(axis=1))
    return leverages


def _inverse_norm(rows: np.ndarray, members: np.ndarray, penalty: float) -> np.ndarray:
    """(records,) x' (M'M + penalty)⁻¹ x; infinite in directions that neither a member nor a penalty constrains."""
    _, size, directions = np.linalg.svd(np.linalg.qr(members, mode="r"), full_matrices=False)
    spanned = size > ROUNDING * max(size.max(initial=0.0), 1e-300)
    along = rows @ directions[spanned].T
    norm = (np.square(along) / (np.square(size[spanned]) + penalty)).sum(axis=1)
    square = np.square(rows).sum(axis=1)
    residual = np.maximum(square - np.square(along).sum(axis=1), 0.0)
    residual[residual <= ROUNDING * square] = 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        return norm + np.where(residual > 0, residual / penalty, 0.0)


def _if_added(leverages: np.ndarray) -> np.ndarray:
    """Leverage of a record after it is added to the training records (Sherman & Morrison)."""
    with np.errstate(invalid="ignore"):
        return np.where(np.isinf(leverages), 1.0, leverages / (1 + leverages))
