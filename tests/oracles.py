"""Slow and obvious versions of what is fast in the package: loops over models and records."""

from __future__ import annotations

import math
import statistics

import numpy as np
from scipy import optimize, special, stats


def moments_of_others(values, mask, together=None):
    """Count, mean and sum of squares over the other models, cell by cell, in exact sums."""
    models, records = values.shape
    together = np.arange(models) if together is None else together
    count, mean, squares = (np.zeros((models, records)) for _ in range(3))
    for k in range(models):
        for i in range(records):
            chosen = [values[j, i] for j in range(models) if together[j] != together[k] and mask[j, i]]
            count[k, i] = len(chosen)
            mean[k, i] = math.fsum(chosen) / len(chosen) if chosen else math.nan
            squares[k, i] = math.fsum((x - mean[k, i]) ** 2 for x in chosen)
    return count, mean, squares


def auc(scores, member):
    """Share of (member, non-member) pairs in the right order, ties counting 0.5."""
    wins, pairs = 0.0, 0
    for a, is_member in zip(scores, member, strict=True):
        for b, is_other in zip(scores, member, strict=True):
            if is_member and not is_other and not math.isnan(a) and not math.isnan(b):
                wins += 1.0 if a > b else 0.5 if a == b else 0.0
                pairs += 1
    return wins / pairs if pairs else math.nan


# -- attacks, one record at a time
# ------------------------------------------------------------------------------


def sides(signals, name, i):
    """Values of the target, the IN and the OUT references for record ``i``; those not queried are omitted."""
    pairs = [
        (x, inside)
        for x, inside in zip(signals.reference(name)[:, i], signals.reference_member[:, i], strict=True)
        if not math.isnan(x)
    ]
    return (
        signals.target(name)[i],
        [x for x, inside in pairs if inside],
        [x for x, inside in pairs if not inside],
    )


def each_record(score, signals):
    """``score(signals, i)`` of every record, NaN where it divides by zero references."""
    scores = []
    for i in range(len(signals.labels)):
        try:
            scores.append(score(signals, i))
        except (ZeroDivisionError, statistics.StatisticsError):
            scores.append(math.nan)
    return np.array(scores)


def lira(signals, variance):
    pooled = [_pooled_variance(signals, side) for side in (1, 2)]

    def score(signals, i):
        x, *both = sides(signals, "margin", i)
        logs = [
            stats.norm.logpdf(x, statistics.fmean(side), math.sqrt(_variance(side, whole, variance)))
            for side, whole in zip(both, pooled, strict=True)
        ]
        return logs[0] - logs[1]

    return each_record(score, signals)


def lira_offline(signals, variance):
    pooled = _pooled_variance(signals, 2)

    def score(signals, i):
        x, _, outside = sides(signals, "margin", i)
        t = (x - statistics.fmean(outside)) / math.sqrt(_variance(outside, pooled, variance))
        return stats.norm.logcdf(t) - stats.norm.logsf(t)

    return each_record(score, signals)


def reference(signals):
    return _reference(signals, lambda t, d: stats.t.logcdf(t, d) - stats.t.logsf(t, d))


def reference_p_value(signals):
    return _reference(signals, stats.t.sf)


def _reference(signals, of_t):
    pooled, freedom = _pooled_variance(signals, 2), _pooled_freedom(signals, 2)

    def score(signals, i):
        x, _, outside = sides(signals, "margin", i)
        n = len(outside)
        scale = math.sqrt(_variance(outside, pooled, "record") * (1 + 1 / n))
        return of_t((x - statistics.fmean(outside)) / scale, n - 1 if n > 1 else freedom)

    return each_record(score, signals)


def reference_empirical(signals):
    def score(signals, i):
        x, _, outside = sides(signals, "loss", i)
        if math.isnan(x):
            return math.nan
        return sum(1.0 if y > x else 0.5 if y == x else 0.0 for y in outside) / len(outside)

    return each_record(score, signals)


def reference_empirical_p_value(signals):
    def p_value(signals, i):
        x, _, outside = sides(signals, "loss", i)
        if math.isnan(x) or not outside:
            return math.nan
        return (1 + sum(y <= x for y in outside)) / (1 + len(outside))

    return each_record(p_value, signals)


