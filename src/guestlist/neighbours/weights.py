"""Weight tables: the only difference between one K-NN value and another.

Let the training records be ranked 1, 2, … by distance to a test record, and let ``m`` mark those that
carry its label. Adding record i to a set of others changes the K nearest only by pushing out the K-th
nearest of them, at some rank j > i, or by filling an empty place. The chance that rank j is the one
pushed out does not depend on i, so every value is

    value_i = m_i T(max(i, K)) - sum over j > max(i, K) of w_j m_j
    T(r) = sum over j > r of w_j, plus w_end

and the values differ by w alone. The kernels need w only through its sums, kept here as negative suffix sums:
prefix sums would lose what is small beside the first weights.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import bdtr, gammaln

# What all farther ranks together may add to a value before they are left out: half an ulp of 1.
NEGLIGIBLE = 2.0**-53


@dataclass(frozen=True)
class Weights:
    """Weights of one value for ``n`` training records, as sums over the ranks that follow.

    Args:
        k: neighbours that vote.
        mass: (n + 1,) minus the sum of w_j over j > r, at index r.
        moment: (n + 1,) minus the sum of j w_j over j > r, at index r; ties need it.
        end: the weight of an empty place among the K nearest.
        radius: ranks beyond it change no value by more than ``NEGLIGIBLE``; n where all are needed.
    """

    k: int
    mass: np.ndarray
    moment: np.ndarray
    end: float
    radius: int

    @property
    def n(self) -> int:
        return len(self.mass) - 1


def shapley_weights(n: int, k: int) -> Weights:
    """Weights of the Shapley value: w_j = 1 / (j (j - 1)) beyond rank K, and 1 / max(n, K) at the end."""
    ranks = np.arange(k + 1, n + 1, dtype=np.float64)
    return _weights(n, k, 1 / (ranks * (ranks - 1)), 1 / max(n, k), radius=n)


def banzhaf_weights(n: int, k: int, p: float = 0.5) -> Weights:
    """Weights of the Banzhaf value where each other record is kept with probability ``p``.

    w_j is the chance that rank j is kept and is the K-th nearest kept one, among the n - 1 others, over K.
    """
    w = _kth_kept(n, k, p) / k
    end = _at_most(k - 1, n - 1, p) / k
    return _weights(n, k, w, end, radius=banzhaf_radius(n, k, p))


def loo_weights(n: int, k: int) -> Weights:
    """Weights of leave-one-out: only the (K+1)-th nearest can take the place of a removed record."""
    w = np.zeros(max(n - k, 0))
    w[:1] = 1 / k
    return _weights(n, k, w, 0.0 if n > k else 1 / k, radius=min(n, k + 1))


def banzhaf_radius(n: int, k: int, p: float = 0.5, negligible: float = NEGLIGIBLE) -> int:
    """Nearest records that decide a Banzhaf value up to ``negligible``; n where nothing can be left out.

    Beyond rank R nothing counts unless fewer than K of R - 1 records were kept, and it counts at most 1/K.

    >>> banzhaf_radius(10_000, 5)
    72
    """
    low = min(k, n)
    high = n
    while low < high:
        middle = (low + high) // 2
        if _at_most(k - 1, middle - 1, p) <= negligible * k:
            high = middle
        else:
            low = middle + 1
    return low


def _weights(n: int, k: int, w: np.ndarray, end: float, radius: int) -> Weights:
    """Fill the tables from ``w``, the weights of ranks K+1, …, n; ranks up to K have none."""
    full = np.zeros(n)
    full[k:] = w
    ranks = np.arange(1, n + 1)
    return Weights(
        k=k,
        mass=_minus_suffix_sums(full),
        moment=_minus_suffix_sums(full * ranks),
        end=float(end),
        radius=int(radius),
    )


def _minus_suffix_sums(values: np.ndarray) -> np.ndarray:
    return np.append(-np.cumsum(values[::-1])[::-1], 0.0)


def _kth_kept(n: int, k: int, p: float) -> np.ndarray:
    """(n - k,) chance that the K-th kept record of a sequence is number j - 1, for j = K+1, …, n."""
    steps = np.arange(k + 1, n, dtype=np.float64)
    ratios = (1 - p) * (steps - 1) / (steps - k)
    if k * np.log(p) > -700:
        return np.cumprod(np.append(p**k, ratios))[: max(n - k, 0)]
    # p^K underflows, but the weights in the middle do not; logarithms cost digits, so only here.
    n_kept = np.arange(k, n, dtype=np.float64)
    choose = gammaln(n_kept) - gammaln(k) - gammaln(n_kept - k + 1)
    return np.exp(choose + k * np.log(p) + (n_kept - k) * np.log1p(-p))


def _at_most(successes: int, trials: int, p: float) -> float:
    """Chance of at most so many successes."""
    return 1.0 if successes >= trials else float(bdtr(successes, trials, p))
