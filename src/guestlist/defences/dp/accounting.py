"""What training with noise spends: epsilon of many steps on Poisson batches, and the noise for an epsilon.

Two accountants of Opacus bound epsilon from above. Privacy-loss random variables (PRV; Gopi et al. 2021) are close to the
truth; Rényi divergences (RDP; Mironov 2017) are looser, and still at hand where the first would need too fine a grid. The
central limit of Gaussian DP is refused: it may lie below the truth.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import exp, expm1, inf, log, log1p, sqrt
from typing import Any

from guestlist.errors import InputError
from guestlist.extras import extra
from guestlist.privacy.bounds import gaussian_mu

ACCOUNTANTS = ("prv", "rdp")
LARGE, LARGEST = 10.0, 500.0  # beyond the first epsilon both accountants are asked, beyond the second RDP alone
NOISE_FOR = 0.01, 1000.0  # epsilons for which a noise is looked for
LITTLE = 0.5  # noise, with which epsilon may be as large as that
ERROR = 0.01  # of PRV's epsilon, unless it is asked for less
PRECISION = 0.01  # of the noise that is searched for, as a share of epsilon
LOOKS = 10  # at the accountant, that a search takes at the most, nearly always
# Of a narrow grid: by how much it is wider than epsilon at a smaller delta, and orders of the Rényi divergences that bound that.
BEYOND = 0.1
ORDERS = (1.5, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 128, 256, 512, 1024, 2048)
TINY = 1e-9  # the share of epsilon that counts as spent where none is


@dataclass(frozen=True)
class Privacy:
    """What is promised, and all that the promise rests on.

    Args:
        epsilon, delta: of the whole training.
        accountant: that bounds epsilon from above.
        noise: standard deviation of the noise in multiples of ``clip``.
        clip: norm to which each record's gradient is cut.
        rate: probability with which a record is in a batch, each record by itself.
        steps: batches in all.
        unit: what is protected.
        neighbours: data sets that are to be hard to tell apart; the number of records counts as known.
        sampler: how batches are drawn.
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
    """Epsilon of so many steps: the smaller of two bounds where the first is large, the accountant's own otherwise.

    Args:
        noise: standard deviation in multiples of the clipping norm; 0 promises nothing.
        rate: probability with which a record is in a batch.
        accountant: ``prv`` or ``rdp``.

    >>> round(epsilon_of(1.0, rate=0.1, steps=50), 3), round(epsilon_of(1.0, rate=0.1, steps=50, accountant="rdp"), 3)
    (5.159, 5.881)
    """
    if accountant not in ACCOUNTANTS:
        said = "its central limit may lie below the truth" if accountant == "gdp" else "there is no such accountant"
        raise ValueError(f"Expected accountant={accountant!r} to be 'prv' or 'rdp': {said}.")
    if not noise >= 0 or not 0 < rate <= 1 or steps < 1 or not 0 < delta < 1:
        raise ValueError(
            f"Expected noise={noise} of 0 or more, rate={rate} in (0, 1], steps={steps} of 1 or more and delta={delta} in (0, 1)."
        )
    return inf if noise == 0 else _epsilon(float(noise), float(rate), int(steps), float(delta), accountant)


def noise_for(
    epsilon: float, *, rate: float, steps: int, delta: float = 1e-5, progress: Callable[..., Iterable] | None = None
) -> float:
    """The least noise, to 1 % of epsilon, with which training spends no more than ``epsilon``.

    Args:
        progress: wraps the looks at the accountant, the last of which may take seconds for a tiny epsilon, and takes ``total=``.
    """
    low, high = NOISE_FOR
    if not low <= epsilon <= high:
        raise ValueError(f"Expected epsilon={epsilon} in [{low:g}, {high:g}].")
    if 1 - (1 - rate) ** steps <= delta:
        raise InputError(
            f"A record is looked at with a probability below delta={delta}: no noise is needed. Give a smaller one."
        )
    asked = float(epsilon), float(rate), int(steps), float(delta)
    if asked not in _FOUND:
        looks = _looks(*asked)
        *_, _FOUND[asked] = progress(looks, total=LOOKS) if progress else looks
    return _FOUND[asked]


_FOUND: dict[tuple[float, float, int, float], float] = {}  # a search takes seconds, and is often asked for again


@lru_cache(maxsize=1024)
def _epsilon(noise: float, rate: float, steps: int, delta: float, accountant: str) -> float:
    if accountant == "rdp":
        return _by_rdp(noise, rate, steps, delta)
    by_rdp = _by_rdp(noise, rate, steps, delta) if noise < LITTLE else inf
    if LARGEST < by_rdp < inf:
        return by_rdp  # PRV's grid would not fit into memory
    by_prv = _by_prv(noise, rate, steps, delta)
    return min(by_prv, by_rdp if by_rdp < inf else _by_rdp(noise, rate, steps, delta)) if by_prv > LARGE else by_prv


