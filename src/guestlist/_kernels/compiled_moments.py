"""Compiled loops over models: moments, bins, flag counts and Student tails."""

import math

import numpy as np
from numba import njit

RECORDS_PER_BATCH = 256  # The values of all models for these records fit in the cache.


@njit(cache=True, error_model="numpy")
def fill_leave_block_out_moments(values, mask, order, blocks, count, mean, squares):  # pragma: no cover: compiled
    """Fill (models, records) moments of the selected values of the models in other blocks.

    Args:
        values, mask: (models, records) Values, and a mask of those to include.
        order: (models,) Models, block by block.
        blocks: (models,) Block number of each model.
    """
    models, records = values.shape
    pivot = np.empty(RECORDS_PER_BATCH)
    n = np.empty(RECORDS_PER_BATCH)
    m = np.empty(RECORDS_PER_BATCH)
    s = np.empty(RECORDS_PER_BATCH)
    for first in range(0, records, RECORDS_PER_BATCH):
        last = min(first + RECORDS_PER_BATCH, records)
        # Row slices let the compiler see that indices stay within bounds.
        _fill(pivot, 0.0)
        _fill(n, np.inf)
        for k in range(models):
            _nearest_to_zero(values[k][first:last], mask[k][first:last], pivot, n)  # Huge means would cost digits.
        _clear_moments(n, m, s)
        start = 0
        while start < models:  # moments of the blocks before each block
            stop = start
            while stop < models and blocks[order[stop]] == blocks[order[start]]:
                stop += 1
            for position in range(start, stop):
                k = order[position]
                _copy(n, count[k][first:last])
                _copy(m, mean[k][first:last])
                _copy(s, squares[k][first:last])
            for position in range(start, stop):
                k = order[position]
                _add_model(values[k][first:last], mask[k][first:last], pivot, n, m, s)
            start = stop
        _clear_moments(n, m, s)
        stop = models
        while stop > 0:  # merged with those of the blocks after it, from the other end
            start = stop - 1
            while start > 0 and blocks[order[start - 1]] == blocks[order[stop - 1]]:
                start -= 1
            for position in range(start, stop):
                k = order[position]
                _merge_moments(count[k][first:last], mean[k][first:last], squares[k][first:last], pivot, n, m, s)
            for position in range(start, stop):
                k = order[position]
                _add_model(values[k][first:last], mask[k][first:last], pivot, n, m, s)
            stop = start


# Loops, because numba compiles an assignment to a slice much more slowly.
@njit(cache=True)
def _fill(array, value):  # pragma: no cover: compiled
    for i in range(len(array)):
        array[i] = value


@njit(cache=True)
def _copy(source, array):  # pragma: no cover: compiled
    for i in range(len(array)):
        array[i] = source[i]


@njit(cache=True)
def _clear_moments(n, m, s):  # pragma: no cover: compiled
    _fill(n, 0.0)
    _fill(m, 0.0)
    _fill(s, 0.0)


@njit(cache=True)
def _nearest_to_zero(values, mask, nearest, smallest):  # pragma: no cover: compiled
    """Keep the selected value of smallest magnitude; subtracting it never costs another value a digit."""
    for i in range(len(values)):
        value = np.float64(values[i])
        size = abs(value) if mask[i] else np.inf
        nearest[i] = value if size < smallest[i] else nearest[i]
        smallest[i] = min(size, smallest[i])


@njit(cache=True, error_model="numpy")
def _add_model(values, mask, pivot, n, m, s):  # pragma: no cover: compiled
    """Add one model to running moments (Welford 1962)."""
    for i in range(len(values)):  # Without branches, because membership is random and cannot be predicted.
        value = values[i] - pivot[i] if mask[i] else m[i]
        n[i] += 1.0 if mask[i] else 0.0
        deviation = value - m[i]
        m[i] += deviation / max(n[i], 1.0)
        s[i] += deviation * (value - m[i])


