"""Rounding to six digits: the numbers that a text of six digits is read as."""

import numpy as np

from guestlist._kernels import six_digits


def test_rounded_is_what_the_text_is_read_as():
    rng = np.random.default_rng(0)
    spread = rng.normal(size=2000) * 10.0 ** rng.integers(-25, 25, size=2000)
    halves = (rng.integers(100_000, 1_000_000, size=500) + 0.5) / 10.0 ** rng.integers(0, 20, size=500)
    edges = [0.0, -0.0, 1.0, 999_999.5, 0.9999995, 0.001, 1e-5, 1e-320, 1e300, np.inf, -np.inf]
    steps = np.concatenate(
        [spread, halves, np.nextafter(halves, 0), np.nextafter(halves, np.inf), 1 / np.arange(1, 500), edges]
    )
    rounded = np.array(six_digits(steps))
    plain = np.array([float(f"{value:.6g}") for value in steps])
    np.testing.assert_array_equal(rounded, plain)
    np.testing.assert_array_equal(np.signbit(rounded), np.signbit(plain))
    assert np.isnan(six_digits(np.array([np.nan]))[0])
