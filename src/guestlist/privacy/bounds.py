"""Differential-privacy claims, and the bounds they imply for any attack."""

import math
from dataclasses import dataclass
from functools import lru_cache
from math import expm1

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtr, ndtri

from guestlist._util import flag, integer, number


@dataclass(frozen=True)
class Claim:
    """An (epsilon, delta)-differential-privacy claim.

    The claim covers adding or removing one record, and everything that training releases; see ``group_privacy`` for
    several records.

    Attributes:
        epsilon: Privacy loss; 0 or more.
        delta: Probability with which the bound may fail.
        gaussian: Whether the claim is the whole trade-off curve of Gaussian noise, on which epsilon and delta are one
            point. It allows less than (epsilon, delta) only.

    Raises:
        ValueError: If a number is out of range, or delta is 0 for Gaussian noise.

    Examples:
        >>> claim = gl.Claim(epsilon=1, delta=1e-5)
        >>> round(gl.privacy.allowed_advantage(claim), 3)  # largest TPR minus FPR of any attack
        0.462
    """

    epsilon: float
    delta: float = 1e-5
    gaussian: bool = False

    def __post_init__(self):
        number("epsilon", self.epsilon, 0, math.inf, "[)")
        number("delta", self.delta, 0, 1, "[)")
        flag("gaussian", self.gaussian)
        if self.gaussian and self.delta == 0:
            raise ValueError("Expected delta=0 to be above 0: Gaussian noise gives no guarantee at delta 0.")


LARGEST_MU = 1000.0


def yeom(epsilon: float, delta: float = 0.0) -> float:
    """Return the largest advantage by Yeom et al. (2018): exp(epsilon) − 1, plus delta by the definition.

    Args:
        epsilon, delta: Parameters of the guarantee.

    Returns:
        The bound on TPR minus FPR; at most 1, from epsilon = ln 2 on.

    Examples:
        >>> round(gl.privacy.yeom(0.1), 5)
        0.10517
    """
    Claim(epsilon, delta)
    return min(1.0, float(np.expm1(min(epsilon, 1.0))) + delta)  # from ln 2 on the bound is vacuous


def erlingsson(epsilon: float, delta: float = 0.0) -> float:
    """Return the largest advantage by Erlingsson et al. (2019): 1 − exp(−epsilon) (1 − delta).

    Args:
        epsilon, delta: Parameters of the guarantee.

    Returns:
        The bound on TPR minus FPR.

    Examples:
        >>> round(gl.privacy.erlingsson(0.1), 5)
        0.09516
    """
    Claim(epsilon, delta)
    return float(-np.expm1(-epsilon) + delta * np.exp(-epsilon))


def humphries(epsilon: float, delta: float = 0.0) -> float:
    """Return the largest advantage by Humphries et al. (2023), which randomised response reaches.

    It is (exp(epsilon) − 1 + 2 delta) / (exp(epsilon) + 1).

    Args:
        epsilon, delta: Parameters of the guarantee.

    Returns:
        The bound on TPR minus FPR.

    Examples:
        >>> [round(gl.privacy.humphries(epsilon, 1e-5), 5) for epsilon in (0.1, 1, 2)]
        [0.04997, 0.46212, 0.7616]
    """
    Claim(epsilon, delta)
    shrunk = np.exp(-epsilon)
    return float((-np.expm1(-epsilon) + 2 * delta * shrunk) / (1 + shrunk))