@njit(cache=True, error_model="numpy")
def _merge_moments(count, mean, squares, pivot, n, m, s):  # pragma: no cover: compiled
    """Merge the moments of two disjoint sets of models (Chan et al. 1979) and add the pivot to the mean.

    The mean is NaN where there is no model.
    """
    for i in range(len(count)):
        total = count[i] + n[i]
        weight = n[i] / max(total, 1.0)
        difference = m[i] - mean[i] if count[i] > 0 and n[i] > 0 else 0.0
        squares[i] = squares[i] + s[i] + difference * difference * count[i] * weight
        merged = mean[i] + weight * difference if count[i] > 0 else m[i]
        mean[i] = merged + pivot[i] if total > 0 else np.nan
        count[i] = total


@njit(cache=True, error_model="numpy")
def fill_in_out_moments(values, member, chosen, count, mean, squares):  # pragma: no cover: compiled
    """Fill (2, records) moments of OUT models and IN models, summed in the order of the models in double precision.

    A second pass makes the mean of equal values exactly that value, and their sum of squares exactly 0. Both sets are
    summed while the values of some records are in the cache.

    Args:
        values, member: (models, records); NaN is ignored.
        chosen: Positions of the models that count.
    """
    models = len(chosen)
    records = values.shape[1]
    selected, counts = np.empty((2, models, RECORDS_PER_BATCH))
    n, first, second, square = np.empty((4, RECORDS_PER_BATCH))
    for start in range(0, records, RECORDS_PER_BATCH):
        stop = min(start + RECORDS_PER_BATCH, records)
        for side in range(2):
            n[:] = 0.0
            first[:] = 0.0
            second[:] = 0.0
            square[:] = 0.0
            for k in range(models):
                row = values[chosen[k]][start:stop]
                trained = member[chosen[k]][start:stop]
                _add_selected(row, trained, side == 1, selected[k], counts[k], n, first)
            for i in range(stop - start):
                first[i] = first[i] / n[i]  # 0 / 0 is NaN: no model applies.
            for k in range(models):
                for i in range(stop - start):
                    second[i] += selected[k, i] - first[i] if counts[k, i] > 0 else 0.0
            for i in range(stop - start):
                second[i] = first[i] + second[i] / n[i]
            for k in range(models):
                for i in range(stop - start):
                    deviation = selected[k, i] - second[i] if counts[k, i] > 0 else 0.0
                    square[i] += deviation * deviation
            for i in range(stop - start):
                count[side, start + i] = np.int64(n[i])
                mean[side, start + i] = second[i]
                squares[side, start + i] = square[i]


@njit(cache=True, inline="always")
def _add_selected(values, member, inside, selected, counts, n, total):  # pragma: no cover: compiled
    """Select the values of one model for IN or OUT records, 0 for the others, and add their number and sum."""
    for i in range(len(values)):  # Without branches, not even that of "and".
        value = np.float64(values[i])
        counted = 1.0 if (value == value) & (member[i] == inside) else 0.0
        selected[i] = value if counted > 0 else 0.0
        counts[i] = counted
        n[i] += counted
        total[i] += selected[i]


OUT_RECORDS_PER_BATCH = 256  # The scores of all models for these records fit in the cache.


@njit(cache=True, error_model="numpy")
def fill_out_model_stats(target, scores, member, count, n_at_least, mean, squares):  # pragma: no cover: compiled
    """Fill (records,) statistics of the models that did not train on a record and have a score.

    A second pass makes the mean of equal scores exactly that score, and their sum of squares exactly 0.
    """
    models, records = scores.shape
    values, counts = np.empty((2, models, OUT_RECORDS_PER_BATCH))
    n, high, first, second, square = np.empty((5, OUT_RECORDS_PER_BATCH))
    for start in range(0, records, OUT_RECORDS_PER_BATCH):
        stop = min(start + OUT_RECORDS_PER_BATCH, records)
        n[:] = 0.0
        high[:] = 0.0
        first[:] = 0.0
        second[:] = 0.0
        square[:] = 0.0
        for k in range(models):
            row = scores[k][start:stop]
            trained = member[k][start:stop]
            _add_out_scores(target[start:stop], row, trained, values[k], counts[k], n, high, first)
        for i in range(stop - start):
            first[i] = first[i] / n[i]  # 0 / 0 is NaN: no model applies.
        for k in range(models):
            for i in range(stop - start):
                second[i] += values[k, i] - first[i] if counts[k, i] > 0 else 0.0
        for i in range(stop - start):  # For infinite scores only the first pass has a meaning.
            second[i] = first[i] + second[i] / n[i] if abs(first[i]) < np.inf else first[i]
        for k in range(models):
            for i in range(stop - start):
                deviation = values[k, i] - second[i] if counts[k, i] > 0 else 0.0
                square[i] += deviation * deviation
        for i in range(stop - start):
            count[start + i] = np.int64(n[i])
            n_at_least[start + i] = np.int64(high[i])
            mean[start + i] = second[i]
            squares[start + i] = square[i]


