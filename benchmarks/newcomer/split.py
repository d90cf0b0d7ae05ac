"""The newcomer's model: a forest of 100 trees on half of the digits. Numpy and scikit-learn only: peers import this."""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier


def fitted(seed: int):
    """Return the model, members (898) and non-members (899)."""
    x, y = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(y))
    members, nonmembers = order[:898], order[898:]
    model = RandomForestClassifier(100, random_state=seed).fit(x[members], y[members])
    return model, (x[members], y[members]), (x[nonmembers], y[nonmembers])
