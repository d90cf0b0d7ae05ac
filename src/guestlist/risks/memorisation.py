"""Memorisation, and mu with its stability: the effect of training on a record on the outputs of models."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.special import digamma, ndtr, ndtri, polygamma

from guestlist._case import Case
from guestlist._kernels import Moments, in_out_moments, rows_by_label, take_columns
from guestlist.attacks import prior_of
from guestlist.metrics import clopper_pearson_lower, clopper_pearson_upper, error_of


class WithInterval(NamedTuple):
    """Values of a risk, and the ends of their intervals; NaN where a record has none.

    Attributes:
        value: (records,) estimates.
        low, high: (records,) ends of the 95% intervals.
    """

    value: np.ndarray
    low: np.ndarray
    high: np.ndarray


def memorisation(case: Case) -> WithInterval:
    """Return (records,) P(correct | trained on it) - P(correct | not), over references (Feldman & Zhang 2020).

    NaN where all references, or none, trained on the record.
    """
    inside = case.view.inside("correct")
    outside = case.view.outside("correct")
    counts = [np.rint(np.nan_to_num(side.mean) * side.count) for side in (inside, outside)]
    return difference_of_shares(counts[0], inside.count, counts[1], outside.count)


def difference_of_shares(
    right: np.ndarray, n: np.ndarray, right_outside: np.ndarray, n_outside: np.ndarray, *, confidence: float = 0.95
) -> WithInterval:
    """Return (records,) differences of shares, as ``metrics.proportion_difference`` does for one record.

    The interval is for a record that was named beforehand; among the largest of many values it covers less.
    """
    error = error_of(confidence) / 2
    with np.errstate(invalid="ignore"):  # 0 / 0 is NaN: no reference applies
        a = right / n
        b = right_outside / n_outside
    below, above = _bounds(right, np.maximum(n, 1), error)
    below_outside, above_outside = _bounds(right_outside, np.maximum(n_outside, 1), error)
    low = np.hypot(a - below, above_outside - b)
    high = np.hypot(above - a, b - below_outside)
    return WithInterval(a - b, a - b - low, a - b + high)


def _bounds(right: np.ndarray, n: np.ndarray, error: float) -> tuple[np.ndarray, np.ndarray]:
    """Compute Clopper-Pearson bounds, once for all records with equal counts."""
    # Pairs are coded as one number, since sorting rows of a table takes ten times as long.
    base = n.max(initial=0) + 1
    pairs, which = np.unique(right * base + n, return_inverse=True)
    low, high = (end(pairs // base, pairs % base, error) for end in (clopper_pearson_lower, clopper_pearson_upper))
    return low[which], high[which]


# The first four are in standard errors of a typical record.
STEP = 0.25  # distance between points of the grid
KERNEL = 0.5  # standard deviation of the normal components of the mixture
MARGIN = 3.0  # distance of the ends of the grid from the smallest and the largest estimate
BIN = 0.1  # records with estimates within a bin count as equal when the mixture is fitted
UNIFORM_WEIGHT = 3.0  # weight of a uniform component per standard error, in records
BOOTSTRAPS = 30
ROUNDS = 100
MIN_DOF = 3.0  # smallest correction for heavy tails: with fewer degrees of freedom the estimate has no variance
AT_ONCE = 2**15  # records: more add nothing to the estimated distribution of mu, and would take gigabytes
NODE = 0.02  # standard errors between estimates for which the posterior of many records is computed


@dataclass(frozen=True)
class Effects:
    """Standardised effects (records,) of membership, estimated from the references.

    Args:
        estimate: Difference of the mean margins, IN and OUT, over the shrunk standard deviation; finite.
        size: Effective number of models, 1 / (1 / n_in + 1 / n_out); the variance of the estimate is 1 / size if mu is 0.
        dof: Degrees of freedom of the standard deviation.
    """

    estimate: np.ndarray
    size: np.ndarray
    dof: np.ndarray

    @property
    def unbiased(self) -> np.ndarray:
        """Bias-corrected (records,) estimates (Hedges 1981)."""
        return self.estimate * (1 - 3 / (4 * self.dof - 1))

    @property
    def error(self) -> np.ndarray:
        """Standard errors (records,) of the unbiased estimates for normal margins (Hedges 1981)."""
        with np.errstate(divide="ignore"):  # no IN or no OUT models: the estimate is NaN, and so is its error
            return np.sqrt(1 / self.size + self.unbiased**2 / (2 * self.dof))

    def with_tails(self, excess: float) -> "Effects":
        """Reduce the degrees of freedom for margins with heavier tails than normal, see :func:`tail_excess`."""
        return replace(self, dof=np.maximum(self.dof / excess, np.minimum(self.dof, MIN_DOF)))

    def take(self, records: np.ndarray | slice) -> "Effects":
        return Effects(self.estimate[records], self.size[records], self.dof[records])


def mu(case: Case) -> WithInterval:
    """Return (records,) mu of each record; NaN where all references, or none, trained on it."""
    estimates = effects(case.view.inside("margin"), case.view.outside("margin"))
    records = len(estimates.estimate)
    member = case.view.reference_member
    sample = None
    if records > AT_ONCE:
        sample = np.arange(records)[:: records // AT_ONCE]
        member = take_columns(member, sample)
    excess = tail_excess(case.view.reference("margin", sample), member)
    return bounded_mu(estimates.with_tails(excess))


def tail_excess(margin: np.ndarray, member: np.ndarray) -> float:
    """Return the variance of records' log-variances relative to that of normal margins, at least 1.

    Each record's references are split in two halves. Both estimate the same variance, so the difference of its logarithms is
    noise only, for any variances of different records. Normal margins give 1, Student's t with 3 degrees of freedom
    3.4.

    Args:
        margin: (references, records) margins; NaN where a model was not queried.
        member: (references, records) true where a model trained on a record.
    """
    halves = []
    for first in (0, 1):
        inside, outside = in_out_moments(margin, member, slice(first, None, 2))
        dof = np.maximum(inside.count - 1, 0) + np.maximum(outside.count - 1, 0)
        halves.append((inside.squares + outside.squares, dof))
    (squares, dof), (other_squares, other_dof) = halves
    # Discrete margins often have no variance in one half of the references, and then no logarithm.
    known = (dof > 1) & (other_dof > 1) & (squares > 0) & (other_squares > 0)
    if not known.any():
        return 1.0
    difference = _log_variance(squares[known], dof[known]) - _log_variance(other_squares[known], other_dof[known])
    normal = polygamma(1, dof[known] / 2) + polygamma(1, other_dof[known] / 2)
    return max(1.0, float(np.square(difference).mean() / normal.mean()))


def _log_variance(squares: np.ndarray, dof: np.ndarray) -> np.ndarray:
    """Estimate log-variances without bias for normal values."""
    return np.log(squares / 2) - digamma(dof / 2)


def tpr_of_mu(values: np.ndarray, alpha: float) -> np.ndarray:
    """Return the TPR of the best test of a record's membership at false positive rate ``alpha``, for each mu.

    Args:
        values: mu of records.
        alpha: False positive rate, in (0, 1).

    Returns:
        Φ(Φ⁻¹(alpha) + mu), shaped as ``values``.

    Examples:
        >>> gl.risks.tpr_of_mu(np.array([0.0, 2.0]), 0.01).round(3).tolist()
        [0.01, 0.372]
    """
    return ndtr(ndtri(alpha) + np.asarray(values))


def effects(inside: Moments, outside: Moments) -> Effects:
    """Compute standardised differences; NaN without IN or without OUT models."""
    both = (inside.count > 0) & (outside.count > 0)
    spare = np.maximum(inside.count + outside.count - 2, 0)
    squares = inside.squares + outside.squares
    prior = prior_of(Moments(np.where(both, spare + 1, 0), inside.mean, squares))
    dof = 2 * prior.shape + spare
    with np.errstate(divide="ignore", invalid="ignore"):  # NaN without IN or OUT models
        size = 1 / (1 / inside.count + 1 / outside.count)
        estimate = (inside.mean - outside.mean) / np.sqrt((2 * prior.scale + squares) / dof)
    return Effects(np.where(both, estimate, np.nan), size, dof)


def bounded_mu(estimates: Effects, *, confidence: float = 0.95, seed: int = 0) -> WithInterval:
    """Compute the posterior median of mu and its interval.

    The interval is also valid for records selected by their estimates.

    Args:
        estimates: Effects of the records.
        confidence: Level of the interval.
        seed: Random seed of the bootstrap.
    """
    result = WithInterval(*np.full((3, len(estimates.estimate)), np.nan))
    known = np.flatnonzero(~np.isnan(estimates.estimate))
    rng = np.random.default_rng(seed)
    if not len(known):
        return result
    grid = _Grid.over(estimates.take(known))
    tail = error_of(confidence) / 2
    # Some ten thousand records suffice to estimate the distribution of mu; posteriors are then computed block by block.
    sample = np.arange(len(known))
    if len(known) > AT_ONCE:
        sample = np.sort(rng.permutation(len(known))[:AT_ONCE])
    likelihood = likelihoods(estimates.take(known[sample]), grid.mu)
    priors = _priors(likelihood, grid, grid.bins[sample], rng)
    shares = (0.5, tail, 1 - tail)
    if len(known) <= AT_ONCE:
        posterior = _posterior(likelihood, priors)
        for part, share in zip(result, shares, strict=True):
            part[known] = grid.quantile(posterior, share)
        return result
    for block, nodes, block_estimates in _nodes(estimates, known):
        ends = np.concatenate(
            [
                [grid.quantile(posterior, share) for share in shares]
                for start in range(0, len(nodes.estimate), AT_ONCE)
                for some in [nodes.take(slice(start, start + AT_ONCE))]
                for posterior in [_posterior(likelihoods(some, grid.mu), priors)]
            ],
            axis=1,
        )
        for part, end in zip(result, ends, strict=True):
            part[block] = np.interp(block_estimates, nodes.estimate, end)
    return result


def _nodes(estimates: Effects, known: np.ndarray) -> Iterator[tuple[np.ndarray, Effects, np.ndarray]]:
    """Yield blocks of records with equal numbers of references.

    A block has the indices of its records, a grid of estimates that spans theirs, and their estimates.

    Between two nodes of the grid, which are a small part of a standard error apart, the quantiles of the posterior are nearly
    linear; to compute them for each of a million records would take a minute.
    """
    (sizes, of_size), (dofs, of_dof) = (
        np.unique(values[known], return_inverse=True) for values in (estimates.size, estimates.dof)
    )
    for rows in rows_by_label(of_size * len(dofs) + of_dof):
        block = known[rows]
        size = sizes[of_size[rows[0]]]
        dof = dofs[of_dof[rows[0]]]
        block_estimates = estimates.estimate[block]
        scale = np.sqrt(2 * dof)
        ends = scale * np.arcsinh(np.array([block_estimates.min(), block_estimates.max()]) * np.sqrt(size) / scale)
        points = np.append(np.arange(ends[0], ends[1], NODE), ends[1])
        at = np.sinh(points / scale) * scale / np.sqrt(size)
        at[0] = block_estimates.min()
        at[-1] = block_estimates.max()
        yield block, Effects(at, np.full(len(at), size), np.full(len(at), dof)), block_estimates


def likelihoods(estimates: Effects, at: np.ndarray) -> np.ndarray:
    """Compute (records, values) likelihoods of each mu, relative to the largest of a record.

    The density of noncentral t is a factor times the integral of x^f exp(-(x - a)^2 / 2), here by Laplace's method; as
    a function of mu this is accurate to 0.3 % with 10 degrees of freedom.
    """
    root = np.sqrt(estimates.size)[:, None]
    t = estimates.estimate[:, None] * root
    shift = root * at
    f = estimates.dof[:, None]
    a = shift * t / np.sqrt(f + t**2)
    x = (a + np.sqrt(a**2 + 4 * f)) / 2
    log = -f * shift**2 / (2 * (f + t**2)) + f * np.log(x) - (x - a) ** 2 / 2 - np.log1p(f / x**2) / 2
    return np.exp(log - log.max(axis=1, keepdims=True))


@dataclass(frozen=True)
class _Grid:
    """Values of mu that are a fraction of a standard error apart, for a typical record.

    The variance of an estimate is 1 / size + mu^2 / (2 dof), so asinh makes it 1 everywhere.
    """

    points: np.ndarray
    bins: np.ndarray
    size: float
    dof: float

    @classmethod
    def over(cls, estimates: Effects) -> "_Grid":
        size = float(np.median(estimates.size))
        dof = float(np.median(estimates.dof))
        scale = np.sqrt(2 * dof)
        scaled = scale * np.arcsinh(estimates.unbiased * np.sqrt(size) / scale)
        points = np.arange(scaled.min() - MARGIN, scaled.max() + MARGIN + STEP, STEP)
        return cls(points, np.floor(scaled / BIN), size, dof)

    @property
    def mu(self) -> np.ndarray:
        return self._mu(self.points)

    def quantile(self, posterior: np.ndarray, share: float) -> np.ndarray:
        """Return (records,) quantiles of the posterior, uniform around each point of the grid."""
        reached = np.cumsum(posterior, axis=1)
        k = np.argmax(reached >= share, axis=1)
        rows = np.arange(len(posterior))
        part = 1 - (reached[rows, k] - share) / posterior[rows, k]
        return self._mu(self.points[k] + STEP * (part - 0.5))

    def _mu(self, points: np.ndarray) -> np.ndarray:
        scale = np.sqrt(2 * self.dof)
        return np.sinh(points / scale) * scale / np.sqrt(self.size)


def _priors(likelihood: np.ndarray, grid: _Grid, bins: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return (bootstraps, points of the grid) distributions of mu over records, which count as equal within a bin."""
    records = len(likelihood)
    centres = grid.points[:: round(KERNEL / STEP)]
    normals = np.exp(-0.5 * np.square((grid.points - centres[:, None]) / KERNEL))
    normals /= normals.sum(axis=1, keepdims=True)
    _, which, counts = np.unique(bins, return_inverse=True, return_counts=True)
    order = np.argsort(which, kind="stable")
    starts = np.cumsum(counts) - counts
    each = np.add.reduceat((likelihood @ normals.T)[order], starts, axis=0) / counts[:, None]
    drawn = rng.multinomial(records, counts / records, size=BOOTSTRAPS)
    weights = np.full((BOOTSTRAPS, len(centres)), 1 / len(centres))
    for _ in range(ROUNDS):  # EM
        # A record that was not drawn may have no likelihood under the drawn ones: 0 / 0 counts as 0.
        weights *= (drawn / np.maximum(weights @ each.T, np.finfo(float).tiny)) @ each / records
    mass = records * weights @ normals + UNIFORM_WEIGHT * STEP
    return mass / mass.sum(axis=1, keepdims=True)


