"""Small arrays take NumPy, large ones compiled loops: both give identical results."""

import subprocess
import sys

import numpy as np
import pytest

from guestlist._kernels import (
    aucs,
    class_ecdf_of_others,
    class_thresholds,
    count_and_range,
    count_in_bins,
    flag_counts,
    leave_block_out_moments,
    leave_block_out_thresholds,
    moments,
    out_model_stats,
    permutations,
    permuted_tprs,
    rank_sum_z_scores,
    ranks,
    student_log_odds,
    thresholds,
)

MODELS = 9
RECORDS = 300


def compiled(monkeypatch) -> None:
    """Make every array large."""
    for module in (moments, ranks, thresholds):
        monkeypatch.setattr(module, "MANY_CELLS", -1)
    monkeypatch.setattr(moments, "MANY_TAILS", -1)
    monkeypatch.setattr(thresholds, "FEW_GROUPS", -1)
    monkeypatch.setattr(permutations, "FEW_POSITIONS", -1)
    monkeypatch.setattr(permutations, "MANY", -1)


VALUES = ("normal", "rounded", "huge", "equal", "single precision", "infinite")


def values_of(kind: str, seed: int = 0, shape: tuple[int, int] = (MODELS, RECORDS)) -> tuple[np.ndarray, np.ndarray]:
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


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("together", [None, [0, 1, 1, 2, 0, 3, 3, 3, 4]])
def test_leave_block_out_moments_are_identical(monkeypatch, kind, together):
    values, member = values_of(kind)
    mask = member & ~np.isnan(values)
    blocks = None if together is None else np.array(together)

    def compute():
        result = leave_block_out_moments(values, mask, blocks)
        return result.count, result.mean, result.squares

    same(monkeypatch, compute)


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("records", [1, RECORDS])  # NumPy sums a single column in another order
def test_out_model_statistics_are_identical(monkeypatch, kind, records):
    scores, member = values_of(kind, shape=(40, records))
    target = values_of(kind, seed=1, shape=(1, records))[0][0].astype(np.float64)

    def compute():
        stats = out_model_stats(target, scores, member)
        return stats.count, stats.n_at_least, stats.mean, stats.squares

    same(monkeypatch, compute)


@pytest.mark.parametrize("kind", VALUES)
def test_flags_and_bins_are_identical(monkeypatch, kind):
    values, member = values_of(kind)
    flagged_from = np.append(np.linspace(-1, 1, MODELS - 1), np.nan)
    chosen = np.arange(0, RECORDS, 2)
    edges = np.array([-1.0, -0.1, 0.1, 0.1, 0.5, 1.0])

    def compute():
        sizes, ends = count_and_range(values, member, chosen)
        return (
            flag_counts(values, member, flagged_from),
            sizes,
            ends,
            count_in_bins(values, member, chosen, edges, -1.0),
        )

    same(monkeypatch, compute)


@pytest.mark.parametrize("kind", VALUES)
def test_ranks_are_identical(monkeypatch, kind):
    values, member = values_of(kind)
    labels = np.arange(RECORDS) % 3
    blocks = np.array([0, 1, 1, 2, 0, 3, 3, 3, 4])

    def compute():
        ecdf = class_ecdf_of_others(values, member, labels, blocks)
        return aucs(values, member), ecdf.below, ecdf.up_to, ecdf.count

    same(monkeypatch, compute)


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("sign", [1, -1])
def test_thresholds_are_identical(monkeypatch, kind, sign):
    values, member = values_of(kind)
    labels = np.minimum(np.arange(RECORDS) % 4, 2)
    labels[:5] = -1
    known = ~np.isnan(values)
    block = np.broadcast_to(np.arange(MODELS)[:, None], values.shape)[known]

    def compute():
        best = class_thresholds(values, member, labels, sign)
        others = leave_block_out_thresholds(sign * values[known], member[known], block, MODELS)
        return best.of_class, best.overall, others

    same(monkeypatch, compute)


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("members", [0, 30, 200])
def test_permutations_are_identical(monkeypatch, kind, members):
    scores = values_of(kind, shape=(3, RECORDS))[0].astype(np.float64)
    member = np.random.default_rng(1).permutation(np.arange(RECORDS) < members)
    strata = np.arange(RECORDS) % 2

    def compute():
        parts = []
        for layers in (None, strata):
            rng = np.random.default_rng(2)
            (block,) = permutations.permutations(member, 50, rng, strata=layers)
            parts += [block.member, rank_sum_z_scores(scores, block)]
        return parts

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