def largest_tpr(fpr: np.ndarray | float, epsilon: float, delta: float = 0.0) -> np.ndarray:
    """Return the largest TPR at each FPR under (epsilon, delta)-differential privacy (Kairouz et al. 2015).

    Args:
        fpr: False positive rates, in [0, 1].
        epsilon, delta: Parameters of the guarantee.

    Returns:
        The bounds, shaped as ``fpr``.

    Examples:
        >>> gl.privacy.largest_tpr(np.array([0.01, 0.1]), epsilon=1.0).round(4).tolist()
        [0.0272, 0.2718]
    """
    Claim(epsilon, delta)
    fpr = np.asarray(fpr, dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        few = np.where(fpr > 0, np.exp(epsilon) * fpr, 0.0) + delta
    return np.minimum(np.minimum(few, 1 - np.exp(-epsilon) * (1 - delta - fpr)), 1.0)


def gaussian_tpr(fpr: np.ndarray | float, mu: float) -> np.ndarray:
    """Return the largest TPR at each FPR under mu-Gaussian differential privacy (Dong et al. 2022).

    Args:
        fpr: False positive rates, in [0, 1].
        mu: Parameter of the guarantee; 0 or more.

    Returns:
        The bounds Φ(Φ⁻¹(FPR) + mu), shaped as ``fpr``.

    Examples:
        >>> round(float(gl.privacy.gaussian_tpr(0.01, mu=1.0)), 4)
        0.0924
    """
    return ndtr(ndtri(np.asarray(fpr, dtype=np.float64)) + number("mu", mu, 0, ends="[]"))


def gaussian_delta(epsilon: float, mu: float) -> float:
    """Return the delta with which mu-Gaussian differential privacy is (epsilon, delta)-differential privacy.

    Args:
        epsilon: Epsilon of the guarantee.
        mu: Parameter of Gaussian differential privacy; 0 or more.

    Returns:
        Delta, in [0, 1].

    Examples:
        >>> round(gl.privacy.gaussian_delta(1.0, mu=1.0), 4)
        0.1269
    """
    if number("mu", mu, 0, ends="[]") == 0:
        return 0.0
    # Computed as a difference of logarithms: both terms may be tiny, and exp(epsilon) huge.
    first = float(log_ndtr(-epsilon / mu + mu / 2))
    second = float(epsilon + log_ndtr(-epsilon / mu - mu / 2))
    return float(np.exp(first) * -expm1(min(second - first, 0.0)))


@lru_cache(maxsize=4096)
def gaussian_epsilon(mu: float, delta: float) -> float:
    """Return the epsilon of mu-Gaussian differential privacy at this delta: the inverse of :func:`gaussian_delta`.

    Args:
        mu: Parameter of Gaussian differential privacy; 0 or more.
        delta: Delta of the guarantee, in (0, 1).

    Returns:
        Epsilon; 0 if delta is already large enough.

    Raises:
        ValueError: If delta is not in (0, 1).

    Examples:
        >>> round(gl.privacy.gaussian_epsilon(1, 1e-5), 4), round(gl.privacy.gaussian_epsilon(2, 1e-5), 4)
        (4.3772, 9.9973)
    """
    if not 0 < delta < 1:
        raise ValueError(f"Expected delta={delta} in (0, 1): Gaussian noise gives no guarantee at delta 0.")
    if gaussian_delta(0.0, mu) <= delta:
        return 0.0
    high = 1.0
    while gaussian_delta(high, mu) > delta:
        high *= 2
    return float(brentq(lambda epsilon: gaussian_delta(epsilon, mu) - delta, 0.0, high, xtol=1e-12))


def gaussian_mu(epsilon: float, delta: float) -> float:
    """Return the largest mu that is within (epsilon, delta)-differential privacy.

    Args:
        epsilon, delta: Parameters of the guarantee; delta in (0, 1).

    Returns:
        Mu of Gaussian differential privacy.

    Raises:
        ValueError: If delta is not in (0, 1).

    Examples:
        >>> round(gl.privacy.gaussian_mu(4.3772, 1e-5), 3)
        1.0
    """
    if not 0 < delta < 1:
        raise ValueError(f"Expected delta={delta} in (0, 1): Gaussian noise gives no guarantee at delta 0.")
    if gaussian_delta(epsilon, LARGEST_MU) <= delta:
        return LARGEST_MU
    return float(brentq(lambda mu: gaussian_delta(epsilon, mu) - delta, 0.0, LARGEST_MU, xtol=1e-12))


def group_privacy(epsilon: float, delta: float, size: int) -> Claim:
    """Return the guarantee for several records together, such as all records of one person (Dwork & Roth 2014).

    Epsilon grows by the factor ``size``, delta by 1 + exp(epsilon) + … + exp((size − 1) epsilon). A delta near 1 guarantees
    nothing.

    Args:
        epsilon, delta: Guarantee for one record.
        size: Number of records.

    Returns:
        The claim for ``size`` records.

    Raises:
        ValueError: If ``size`` is less than 1.

    Examples:
        >>> gl.privacy.group_privacy(0.5, 1e-6, size=3).epsilon
        1.5
    """
    Claim(epsilon, delta)
    integer("size", size, 1)
    with np.errstate(over="ignore"):
        factor = float(np.exp(epsilon * np.arange(size)).sum())
    return Claim(size * epsilon, min(delta * factor if delta else 0.0, np.nextafter(1.0, 0.0)))


def about_together(claim: Claim, size: int) -> Claim:
    """Return a claim about ``size`` records together; for Gaussian noise it is Gaussian (Dong et al. 2022).

    Args:
        claim: Claim about one record.
        size: Number of records.

    Returns:
        The claim for all of them.

    Examples:
        >>> together = gl.privacy.about_together(gl.Claim(1.0, gaussian=True), 3)
        >>> together.gaussian, round(together.epsilon, 2)  # 3 epsilon and a larger delta for a claim that is not Gaussian
        (True, 3.41)
    """
    if not claim.gaussian:
        return group_privacy(claim.epsilon, claim.delta, size)
    mu = min(size * gaussian_mu(claim.epsilon, claim.delta), LARGEST_MU)
    if size == 1:
        return claim
    return Claim(gaussian_epsilon(mu, claim.delta), claim.delta, gaussian=True)


def allowed_tpr(claim: Claim, fpr: np.ndarray | float) -> np.ndarray:
    """Return the largest TPR at each FPR that a claim allows.

    Args:
        claim: Claim about one record.
        fpr: False positive rates, in [0, 1].

    Returns:
        The bounds, shaped as ``fpr``.

    Examples:
        >>> round(float(gl.privacy.allowed_tpr(gl.Claim(1.0, 1e-5), 0.01)), 4)
        0.0272
    """
    if claim.gaussian:
        return gaussian_tpr(fpr, gaussian_mu(claim.epsilon, claim.delta))
    return largest_tpr(fpr, claim.epsilon, claim.delta)


def allowed_advantage(claim: Claim) -> float:
    """Return the largest advantage, TPR minus FPR, that a claim allows.

    It is that of Humphries et al. (2023), or 2 Φ(mu / 2) − 1 for Gaussian noise.

    Args:
        claim: Claim about one record.

    Returns:
        The bound on the advantage of every attack.

    Examples:
        >>> round(gl.privacy.allowed_advantage(gl.Claim(1.0, 1e-5)), 4)
        0.4621
        >>> round(gl.privacy.allowed_advantage(gl.Claim(1.0, 1e-5, gaussian=True)), 4)
        0.1066
    """
    if claim.gaussian:
        return float(2 * ndtr(gaussian_mu(claim.epsilon, claim.delta) / 2) - 1)
    return humphries(claim.epsilon, claim.delta)
