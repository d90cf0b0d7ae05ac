"""Privacy accounting: epsilon of many steps on Poisson batches, and the noise for an epsilon.

Two accountants of Opacus bound epsilon from above. Privacy-loss random variables (PRV; Gopi et al. 2021) are close to the
truth. Rényi divergences (RDP; Mironov 2017) are looser, and available if PRV would need too fine a grid. The central limit of
Gaussian DP is refused: it may be below the truth.
"""

import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import exp, expm1, inf, log, log1p, sqrt
from typing import Any

from guestlist._util import extra, number
from guestlist.errors import InputError
from guestlist.privacy.bounds import gaussian_mu

ACCOUNTANTS = ("prv", "rdp")
LARGE = 10.0  # both accountants are used above this epsilon
LARGEST = 500.0  # only RDP is used above this epsilon
NOISE_FOR = 0.01, 1000.0  # range of epsilon for which a noise is searched
LITTLE = 0.5  # noise below which epsilon may be that large
ERROR = 0.01  # maximum error of PRV's epsilon
PRECISION = 0.01  # precision of the search for the noise, as a share of epsilon
LOOKS = 10  # maximum number of accountant calls in nearly every search
# Margin of a narrow grid beyond epsilon at a smaller delta, and orders of the Rényi divergences that bound that epsilon.
BEYOND = 0.1
ORDERS = (1.5, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 128, 256, 512, 1024, 2048)
TINY = 1e-9  # smallest share of epsilon that a search distinguishes from none


@dataclass(frozen=True)
class Privacy:
    """Guarantee of differential privacy, and its assumptions.

    Attributes:
        epsilon, delta: Parameters of the whole training.
        accountant: Method that bounds epsilon from above.
        noise: Standard deviation of the noise in multiples of ``clip``.
        clip: Maximum norm of each record's gradient.
        rate: Probability that a record is in a batch, independently of the others.
        steps: Number of batches.
        unit: Unit of protection.
        neighbours: Neighbouring data sets; the number of records is public.
        sampler: Sampling of batches.

    Examples:
        >>> guarantee = gl.defences.DpSgd(noise=1.0, rate=0.1, epochs=5).privacy(delta=1e-5)
        >>> round(guarantee.epsilon, 2), guarantee.steps, guarantee.unit
        (5.16, 50, 'one record')
    """

    epsilon: float
    delta: float
    accountant: str
    noise: float
    clip: float
    rate: float
    steps: int
    unit: str = "one record"
    neighbours: str = "one record more or less"
    sampler: str = "Poisson: each record by itself"


def epsilon_of(noise: float, *, rate: float, steps: int, delta: float = 1e-5, accountant: str = "prv") -> float:
    """Return the epsilon of a training: the accountant's bound, or the smaller of two bounds if it is large.

    It needs the extra ``dp``.

    Args:
        noise: Standard deviation in multiples of the clipping norm; 0 has no guarantee.
        rate: Probability that a record is in a batch.
        steps: Number of batches.
        delta: Delta of the guarantee.
        accountant: ``prv`` or ``rdp``.

    Returns:
        Epsilon; infinite without noise.

    Raises:
        ValueError: If the accountant is unknown, or a number is out of range.
        InputError: If Opacus, the extra ``dp``, is not installed.

    Examples:
        >>> round(gl.privacy.epsilon_of(1.0, rate=0.1, steps=50), 3)
        5.159
        >>> round(gl.privacy.epsilon_of(1.0, rate=0.1, steps=50, accountant="rdp"), 3)
        5.881
    """
    if accountant not in ACCOUNTANTS:
        why = "there is no such accountant"
        if accountant == "gdp":
            why = "its central limit may underestimate epsilon"
        raise ValueError(f"Expected accountant={accountant!r} to be 'prv' or 'rdp': {why}.")
    if not noise >= 0 or not 0 < rate <= 1 or steps < 1 or not 0 < delta < 1:
        raise ValueError(
            f"Expected noise={noise} of 0 or more, rate={rate} in (0, 1], steps={steps} of 1 or more and delta={delta} in (0, 1)."
        )
    if noise == 0:
        return inf
    return _epsilon(float(noise), float(rate), int(steps), float(delta), accountant)


def noise_for(
    epsilon: float, *, rate: float, steps: int, delta: float = 1e-5, progress: Callable[..., Iterable] | None = None
) -> float:
    """Return the least noise, to 1% of epsilon, with which training spends at most ``epsilon``.

    It needs the extra ``dp``.

    Args:
        epsilon: Epsilon of the guarantee.
        rate, steps, delta: As for :func:`epsilon_of`.
        progress: Function that wraps the calls of the accountant, with ``total=``; the last may take seconds for a tiny
            epsilon. None shows nothing.

    Returns:
        Standard deviation in multiples of the clipping norm.

    Raises:
        ValueError: If epsilon is outside the range of the search.
        InputError: If delta is so large that no noise is needed, or the extra ``dp`` is not installed.

    Examples:
        >>> noise = gl.privacy.noise_for(5.2, rate=0.1, steps=50)
        >>> 0.98 < noise < 1.0
        True
    """
    number("epsilon", epsilon, *NOISE_FOR, ends="[]")
    if 1 - (1 - rate) ** steps <= delta:
        raise InputError(
            f"A record is sampled with a probability below delta={delta}, so no noise is needed. Use a smaller delta."
        )
    key = float(epsilon), float(rate), int(steps), float(delta)
    if key not in _CACHE:
        looks = _candidates(*key)
        *_, _CACHE[key] = progress(looks, total=LOOKS) if progress else looks
    return _CACHE[key]


