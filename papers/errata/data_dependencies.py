"""Humphries et al. (2023), Investigating membership inference attacks under data dependencies."""

from __future__ import annotations

import numpy as np

from papers.errata.erratum import Erratum

DELTA = 1e-5  # delta of the paper's figure of bounds


def humphries(epsilon, delta):
    """Return the paper's bound on the advantage, equation 5."""
    return (np.exp(epsilon) - 1 + 2 * delta) / (np.exp(epsilon) + 1)


def erlingsson(epsilon, delta):
    """Return the bound that it is compared with, equation 4."""
    return 1 - np.exp(-epsilon) * (1 - delta)


def printed_difference(epsilon, delta):
    """Return the difference of the two as simplified in Appendix B."""
    return (delta - 1) * (np.exp(-epsilon) + 1) / (np.exp(epsilon) + 1)


def difference(epsilon, delta):
    """Return the difference with the correct sign."""
    return (delta - 1) * (1 - np.exp(-epsilon)) / (np.exp(epsilon) + 1)


def gains() -> tuple[float, float, float, float, float]:
    """Return the gain of the paper's bound at epsilon = 0.1 and 2, the largest gain, its epsilon, and the printed gain at 1."""
    grid = np.linspace(0.1, 2, 19001)
    gain = erlingsson(grid, DELTA) - humphries(grid, DELTA)
    best = int(gain.argmax())
    return float(gain[0]), float(gain[-1]), float(gain[best]), float(grid[best]), float(printed_difference(1.0, 0.0))


def errata() -> list[Erratum]:
    low, high, largest, where, printed = gains()
    right = difference(1.0, 0.0)
    return [
        Erratum(
            "Appendix B, the last difference",
            "a factor e^−ε + 1 in the numerator",
            f"it is 1 − e^−ε: at ε = 1 and δ = 0 the bounds differ by {right:.3f}, not by {printed:.3f}; at ε = 0 they are "
            "equal, both δ",
            "the proof holds: the correct factor is not negative either",
        ),
        Erratum(
            "Section III-B, on Figure 1",
            "almost 0.2 better than the older bound for ε from 0.1 to 2",
            f"{low:.3f} at 0.1, {high:.3f} at 2, and {largest:.3f} at most, at ε = {where:.2f}",
            "the bound is right; the gain is smaller at both ends",
        ),
        Erratum(
            "Section III-B, below Theorem III.4",
            "tighter than equation 3 for every δ",
            f"equation 3 is for δ = 0. At ε = 0 it gives {np.expm1(0):.0f}, and equation 5 gives δ",
            "the two can be compared only at δ = 0, where the claim is right",
        ),
        Erratum(
            "Appendix A, end of the proof",
            "the joint distribution of the IID game as n draws, and the bound concluded for the primed game",
            "the game draws n + 1 records, and the game to conclude for is the one without a prime",
            "none: the argument is the same",
        ),
    ]
