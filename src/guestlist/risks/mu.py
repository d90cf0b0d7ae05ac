"""mu: by how many standard deviations training on a record raises the margin that models give it.

If margins are normal with one spread, IN and OUT, the best test of membership of this record has TPR
``Phi(Phi^-1(alpha) + mu)`` at false-positive rate alpha, also below the 1 / references that counting resolves.

The largest of many estimates are large by luck as well. An interval that ignores this covers the records at the top of a list
hardly ever. So how mu is spread over records is learnt from all of them (empirical Bayes), and a record's interval is what
its own references and that spread leave open: such an interval does not care how the record was selected (Dawid 1994).

* The spread over records is a mixture of narrow normals on a grid, with weights by maximum likelihood (Kiefer & Wolfowitz 1956).
* It is learnt from finitely many records: posteriors are averaged over bootstrapped records (Laird & Louis 1987).
* Where there are hardly any records it knows nothing: the weight of a few records per standard error lies everywhere.
* A record's standard deviation is shrunk to those of others, with their number of degrees of freedom (Smyth 2004); given mu, the
  estimate is then noncentral Student-t.
* Margins with heavy tails make standard deviations less certain than normal margins do. Half of a record's references against the
  other half shows by how much, and the degrees of freedom are divided by it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import digamma, ndtr, ndtri, polygamma

from guestlist.arrays.columns import take_columns
from guestlist.arrays.moments import Moments, in_out_moments
from guestlist.arrays.samples import error_of, rows_by_label
from guestlist.attacks.bayes import prior_of
from guestlist.case import Case
from guestlist.risks.bounded import WithInterval

# In standard errors of a typical record: between points of the grid, and of the normals that the mixture is made of.
STEP = 0.25
KERNEL = 0.5
BEYOND = 3.0  # the grid ends so far beyond the largest and the smallest estimate
BIN = 0.1  # records whose estimates are as close as this count as equal when the mixture is fitted
EVERYWHERE = 3.0  # records' worth of weight per standard error
BOOTSTRAPS = 30
ROUNDS = 100
FEWEST_FREEDOM = 3.0  # degrees of freedom that heavy tails leave; below that the estimate has no variance
AT_ONCE = 2**15  # records: more teach nothing about how mu is spread, and would take gigabytes
NODE = 0.02  # standard errors between estimates for which the posterior of many records is computed


@dataclass(frozen=True)
class Effects:
    """(records,) standardised effects of membership, estimated from the references.

    Args:
        estimate: difference of the mean margins, IN and OUT, over the shrunk standard deviation; finite.
        size: its variance, were mu 0, is one over this: 1 / (1 / n_in + 1 / n_out).
        freedom: degrees of freedom of the standard deviation.
    """

    estimate: np.ndarray
    size: np.ndarray
    freedom: np.ndarray

    @property
    def unbiased(self) -> np.ndarray:
        """(records,) the estimates without their bias (Hedges 1981)."""
        return self.estimate * (1 - 3 / (4 * self.freedom - 1))

    @property
    def error(self) -> np.ndarray:
        """(records,) standard errors of the unbiased estimates, were margins normal (Hedges 1981)."""
        with np.errstate(divide="ignore"):  # no model on one side: the estimate is NaN, and so is its error
            return np.sqrt(1 / self.size + self.unbiased**2 / (2 * self.freedom))

    def with_tails(self, excess: float) -> Effects:
        """The same with degrees of freedom for margins with heavier tails than normal ones, see :func:`tail_excess`."""
        return replace(self, freedom=np.maximum(self.freedom / excess, np.minimum(self.freedom, FEWEST_FREEDOM)))

    def take(self, records: np.ndarray | slice) -> Effects:
        return Effects(self.estimate[records], self.size[records], self.freedom[records])


def mu(case: Case) -> WithInterval:
    """(records,) mu of each record; NaN where no reference trained, or none did not train, on it."""
    found = effects(case.view.inside("margin"), case.view.outside("margin"))
    some = None if len(found.estimate) <= AT_ONCE else np.arange(len(found.estimate))[:: len(found.estimate) // AT_ONCE]
    member = case.view.reference_member
    excess = tail_excess(case.view.reference("margin", some), member if some is None else take_columns(member, some))
    return bounded_mu(found.with_tails(excess))


def tail_excess(margin: np.ndarray, member: np.ndarray) -> float:
    """Return the variance of records' log-variances relative to that of normal margins, at least 1.

    Each record's references are split in two halves. Both estimate the same variance, so the difference of its logarithms is
    noise only, whatever the variances of different records are. Normal margins give 1, Student's t with 3 degrees of freedom 3.4.

    Args:
        margin: (references, records) margins; NaN where a model was not queried.
        member: (references, records) true where a model trained on a record.
    """
    halves = []
    for first in (0, 1):
        inside, outside = in_out_moments(margin, member, slice(first, None, 2))
        freedom = np.maximum(inside.count - 1, 0) + np.maximum(outside.count - 1, 0)
        halves.append((inside.squares + outside.squares, freedom))
    (squares, freedom), (other_squares, other_freedom) = halves
    # Margins in steps often have no variance in one half, and then no logarithm.
    known = (freedom > 1) & (other_freedom > 1) & (squares > 0) & (other_squares > 0)
    if not known.any():
        return 1.0
    difference = _log_variance(squares[known], freedom[known]) - _log_variance(
        other_squares[known], other_freedom[known]
    )
    normal = polygamma(1, freedom[known] / 2) + polygamma(1, other_freedom[known] / 2)
    return max(1.0, float(np.square(difference).mean() / normal.mean()))


def _log_variance(squares: np.ndarray, freedom: np.ndarray) -> np.ndarray:
    """Unbiased for normal values."""
    return np.log(squares / 2) - digamma(freedom / 2)


def tpr_of_mu(values: np.ndarray, alpha: float) -> np.ndarray:
    """TPR of the best test at false-positive rate ``alpha`` of a record's membership, for each mu.

    >>> tpr_of_mu(np.array([0.0, 2.0]), 0.01).round(3)
    array([0.01 , 0.372])
    """
    return ndtr(ndtri(alpha) + np.asarray(values))


def effects(inside: Moments, outside: Moments) -> Effects:
    """Standardised differences; NaN where one side has no model."""
    both = (inside.count > 0) & (outside.count > 0)
    spare = np.maximum(inside.count + outside.count - 2, 0)
    squares = inside.squares + outside.squares
    prior = prior_of(Moments(np.where(both, spare + 1, 0), inside.mean, squares))
    freedom = 2 * prior.shape + spare
    with np.errstate(divide="ignore", invalid="ignore"):  # no model on one side: NaN
        size = 1 / (1 / inside.count + 1 / outside.count)
        estimate = (inside.mean - outside.mean) / np.sqrt((2 * prior.scale + squares) / freedom)
    return Effects(np.where(both, estimate, np.nan), size, freedom)


def bounded_mu(found: Effects, *, confidence: float = 0.95, seed: int = 0) -> WithInterval:
    """Posterior median of mu and its interval, which holds for records selected by their estimates as well.

    Args:
        seed: of the bootstrap.
    """
    result = WithInterval(*np.full((3, len(found.estimate)), np.nan))
    known, rng = np.flatnonzero(~np.isnan(found.estimate)), np.random.default_rng(seed)
    if not len(known):
        return result
    grid, tail = _Grid.over(found.take(known)), error_of(confidence) / 2
    # How mu is spread, some ten thousand records teach; what it makes of each record is then told block by block.
    taught = np.arange(len(known)) if len(known) <= AT_ONCE else np.sort(rng.permutation(len(known))[:AT_ONCE])
    likelihood = likelihoods(found.take(known[taught]), grid.mu)
    spreads = _spreads(likelihood, grid, grid.bins[taught], rng)
    shares = (0.5, tail, 1 - tail)
    if len(known) <= AT_ONCE:
        posterior = _posterior(likelihood, spreads)
        for part, share in zip(result, shares, strict=True):
            part[known] = grid.quantile(posterior, share)
        return result
    for block, nodes, own in _nodes(found, known):
        ends = np.concatenate(
            [
                [grid.quantile(posterior, share) for share in shares]
                for start in range(0, len(nodes.estimate), AT_ONCE)
                for some in [nodes.take(slice(start, start + AT_ONCE))]
                for posterior in [_posterior(likelihoods(some, grid.mu), spreads)]
            ],
            axis=1,
        )
        for part, end in zip(result, ends, strict=True):
            part[block] = np.interp(own, nodes.estimate, end)
    return result


def _nodes(found: Effects, known: np.ndarray) -> Iterator[tuple[np.ndarray, Effects, np.ndarray]]:
    """Records that have as many references on either side: who they are, estimates that are close to each other and hold all of
    theirs, and theirs.

    Between two estimates that are a small part of a standard error apart, what the posterior reaches is a straight line, to
    a small part of that; to compute it for each of a million records would take a minute.
    """
    (sizes, of_size), (freedoms, of_freedom) = (
        np.unique(values[known], return_inverse=True) for values in (found.size, found.freedom)
    )
    for rows in rows_by_label(of_size * len(freedoms) + of_freedom):
        block, size, freedom = known[rows], sizes[of_size[rows[0]]], freedoms[of_freedom[rows[0]]]
        own = found.estimate[block]
        scale = np.sqrt(2 * freedom)
        ends = scale * np.arcsinh(np.array([own.min(), own.max()]) * np.sqrt(size) / scale)
        place = np.append(np.arange(ends[0], ends[1], NODE), ends[1])
        at = np.sinh(place / scale) * scale / np.sqrt(size)
        at[0], at[-1] = own.min(), own.max()
        yield block, Effects(at, np.full(len(at), size), np.full(len(at), freedom)), own


def likelihoods(found: Effects, at: np.ndarray) -> np.ndarray:
    """(records, values) likelihood of each mu, the largest of a record being 1.

    The density of noncentral t is a factor times the integral of x^f exp(-(x - a)^2 / 2), here by Laplace's method; as a
    function of mu that is right to 0.3 % with 10 degrees of freedom.
    """
    root = np.sqrt(found.size)[:, None]
    t, shift, f = found.estimate[:, None] * root, root * at, found.freedom[:, None]
    a = shift * t / np.sqrt(f + t**2)
    x = (a + np.sqrt(a**2 + 4 * f)) / 2
    log = -f * shift**2 / (2 * (f + t**2)) + f * np.log(x) - (x - a) ** 2 / 2 - np.log1p(f / x**2) / 2
    return np.exp(log - log.max(axis=1, keepdims=True))


@dataclass(frozen=True)
class _Grid:
    """Values of mu that are a fraction of a standard error apart, for a typical record.

    The variance of an estimate is 1 / size + mu^2 / (2 freedom), so asinh makes it 1 everywhere.
    """

    place: np.ndarray
    bins: np.ndarray
    size: float
    freedom: float

    @classmethod
    def over(cls, found: Effects) -> _Grid:
        size, freedom = float(np.median(found.size)), float(np.median(found.freedom))
        scale = np.sqrt(2 * freedom)
        own = scale * np.arcsinh(found.unbiased * np.sqrt(size) / scale)
        place = np.arange(own.min() - BEYOND, own.max() + BEYOND + STEP, STEP)
        return cls(place, np.floor(own / BIN), size, freedom)

    @property
    def mu(self) -> np.ndarray:
        return self._mu(self.place)

    def quantile(self, posterior: np.ndarray, share: float) -> np.ndarray:
        """(records,) where the posterior reaches a share, evenly spread around each point of the grid."""
        reached = np.cumsum(posterior, axis=1)
        k, rows = np.argmax(reached >= share, axis=1), np.arange(len(posterior))
        part = 1 - (reached[rows, k] - share) / posterior[rows, k]
        return self._mu(self.place[k] + STEP * (part - 0.5))

    def _mu(self, place: np.ndarray) -> np.ndarray:
        scale = np.sqrt(2 * self.freedom)
        return np.sinh(place / scale) * scale / np.sqrt(self.size)


def _spreads(likelihood: np.ndarray, grid: _Grid, bins: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """(bootstraps, points of the grid) how mu is spread over records, which count as equal within a bin."""
    records = len(likelihood)
    centres = grid.place[:: round(KERNEL / STEP)]
    normals = np.exp(-0.5 * np.square((grid.place - centres[:, None]) / KERNEL))
    normals /= normals.sum(axis=1, keepdims=True)
    _, which, counts = np.unique(bins, return_inverse=True, return_counts=True)
    order = np.argsort(which, kind="stable")
    starts = np.cumsum(counts) - counts
    each = np.add.reduceat((likelihood @ normals.T)[order], starts, axis=0) / counts[:, None]
    drawn = rng.multinomial(records, counts / records, size=BOOTSTRAPS)
    weights = np.full((BOOTSTRAPS, len(centres)), 1 / len(centres))
    for _ in range(ROUNDS):  # EM
        # What was not drawn may be beyond the reach of what was: 0 / 0 counts as 0.
        weights *= (drawn / np.maximum(weights @ each.T, np.finfo(float).tiny)) @ each / records
    spread = records * weights @ normals + EVERYWHERE * STEP
    return spread / spread.sum(axis=1, keepdims=True)


def _posterior(likelihood: np.ndarray, spreads: np.ndarray) -> np.ndarray:
    """(records, points of the grid) posterior, averaged over the bootstraps."""
    found = likelihood * ((1 / (likelihood @ spreads.T)) @ spreads)
    return found / found.sum(axis=1, keepdims=True)
