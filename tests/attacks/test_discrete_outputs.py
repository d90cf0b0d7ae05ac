"""Discrete outputs: with an exact 0 LiRA fails, with half of the smallest step instead it works."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier

from guestlist._views import Signals
from guestlist.attacks import ATTACKS
from guestlist.metrics import auc, tpr_at_fpr
from guestlist.models import signals_of_probabilities
from guestlist.models.scales import zero_replacement


@pytest.mark.slow
def test_half_a_step_for_zero_makes_lira_work_on_a_forest():
    x, y = load_digits(return_X_y=True)
    member = np.random.default_rng(0).random((17, len(y))) < 0.5
    probabilities = [
        RandomForestClassifier(50, random_state=k).fit(x[m], y[m]).predict_proba(x) for k, m in enumerate(member)
    ]

    def scores(smallest):
        values = np.stack([signals_of_probabilities(p, y, smallest)["margin"] for p in probabilities])
        return ATTACKS["lira_pooled"].score(Signals({"margin": values}, member[1:], y))

    literal, careful = scores(1e-30), scores(zero_replacement(probabilities[0]))
    assert auc(careful, member[0]).low > auc(literal, member[0]).high
    assert tpr_at_fpr(careful, member[0], 0.01).value > 3 * tpr_at_fpr(literal, member[0], 0.01).value