def _posterior(likelihood: np.ndarray, priors: np.ndarray) -> np.ndarray:
    """Compute the (records, points of the grid) posterior, averaged over the bootstraps."""
    mass = likelihood * ((1 / (likelihood @ priors.T)) @ priors)
    return mass / mass.sum(axis=1, keepdims=True)


@dataclass(frozen=True)
class Stability:
    """Stability of mu, as (records,) arrays; NaN where all references, or none, trained on the record.

    Attributes:
        estimate: Unbiased mu of the record, without shrinkage towards other records.
        error: Its standard error for normal margins.
        halves: Difference of the estimates of two halves of the references, in standard errors.
    """

    estimate: np.ndarray
    error: np.ndarray
    halves: np.ndarray


def stability(case: Case) -> Stability:
    """Estimate the stability of mu over the references of a case.

    Args:
        case: An audit with reference models.

    Returns:
        Estimates, standard errors and differences of halves.
    """
    overall = effects(case.view.inside("margin"), case.view.outside("margin"))
    margin = case.view.reference("margin")
    member = case.view.reference_member
    first, second = (effects(*in_out_moments(margin, member, slice(k, None, 2))) for k in (0, 1))
    return Stability(
        estimate=overall.unbiased,
        error=overall.error,
        halves=standardised_difference(first.unbiased, first.error, second.unbiased, second.error),
    )


def standardised_difference(
    first: np.ndarray, first_error: np.ndarray, second: np.ndarray, second_error: np.ndarray
) -> np.ndarray:
    """Return (records,) second minus first estimate in standard errors; NaN if one is missing.

    Args:
        first, first_error: (records,) estimates and their standard errors.
        second, second_error: (records,) the same for the second estimate.

    Returns:
        (records,) differences.
    """
    with np.errstate(invalid="ignore"):
        return (second - first) / np.hypot(first_error, second_error)
