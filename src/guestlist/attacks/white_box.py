"""The attack of someone who holds the model itself, and knows of some records whether it trained on them."""

from __future__ import annotations

import numpy as np
from scipy.special import logit

from guestlist.attacks.learning import ROWS, balanced, hashes
from guestlist.views.signals import Signals

TREES = 100
# Records in a leaf: the features hardly tell members apart one by one, so smaller leaves would learn chance.
LEAF = 20


def white_box(signals: Signals) -> np.ndarray:
    """A forest of gradient norms, activations, loss and label, learnt from the known records (Nasr et al. 2019).

    The paper has a network in its place. A forest reads features on any scale, gradients range over many powers of ten,
    and it does better with the few thousand records that an attacker knows.

    Returns:
        (records,) log-odds of membership; NaN for the known records, for those that were not asked about, and where the
        known records are of one kind.
    """
    from sklearn.ensemble import RandomForestClassifier

    seen = signals.evidence.need("white_box")
    asked = ~np.isnan(seen.features).any(axis=1)
    taught = np.flatnonzero(seen.known & asked)
    taken = taught[balanced(seen.member[taught], hashes(seen.features[taught], signals.labels[taught]), ROWS)]
    scores = np.full(len(signals.labels), np.nan)
    judged = asked & ~seen.known
    if not taken.size or not judged.any():
        return scores
    leaf = int(np.clip(len(taken) // 20, 1, LEAF))
    forest = RandomForestClassifier(TREES, min_samples_leaf=leaf, random_state=0)
    rows = np.column_stack([seen.features, signals.labels])
    forest.fit(rows[taken], seen.member[taken])
    share = forest.predict_proba(rows[judged])[:, 1]
    scores[judged] = logit((len(taken) * share + 0.5) / (len(taken) + 1))  # finite where all trees agree
    return scores
