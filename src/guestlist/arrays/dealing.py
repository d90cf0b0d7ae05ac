"""Random permutations of membership labels.

Imports numba, so it is imported only for permutation tests.
"""

from __future__ import annotations

import numpy as np
from numba import njit


def permute_labels(labels: np.ndarray, positions: np.ndarray, out: np.ndarray, rng: np.random.Generator) -> None:
    """Permute labels among positions, independently in every row of ``out`` (draws, all positions).

    Args:
        labels: (positions,) True for members; their number stays the same in every draw.
        positions: Columns of ``out`` that these labels belong to.
        out: (draws, all positions) The columns in ``positions`` are filled.
        rng: Random generator.
    """
    rarer = 2 * labels.sum() <= len(labels)  # Drawing the smaller class is enough.
    drawn = int(labels.sum() if rarer else (~labels).sum())
    _partial_shuffle(rng.random((len(out), drawn)), positions.astype(np.int64), out, bool(rarer))


@njit(cache=True)
def _partial_shuffle(uniforms, positions, out, label):  # pragma: no cover: compiled
    """Run the first steps of a shuffle (Durstenfeld 1964); each draw starts from the order of the draw before."""
    order = positions.copy()
    size = len(positions)
    for d in range(len(uniforms)):
        for position in positions:
            out[d, position] = not label
        for i in range(uniforms.shape[1]):
            j = i + int(uniforms[d, i] * (size - i))
            order[i], order[j] = order[j], order[i]
            out[d, order[i]] = label
