"""Settings and published values of the paper."""

from __future__ import annotations

# Largest gain of the paper's bound over that of Erlingsson et al. (2019), and the epsilon where it is reached, for delta = 0.
GAIN, GAIN_AT = 3 - 2 * 2**0.5, 0.8814
DELTA = 1e-5
REPEATS = 50
# In the values below, p is the share of members with the attribute.
SHARES = (0.0, 0.5, 1.0, 0.25, 0.75)  # in the order of the runs: the ends and the middle first
COMPAS_REPEATED = 613  # duplicate rows of its table
FEATURES = {
    "adult": 104,
    "adult gender": 103,
    "adult education": 87,
    "compas": 15,
    "heart": 22,
    "students": 42,
    "census": 100,
}