@njit(cache=True, inline="always")
def _add_out_scores(target, scores, member, values, counts, n, high, total):  # pragma: no cover: compiled
    # Without branches, not even that of "and": membership is random, so a processor cannot predict it.
    for i in range(len(scores)):
        score = np.float64(scores[i])
        counted = 1.0 if (score == score) & (not member[i]) else 0.0
        values[i] = score if counted > 0 else 0.0
        counts[i] = counted
        n[i] += counted
        high[i] += counted if score >= target[i] else 0.0
        total[i] += values[i]


VALUES_PER_BATCH = 1024  # values that are compared with one edge after the other


@njit(cache=True)
def add_count_and_range(values, member, records, sizes, ends):  # pragma: no cover: compiled
    """Add the numbers of members and non-members to (2,) sizes, and widen (2,) ends to the range of the values.

    Args:
        values, member: (models, all records) NaN is ignored.
        records: Positions of the records that count.
    """
    low = ends[0]
    high = ends[1]
    for k in range(len(values)):
        row = values[k]
        trained = member[k]
        n_members = 0
        n_known = 0
        for i in records:  # Without branches, because membership is random and cannot be predicted.
            value = np.float64(row[i])
            known = value == value
            n_known += known
            n_members += known & trained[i]
            low = value if value < low else low
            high = value if value > high else high
        sizes[0] += n_members
        sizes[1] += n_known - n_members
    ends[0] = low
    ends[1] = high


@njit(cache=True)
def add_counts_in_bins(values, member, records, edges, smallest, counts):  # pragma: no cover: compiled
    """Add to (2, bins) counts of members and non-members; the last bin is closed, as in ``numpy.histogram``.

    Args:
        values, member: (models, all records) NaN is ignored.
        records: Positions of the records that count.
        edges: (bins + 1,) in rising order.
        smallest: Smaller values are raised to this value.
    """
    bins = len(edges) - 1
    batch = np.empty(VALUES_PER_BATCH)
    trained = np.empty(VALUES_PER_BATCH, dtype=np.bool_)
    for k in range(len(values)):
        for start in range(0, len(records), VALUES_PER_BATCH):
            size = min(VALUES_PER_BATCH, len(records) - start)
            for i in range(size):
                value = np.float64(values[k, records[start + i]])
                batch[i] = smallest if value < smallest else value
                trained[i] = member[k, records[start + i]]
            lower = _count_at_least(batch, trained, size, edges[0])
            for bin in range(bins):
                if bin == bins - 1:
                    upper = _count_above_edge(batch, trained, size, edges[bins])
                else:
                    upper = _count_at_least(batch, trained, size, edges[bin + 1])
                counts[0, bin] += lower[0] - upper[0]
                counts[1, bin] += lower[1] - upper[1]
                lower = upper


@njit(cache=True, inline="always")
def _count_at_least(values, member, size, edge):  # pragma: no cover: compiled
    """Return the numbers of members and non-members with at least this value."""
    n_members = 0
    total = 0
    for i in range(size):
        n_members += (values[i] >= edge) & member[i]
        total += values[i] >= edge
    return n_members, total - n_members


@njit(cache=True, inline="always")
def _count_above_edge(values, member, size, edge):  # pragma: no cover: compiled
    """Return the numbers of members and non-members with a larger value."""
    n_members = 0
    total = 0
    for i in range(size):
        n_members += (values[i] > edge) & member[i]
        total += values[i] > edge
    return n_members, total - n_members


@njit(cache=True)
def add_flag_counts(
    scores, member, thresholds, flagged_outside, outside, flagged_inside, inside
):  # pragma: no cover: compiled
    """Add to (records,) counts of OUT models and of IN models: those that flag a record, and all with a score.

    Args:
        scores, member: (models, records) NaN is ignored.
        thresholds: (models,) A record is flagged if its score is at least this; NaN flags no record.
    """
    models, records = scores.shape
    for k in range(models):
        for i in range(records):
            score = scores[k, i]
            if score == score:
                if member[k, i]:
                    inside[i] += 1
                    flagged_inside[i] += score >= thresholds[k]
                else:
                    outside[i] += 1
                    flagged_outside[i] += score >= thresholds[k]


