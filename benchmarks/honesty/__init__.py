"""Validity of guestlist's statements on many simulations with known truth; the tests run them at small size."""