_CACHE: dict[tuple[float, float, int, float], float] = {}  # a search takes seconds and is often repeated


@lru_cache(maxsize=1024)
def _epsilon(noise: float, rate: float, steps: int, delta: float, accountant: str) -> float:
    if accountant == "rdp":
        return _by_rdp(noise, rate, steps, delta)
    by_rdp = _by_rdp(noise, rate, steps, delta) if noise < LITTLE else inf
    if LARGEST < by_rdp < inf:
        return by_rdp  # PRV's grid would not fit into memory
    by_prv = _by_prv(noise, rate, steps, delta)
    if by_prv <= LARGE:
        return by_prv
    return min(by_prv, _by_rdp(noise, rate, steps, delta))


def _candidates(epsilon: float, rate: float, steps: int, delta: float) -> Iterator[float]:
    """Yield the noises that a search tries; the last is the result.

    A fine grid bounds tightly and is slow, most of all for a small epsilon. A coarse grid is fast, and nearly as close to the
    truth if its error is subtracted. The coarse grid therefore finds where to evaluate the fine one, once or twice.
    """
    # The central limit gives the first noise, which may be too small or too large (Dong et al. 2022).
    noise = max(log1p(gaussian_mu(epsilon, delta) ** 2 / (rate**2 * steps)) ** -0.5, 0.05)
    if epsilon <= LARGE:
        margin = _error(epsilon + ERROR)  # error of the fine grid
        for tried in _search(
            noise, lambda candidate: (_roughly(candidate, rate, steps, delta, epsilon / 10) + margin) / epsilon
        ):
            noise = tried
            yield noise
    yield from _search(noise, lambda candidate: _epsilon(candidate, rate, steps, delta, "prv") / epsilon)


def _search(noise: float, spent: Callable[[float], float]) -> Iterator[float]:
    """Yield the noises that are tried; the last spends the budget, or slightly less.

    Epsilon is nearly proportional to the inverse of the noise.

    Args:
        noise: First noise to try.
        spent: Function from the noise to the share of the budget that it spends.
    """
    low = 0.0
    high = inf
    below = above = 0.0  # logarithms of the shares of the budget that the two ends spend
    aim = -PRECISION / 4  # middle of the accepted range
    while log(high / low if low else inf) > 1e-4:
        share = spent(noise)
        yield noise
        if share <= 1 <= (1 + PRECISION / 2) * share:
            return
        beyond = log(max(share, TINY))
        if share <= 1:
            high = noise
            below = beyond
        else:
            low = noise
            above = beyond
        if low and high < inf:
            fraction = min(max((aim - above) / (below - above), 0.05), 0.95)
            noise = low * (high / low) ** fraction
        else:
            noise *= exp(min(max(beyond - aim, -1.5), 1.5))
        if noise < 1e-3:
            raise InputError(
                "This epsilon is so large that almost no noise is needed. Use non-private training instead."
            )
    yield high


def _roughly(noise: float, rate: float, steps: int, delta: float, error: float) -> float:
    """Return epsilon of a grid with that error, minus the error: close to the truth, but not a bound."""
    return max(_accountant_epsilon(_on_a_narrow_grid(), noise, rate, steps, delta, eps_error=error) - error, 0.0)


def _by_prv(noise: float, rate: float, steps: int, delta: float) -> float:
    """Return PRV's bound with an error that is a small share of epsilon."""
    first = _accountant_epsilon(_opacus().PRVAccountant(), noise, rate, steps, delta)
    error = _error(first)
    if error >= ERROR:
        return first
    return _accountant_epsilon(_on_a_narrow_grid(), noise, rate, steps, delta, eps_error=error)


def _on_a_narrow_grid():
    """Return the accountant with the narrowest sufficient grid.

    The probability beyond the grid must be at most the error of delta. If Y is the privacy loss, delta(e) is at least
    (1 - exp(-t)) P[Y > e + t] for every t > 0, so a bound on delta at e bounds the probability beyond e + t. Opacus takes
    t = 3 for every epsilon, and for a tiny one nearly all of its grid is empty. Here t is small, and delta smaller by that
    factor.
    """
    _opacus()
    from opacus.accountants import PRVAccountant
    from opacus.accountants.analysis.prv import Domain

    class Narrow(PRVAccountant):
        def _get_domain(self, prvs, num_self_compositions, eps_error, delta_error):
            (steps,) = num_self_compositions
            (prv,) = prvs
            within = delta_error * -expm1(-BEYOND) / 2  # half of it for each tail
            widest = max(
                _by_rdp(prv.noise_multiplier, prv.sample_rate, many, within / (8 * parts), alphas=ORDERS)
                for many, parts in ((steps, 1), (1, steps))
            )
            mesh = eps_error / sqrt(steps * log(12 / delta_error) / 2)
            end = widest + eps_error + BEYOND
            return Domain.create_aligned(-end, end, mesh)

    return Narrow()


def _error(first: float) -> float:
    """Return the error for a second bound, given the first bound, whose error is ``ERROR``."""
    return min(PRECISION / 4 * max(first, 0.02), ERROR)


def _by_rdp(noise: float, rate: float, steps: int, delta: float, **options) -> float:
    return _accountant_epsilon(_opacus().RDPAccountant(), noise, rate, steps, delta, **options)


def _accountant_epsilon(accountant, noise: float, rate: float, steps: int, delta: float, **options) -> float:
    accountant.history = [(noise, rate, steps)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "the optimal order is the largest": the bound is still valid
        return float(accountant.get_epsilon(delta, **options))


def _opacus() -> Any:
    return extra("opacus.accountants", "Computing epsilon of differentially private training")
