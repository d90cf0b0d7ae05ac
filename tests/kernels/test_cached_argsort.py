import gc

import numpy as np
import pytest

from guestlist._kernels import cached_argsort, frozen_take, ranks
from guestlist.metrics import auc, auc_difference, balanced_accuracy, roc_steps, tpr_at_fpr


@pytest.fixture
def counted(monkeypatch):
    """Count the sorts, with a limit under which any number of scores counts as large."""
    monkeypatch.setattr(ranks, "MANY", 0)
    sorts, plain = [], np.argsort
    monkeypatch.setattr(
        ranks.np, "argsort", lambda *arguments, **options: sorts.append(1) or plain(*arguments, **options)
    )
    return sorts


def test_the_order_is_computed_once_and_dropped_with_the_scores(counted):
    values = np.array([3.0, 1.0, np.nan, 2.0])
    scores, known = frozen_take(values.copy(), np.ones(4, dtype=bool)), len(ranks._known)
    assert cached_argsort(scores).tolist() == cached_argsort(scores).tolist() == [1, 3, 0, 2]
    assert (len(counted), len(ranks._known)) == (1, known + 1)
    del scores
    gc.collect()
    assert len(ranks._known) == known
    cached_argsort(values), cached_argsort(values)  # who can change it must not rely on what was found before
    assert len(counted) == 3


def test_frozen_scores_cannot_be_changed():
    values = np.arange(5.0)
    some = frozen_take(values, values > 2)
    assert some.tolist() == [3, 4]
    values[3] = 0
    assert some[0] == 3
    with pytest.raises(ValueError, match="read-only"):
        some[0] = 1


def test_metrics_are_the_same_and_sort_once(counted):
    rng = np.random.default_rng(0)
    member, other = rng.random(200) < 0.5, rng.normal(size=200)
    for values in (rng.normal(size=200), np.round(rng.normal(size=200), 1), (rng.random(200) < 0.3) * 1.0):

        def figures(scores, others=other):
            drawn = roc_steps(scores, member, at=(0.1,))
            rates = [tpr_at_fpr(scores, member, fpr) for fpr in (0.05, 0.2)]
            return (
                auc(scores, member),
                *rates,
                balanced_accuracy(scores, member),
                drawn.tpr.tolist(),
                drawn.fpr.tolist(),
            )

        plain = figures(values)
        counted.clear()
        scores = frozen_take(values.copy(), np.ones(200, dtype=bool))
        assert figures(scores) == plain
        assert len(counted) == 1
        assert auc_difference(scores, other, member) == auc_difference(values, other, member)
