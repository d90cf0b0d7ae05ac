"""Statistics of models that did not train on a record, against a loop over records."""

import numpy as np
import pytest

from guestlist._kernels import out_model_stats


def slowly(target, scores, member):
    """(count, p-value, gap) of each record."""
    for i, score in enumerate(target):
        others = [
            row[i] for row, trained in zip(scores, member, strict=True) if not trained[i] and not np.isnan(row[i])
        ]
        as_high = sum(other >= score for other in others)
        p_value = (1 + as_high) / (1 + len(others)) if others and not np.isnan(score) else np.nan
        with np.errstate(all="ignore"):
            mean = np.mean(others) if others else np.nan
            spread = np.std(others, ddof=1) if len(others) > 1 else np.nan
            yield len(others), p_value, 0.0 if score == mean else (score - mean) / spread


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("records", [1, 641, 700])
def test_against_a_loop(kind, records, monkeypatch):
    monkeypatch.setattr("guestlist._kernels.moments.RECORDS_PER_BLOCK", 64)
    rng = np.random.default_rng(records)
    scores = rng.normal(size=(9, records)).round(1).astype(kind)
    scores[rng.random(scores.shape) < 0.1] = np.nan
    target, member = rng.normal(size=records).round(1).astype(kind), rng.random(scores.shape) < 0.5
    target[rng.random(records) < 0.05] = np.nan
    member[:, : records // 100] = True
    statistics = out_model_stats(target, scores, member)
    count, p_value, gap = map(np.array, zip(*slowly(target, scores, member), strict=True))
    assert np.array_equal(statistics.count, count)
    np.testing.assert_array_equal(statistics.p_values, p_value)
    many = count > 1
    np.testing.assert_allclose(statistics.gap[many], gap[many], rtol=1e-5, atol=1e-6)


def test_equal_scores_have_no_variance_from_rounding():
    scores = np.full((7, 2), 0.1)
    statistics = out_model_stats(np.array([0.1, 0.2]), scores, np.zeros((7, 2), dtype=bool))
    assert statistics.mean.tolist() == [0.1, 0.1]
    assert statistics.squares.tolist() == [0, 0]
    assert statistics.gap.tolist() == [0, np.inf]


def test_infinite_scores_do_not_change_the_others():
    scores = np.array([[np.inf, 1.0], [0.0, 2.0], [1.0, 4.0]])
    statistics = out_model_stats(np.array([np.inf, 3.0]), scores, np.zeros((3, 2), dtype=bool))
    assert statistics.p_values.tolist() == [2 / 4, 2 / 4]
    assert statistics.gap[0] == 0
    assert statistics.gap[1] == pytest.approx((3 - 7 / 3) / np.std([1, 2, 4], ddof=1))