_HALF_LOG_PI = 0.5 * math.log(math.pi)
_LOG_2 = math.log(2)
LARGE = 1e100


@njit(cache=True, error_model="numpy")
def fill_student_log_odds(t, dof, out):  # pragma: no cover: compiled
    """Fill (values,) log P(T < t) / P(T > t) for Student's T with ``dof`` degrees of freedom."""
    for i in range(len(t)):
        size = abs(t[i])
        out[i] = t[i] if size == np.inf else math.copysign(_log_odds(size, dof[i]), t[i])


@njit(cache=True, inline="always", error_model="numpy")
def _log_odds(t, dof):  # pragma: no cover: compiled
    """Log-odds for t >= 0: the tail is half of I_x(a, 1/2), the incomplete beta function.

    a = dof / 2 and x = dof / (dof + t²).
    """
    a = dof / 2
    square = t * t
    if square > dof:  # x, 1 - x and their logarithms are computed from the small ratio, without cancellation.
        ratio = dof / square
        x = ratio / (1 + ratio)
        y = 1 / (1 + ratio)
        log_x = math.log(dof) - 2 * math.log(t) - math.log1p(ratio)
        log_y = -math.log1p(ratio)
    else:
        ratio = square / dof
        x = 1 / (1 + ratio)
        y = ratio / (1 + ratio)
        log_x = -math.log1p(ratio)
        log_y = math.log(y)  # -inf where t is 0
    front = a * log_x + log_y / 2 + _log_gamma_ratio(a) - _HALF_LOG_PI  # x^a (1 - x)^1/2 / B(a, 1/2)
    if y < 1.5 / (a + 2.5):
        # Near 0, 1 - I_x(a, 1/2) = I_y(1/2, a) by its power series, whose terms are all positive.
        term = 1.0
        total = 1.0
        n = 0.0
        while term > 1e-17 * total:
            term *= y * (a + 0.5 + n) / (1.5 + n)
            total += term
            n += 1
        centre = 2 * math.exp(front) * total
        return math.log1p(centre) - math.log1p(-centre)
    log_tail = front - math.log(a) + math.log(_continued_fraction(a, x)) - _LOG_2
    return math.log1p(-math.exp(log_tail)) - log_tail


@njit(cache=True, inline="always", error_model="numpy")
def _log_gamma_ratio(a):  # pragma: no cover: compiled
    """log Γ(a + 1/2) - log Γ(a): Stirling's series where it is exact (Tricomi & Erdélyi 1951), then recurrence."""
    below = 1.0
    while a < 12:
        below *= a / (a + 0.5)
        a += 1
    z = 1 / (a * a)
    series = -1 / 8 + z * (1 / 192 + z * (-1 / 640 + z * (17 / 14336 + z * (-31 / 18432 + z * 691 / 180224))))
    return 0.5 * math.log(a) + series / a + math.log(below)


@njit(cache=True, inline="always", error_model="numpy")
def _continued_fraction(a, x):  # pragma: no cover: compiled
    """I_x(a, 1/2) over its front and 1 / a: fast where x < (a + 1) / (a + 2.5) (DLMF 8.17.22).

    The recurrence runs on numerators and denominators of the convergents, with one division for two of them.
    """
    last = 0.0
    value = 1.0
    m = 0.0
    top = 1.0
    top_before = 1.0
    bottom = 1.0
    bottom_before = 0.0
    while abs(value - last) > 1e-15 * value:
        odd = -(a + m) * (a + 0.5 + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        top_before = top + odd * top_before
        bottom_before = bottom + odd * bottom_before
        m += 1
        even = m * (0.5 - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        top = top_before + even * top
        bottom = bottom_before + even * bottom
        last = value
        value = bottom / top
        if not 1 / LARGE < abs(bottom) < LARGE:  # Only the ratios matter.
            top /= bottom
            top_before /= bottom
            bottom_before /= bottom
            bottom = 1.0
    return value