def losses_of_nonmembers(signals, i):
    """Return the references' losses on records of the class of ``i`` that they did not train on; if none, on any."""
    records = range(len(signals.labels))
    for known in ([j for j in records if signals.labels[j] == signals.labels[i]], records):
        losses = [x for j in known for x in sides(signals, "loss", j)[2]]
        if losses:
            return losses
    return []


def shadow(signals):
    def score(signals, i):
        x, pooled = signals.target("loss")[i], losses_of_nonmembers(signals, i)
        if math.isnan(x):
            return math.nan
        return -sum(1.0 if y < x else 0.5 if y == x else 0.0 for y in pooled) / len(pooled)

    return each_record(score, signals)


def shadow_p_value(signals):
    def p_value(signals, i):
        x, pooled = signals.target("loss")[i], losses_of_nonmembers(signals, i)
        if math.isnan(x) or not pooled:
            return math.nan
        return (1 + sum(y <= x for y in pooled)) / (1 + len(pooled))

    return each_record(p_value, signals)


def population_p_value(signals):
    """Every record against the population records, without itself where it is one of them."""
    loss, population = signals.target("loss"), signals.population

    def p_value(signals, i):
        others = [x for j, x in enumerate(loss) if population[j] and not math.isnan(x) and j != i]
        if math.isnan(loss[i]):
            return math.nan
        return (1 + sum(x <= loss[i] for x in others)) / (1 + len(others))

    return each_record(p_value, signals)


def among(signals, models):
    """Return the target with these models instead of its references, row by row."""
    values = {name: np.array([signals.target(name), *rows]) for name, rows in models.values.items()}
    return type(signals)(values, np.array(models.member), signals.labels)


def difficulty(signals):
    def score(signals, i):
        x, inside, outside = sides(signals, "margin", i)
        return x - (statistics.fmean(inside) + statistics.fmean(outside)) / 2

    return each_record(score, signals)


def difficulty_offline(signals):
    def score(signals, i):
        x, _, outside = sides(signals, "margin", i)
        return x - statistics.fmean(outside)

    return each_record(score, signals)


def rmia(signals):
    def score(signals, i):
        x, inside, outside = sides(signals, "p_y", i)
        return math.log(x) - math.log((statistics.fmean(inside) + statistics.fmean(outside)) / 2)

    return each_record(score, signals)


def rmia_offline(signals):
    a = rmia_a(signals)

    def score(signals, i):
        x, _, outside = sides(signals, "p_y", i)
        return math.log(x) - math.log(((1 + a) * statistics.fmean(outside) + 1 - a) / 2)

    return each_record(score, signals)


def rmia_a(signals):
    """Least squares of what each reference says about its own members, against the others' OUT mean."""
    x, y = [], []
    for i in range(len(signals.labels)):
        _, inside, outside = sides(signals, "p_y", i)
        for p in inside if outside else []:
            x.append(1 - statistics.fmean(outside))
            y.append(1 - p)
    slope = np.linalg.lstsq(np.array(x)[:, None], np.array(y), rcond=None)[0][0]
    return min(max(slope, 0.0), 1.0)


def base(signals):
    def score(signals, i):
        x, inside, outside = sides(signals, "p_y", i)
        return math.log(x) - math.log(statistics.fmean(inside + outside))

    return each_record(score, signals)


