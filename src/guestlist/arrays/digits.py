"""Numbers to as many digits as anybody looks at."""

from __future__ import annotations

import numpy as np

_POWERS = np.array([float(f"1e{k}") for k in range(23)])  # those that a float holds exactly
_NEAR_HALF = 1e-4  # of a last digit; far more than what a product is rounded by


def six_digits(values: np.ndarray) -> tuple[float, ...]:
    """To six digits, which no chart resolves further: the numbers that ``f"{value:.6g}"`` is read as.

    A whole number of six digits over an exact power of ten is rounded once, as a text is when it is read. What cannot be done so,
    and what lies so near to the middle between two such numbers that the product may have been rounded across, becomes text.

    >>> six_digits(np.array([1 / 3, 0.0, 123456.5]))
    (0.333333, 0.0, 123456.0)
    """
    values = np.asarray(values, dtype=np.float64)
    size = np.abs(values)
    with np.errstate(divide="ignore", invalid="ignore"):  # of 0, and of what is not finite
        digits = 5 - np.floor(np.log10(size))
        plain = (digits >= 0) & (digits < len(_POWERS))
        power = _POWERS[np.where(plain, digits, 0).astype(np.intp)]
        scaled = size * power
        whole = np.rint(scaled)
        plain &= (whole >= 1e5) & (whole < 1e6) & (np.abs(np.abs(scaled - whole) - 0.5) > _NEAR_HALF)
    found = np.copysign(whole / power, values)
    for i in np.flatnonzero(~plain):
        found[i] = float(f"{values[i]:.6g}")
    return tuple(found.tolist())