def _looks(epsilon: float, rate: float, steps: int, delta: float) -> Iterator[float]:
    """Noises that are tried, the last of which is found.

    A fine grid takes long, the longer the smaller epsilon is, and bounds tightly; a coarse one is quick, and nearly as close to
    the truth if its error is taken off. So the coarse one points to where the fine one looks, once or twice.
    """
    noise = _start(epsilon, rate, steps, delta)
    if epsilon <= LARGE:
        more = _error(epsilon + ERROR)  # that the fine one adds
        for tried in _search(noise, lambda one: (_roughly(one, rate, steps, delta, epsilon / 10) + more) / epsilon):
            noise = tried
            yield noise
    yield from _search(noise, lambda one: _epsilon(one, rate, steps, delta, "prv") / epsilon)


def _search(noise: float, spent: Callable[[float], float]) -> Iterator[float]:
    """Noises that are tried, the last of which spends what may be spent, or a little less.

    Epsilon falls with the noise nearly as its inverse.

    Args:
        noise: to begin with.
        spent: noise to what it spends, over what may be spent.
    """
    low, high = 0.0, inf
    below = above = 0.0  # logarithms of what the two ends spend, over what may be spent
    aim = -PRECISION / 4  # the middle of what is near enough
    while log(high / low if low else inf) > 1e-4:
        share = spent(noise)
        yield noise
        if share <= 1 <= (1 + PRECISION / 2) * share:
            return
        beyond = log(max(share, TINY))
        if share <= 1:
            high, below = noise, beyond
        else:
            low, above = noise, beyond
        if low and high < inf:
            place = min(max((aim - above) / (below - above), 0.05), 0.95)
            noise = low * (high / low) ** place
        else:
            noise *= exp(min(max(beyond - aim, -1.5), 1.5))
        if noise < 1e-3:
            raise InputError("Next to no noise spends as much as that: train without.")
    yield high


def _start(epsilon: float, rate: float, steps: int, delta: float) -> float:
    """The noise by the central limit, which may lie on either side of the truth: good enough to begin with (Dong et al. 2022)."""
    mu = gaussian_mu(epsilon, delta)
    return max(log1p(mu**2 / (rate**2 * steps)) ** -0.5, 0.05)


def _roughly(noise: float, rate: float, steps: int, delta: float, error: float) -> float:
    """Epsilon by a grid of that error, which is then taken off: no bound, and near the truth."""
    return max(_asked(_on_a_narrow_grid(), noise, rate, steps, delta, eps_error=error) - error, 0.0)


def _by_prv(noise: float, rate: float, steps: int, delta: float) -> float:
    """The bound is above the truth by up to an error that can be chosen: a small part of what it bounds."""
    first = _asked(_opacus().PRVAccountant(), noise, rate, steps, delta)
    error = _error(first)
    return first if error >= ERROR else _asked(_on_a_narrow_grid(), noise, rate, steps, delta, eps_error=error)


def _on_a_narrow_grid():
    """The accountant, with a grid that is no wider than it must be.

    What lies beyond the grid must have no more probability than delta's error allows for. If Y is the privacy loss, delta(e) is
    at least (1 - exp(-t)) P[Y > e + t] for every t > 0, so a bound on delta at e bounds what lies beyond e + t. Opacus takes
    t = 3, whatever epsilon is, and for a tiny one nearly all of its grid is empty. Here t is
    small, and delta smaller by that factor.
    """
    _opacus()
    from opacus.accountants import PRVAccountant
    from opacus.accountants.analysis.prv import Domain

    class Narrow(PRVAccountant):
        def _get_domain(self, prvs, num_self_compositions, eps_error, delta_error):
            (steps,), (one,) = num_self_compositions, prvs
            within = delta_error * -expm1(-BEYOND) / 2  # half of it on either side
            widest = max(
                _by_rdp(one.noise_multiplier, one.sample_rate, many, within / (8 * parts), alphas=ORDERS)
                for many, parts in ((steps, 1), (1, steps))
            )
            mesh = eps_error / sqrt(steps * log(12 / delta_error) / 2)
            end = widest + eps_error + BEYOND
            return Domain.create_aligned(-end, end, mesh)

    return Narrow()


def _error(first: float) -> float:
    """By how much a bound may be above the truth, where one that may be by ``ERROR`` came first."""
    return min(PRECISION / 4 * max(first, 0.02), ERROR)


def _by_rdp(noise: float, rate: float, steps: int, delta: float, **options) -> float:
    return _asked(_opacus().RDPAccountant(), noise, rate, steps, delta, **options)


def _asked(accountant, noise: float, rate: float, steps: int, delta: float, **options) -> float:
    accountant.history = [(noise, rate, steps)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "the optimal order is the largest": a bound all the same
        return float(accountant.get_epsilon(delta, **options))


def _opacus() -> Any:
    return extra("opacus.accountants", "Computing epsilon of differentially private training")
