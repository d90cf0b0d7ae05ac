"""White-box attack by an adversary who has the model and knows the membership of some records."""

from __future__ import annotations

import numpy as np
from scipy.special import logit

from guestlist.attacks.learning import ROWS, balanced, hashes
from guestlist.views.signals import Signals

TREES = 100
# Records in a leaf: single features separate members weakly, so smaller leaves would fit noise.
LEAF = 20


def white_box(signals: Signals) -> np.ndarray:
    """Score by a forest of gradient norms, activations, loss and label, fitted on known records (Nasr et al. 2019).

    The paper uses a network. A forest reads features on any scale, gradients range over many powers of ten,
    and it does better with the few thousand records that an attacker knows.

    Returns:
        (records,) log-odds of membership; NaN for the known records, for those that are not evaluated, and if the known
        records are all members or all non-members.
    """
    from sklearn.ensemble import RandomForestClassifier

    view = signals.evidence.need("white_box")
    has_features = ~np.isnan(view.features).any(axis=1)
    known = np.flatnonzero(view.known & has_features)
    training = known[balanced(view.member[known], hashes(view.features[known], signals.labels[known]), ROWS)]
    scores = np.full(len(signals.labels), np.nan)
    scored = has_features & ~view.known
    if not training.size or not scored.any():
        return scores
    leaf = int(np.clip(len(training) // 20, 1, LEAF))
    forest = RandomForestClassifier(TREES, min_samples_leaf=leaf, random_state=0)
    rows = np.column_stack([view.features, signals.labels])
    forest.fit(rows[training], view.member[training])
    share = forest.predict_proba(rows[scored])[:, 1]
    scores[scored] = logit((len(training) * share + 0.5) / (len(training) + 1))  # finite if all trees agree
    return scores
