"""Small arrays take NumPy, large ones compiled loops: both give identical results."""

import subprocess
import sys

import numpy as np
import pytest

from guestlist._kernels import (
    moments,
    permutations,
    permuted_tprs,
    student_log_odds,
)

RECORDS = 300


def compiled(monkeypatch) -> None:
    """Make every array large."""
    monkeypatch.setattr(moments, "MANY_CELLS", -1)
    monkeypatch.setattr(moments, "MANY_TAILS", -1)
    monkeypatch.setattr(permutations, "FEW_POSITIONS", -1)


VALUES = ("normal", "rounded", "huge", "equal", "single precision", "infinite")


def values_of(kind: str, seed: int = 0, shape: tuple[int, int] = (9, RECORDS)) -> tuple[np.ndarray, np.ndarray]:
    """Values of models on records, some of them NaN, and membership."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=shape)
    if kind == "rounded":
        values = values.round(1)
    elif kind == "huge":
        values = 1e9 + 1e-3 * values
    elif kind == "equal":
        values[:] = 0.1
    elif kind == "single precision":
        values = values.astype(np.float32)
    elif kind == "infinite":
        values[rng.random(shape) < 0.05] = np.inf
    values[rng.random(shape) < 0.1] = np.nan
    return values, rng.random(shape) < 0.4


def same(monkeypatch, compute) -> None:
    """Compare the two ways bit for bit."""
    in_numpy = compute()
    compiled(monkeypatch)
    in_loops = compute()
    for expected, other in zip(in_numpy, in_loops, strict=True):
        assert expected.dtype == other.dtype
        np.testing.assert_array_equal(expected, other)


@pytest.mark.parametrize("members", [0, 30, 200])
def test_permutations_are_identical(monkeypatch, members):
    member = np.random.default_rng(1).permutation(np.arange(RECORDS) < members)
    strata = np.arange(RECORDS) % 2

    def compute():
        blocks = (
            block
            for layers in (None, strata)
            for block in permutations.permutations(member, 50, np.random.default_rng(2), strata=layers)
        )
        return [block.member for block in blocks]

    same(monkeypatch, compute)


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("members", [0, 30, 299, 300])
def test_true_positives_equal_those_of_the_scan(monkeypatch, kind, members):
    scores = values_of(kind, shape=(1, RECORDS))[0][0].astype(np.float64)
    member = np.arange(RECORDS) < members
    (block,) = permutations.permutations(member, 60, np.random.default_rng(0))
    same(monkeypatch, lambda: [permuted_tprs(scores, block, fprs) for fprs in ((0.01, 0.3, 0.0, 1.0), (0.05,))])


@pytest.mark.parametrize("kind", ["usual", "far", "special"])
def test_tails_of_student_are_identical(monkeypatch, kind):
    rng = np.random.default_rng(0)
    dof = np.exp(rng.uniform(np.log(0.25), np.log(1e4), (4, 500)))
    t = rng.standard_t(2, dof.shape)
    if kind == "far":
        t = np.copysign(np.exp(rng.uniform(-400, 400, dof.shape)), t)
    elif kind == "special":
        t = np.resize([0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, 1e-100, -1e-100, 1.7e308], dof.shape)
        dof = np.resize([5.0, 1.0, 24.0, np.nan, 60.0], dof.shape)
    same(monkeypatch, lambda: [student_log_odds(t, dof), np.signbit(student_log_odds(t[~np.isnan(t)], 5.0))])


@pytest.mark.slow
def test_a_small_audit_does_not_import_numba():
    """Compiling takes longer than an audit of a few thousand records, and loading compiled loops a second."""
    program = """
import sys
import guestlist as gl
model, members, nonmembers = gl.testing.small_model()
results = gl.audit(model, members, nonmembers, references=4, progress=False, engine=gl.Here())
assert {"lira_bayes", "reference", "rmia", "class_mentr", "shadow"} <= {outcome.name for outcome in results.outcomes}
assert "numba" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True)