def lira_bayes(signals):
    """The hierarchical model record by record, with one bin: for fewer than 200 records."""
    records = range(len(signals.labels))
    both = [sides(signals, "margin", i)[1:] for i in records]
    ratio = _pooled_variance(signals, 1) / _pooled_variance(signals, 2)
    ratio = min(max(ratio, 1e-4), 1e4)

    def deviations(side):
        return math.fsum((x - statistics.fmean(side)) ** 2 for x in side) if len(side) > 1 else 0.0

    freedom = [max(len(inside) - 1, 0) + max(len(outside) - 1, 0) for inside, outside in both]
    squares = [deviations(inside) / ratio + deviations(outside) for inside, outside in both]
    known = [i for i in records if freedom[i]]
    floor = max(1e-4 * math.fsum(squares) / sum(freedom), 1e-12)
    logs = [
        math.log(max(squares[i] / freedom[i], floor)) - special.digamma(freedom[i] / 2) + math.log(freedom[i] / 2)
        for i in known
    ]
    excess = statistics.pvariance(logs) - statistics.fmean(special.polygamma(1, freedom[i] / 2) for i in known)
    shape = _shape(excess)
    scale = math.exp(statistics.fmean(logs) + special.digamma(shape))
    variance = [(scale + squares[i] / 2) / (shape + freedom[i] / 2) for i in records]

    full = [i for i in records if all(both[i])]
    gaps = {i: statistics.fmean(both[i][0]) - statistics.fmean(both[i][1]) for i in full}
    error = {i: variance[i] * (ratio / len(both[i][0]) + 1 / len(both[i][1])) for i in full}
    expected = statistics.fmean(gaps.values())
    excess_squares = [(gaps[i] - expected) ** 2 - error[i] for i in full]
    prior = max(
        statistics.fmean(excess_squares) - statistics.pstdev(excess_squares) / math.sqrt(len(excess_squares)), 0.0
    )

    def score(signals, i):
        x, (inside, outside) = signals.target("margin")[i], both[i]
        weights = [1 / ratio] * len(inside) + [1.0] * len(outside)
        total = math.fsum(weights)
        centre = math.fsum(w * value for w, value in zip(weights, inside + outside, strict=True)) / total
        shift, shift_variance = expected, prior
        if i in gaps:
            posterior = (prior * gaps[i] + error[i] * expected) / (prior + error[i])
            limit = 2 * math.sqrt(error[i])
            shift = min(max(posterior, gaps[i] - limit), gaps[i] + limit)
            shift_variance = prior * error[i] / (prior + error[i])
        shift = max(shift, 0.0)
        share_in = len(inside) / ratio / total
        logs = []
        for mean, share, prior_ in (
            (centre + (1 - share_in) * shift, 1 - share_in, ratio),
            (centre - share_in * shift, share_in, 1),
        ):
            width = math.sqrt(variance[i] * (prior_ + 1 / total) + share**2 * shift_variance)
            logs.append(stats.t(2 * shape + freedom[i], mean, width).logpdf(x))
        return logs[0] - logs[1]

    return each_record(score, signals)


def lira_bayes_offline(signals):
    prior = _variance_prior(signals, 2)

    def score(signals, i):
        x, _, outside = sides(signals, "margin", i)
        out_predictive = _predictive(outside, *prior)
        return out_predictive.logcdf(x) - out_predictive.logsf(x)

    return each_record(score, signals)


def _predictive(side, a0, b0):
    n, mean = len(side), statistics.fmean(side)
    a, b = a0 + (n - 1) / 2, b0 + math.fsum((x - mean) ** 2 for x in side) / 2
    return stats.t(2 * a, mean, math.sqrt(b * (1 + 1 / n) / a))


def _variance_prior(signals, side):
    """Shape and scale of the inverse-gamma prior, by a root search for the shape."""
    known = [s for i in range(len(signals.labels)) if len(s := sides(signals, "margin", i)[side]) > 1]
    floor = max(1e-4 * _pooled_variance(signals, side), 1e-12)
    logs, noise = [], []
    for record in known:
        half = (len(record) - 1) / 2
        logs.append(math.log(max(statistics.variance(record), floor)) - special.digamma(half) + math.log(half))
        noise.append(special.polygamma(1, half))
    shape = _shape(statistics.pvariance(logs) - statistics.fmean(noise))
    return shape, math.exp(statistics.fmean(logs) + special.digamma(shape))


def _shape(excess):
    """The prior's shape whose trigamma is the excess of the log-variances' variance, within its range."""

    def gap(shape):
        return special.polygamma(1, shape) - excess

    return 50.0 if gap(50.0) > 0 else 0.25 if gap(0.25) < 0 else optimize.brentq(gap, 0.25, 50.0, xtol=1e-14)


def _variance(side, pooled, kind):
    pooled = max(pooled, 1e-12)
    if kind == "pooled" or len(side) < 2:
        return pooled
    return max(statistics.variance(side), 1e-4 * pooled)


def _pooled_variance(signals, side):
    known = [s for i in range(len(signals.labels)) if len(s := sides(signals, "margin", i)[side]) > 1]
    return math.fsum(statistics.variance(s) * (len(s) - 1) for s in known) / _pooled_freedom(signals, side)


def _pooled_freedom(signals, side):
    return sum(max(len(sides(signals, "margin", i)[side]) - 1, 0) for i in range(len(signals.labels)))
