"""Texts: a list, a Series, an array of strings, or a table with one column of them."""

import numpy as np
import pandas as pd
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import guestlist as gl

WORDS = {
    "complaint": "broken late refund angry never again waited phone nobody lost parcel wrong size",
    "praise": "thanks lovely quick again friendly perfect gift works well happy fast kind",
}
BOTH = "order number monday parcel shop the my was and with for item box blue green small large"


def letters(count: int, rng: np.random.Generator) -> tuple[pd.Series, np.ndarray]:
    """Simulate texts of twelve words, some of them informative."""
    kinds = rng.choice(list(WORDS), count)
    return pd.Series([" ".join(rng.choice(f"{WORDS[kind]} {BOTH} {BOTH}".split(), 12)) for kind in kinds]), kinds


rng = np.random.default_rng(0)
members, nonmembers = letters(200, rng), letters(200, rng)
model = make_pipeline(TfidfVectorizer(), LogisticRegression(C=100)).fit(*members)

results = gl.audit(model, members, nonmembers, references=8, attacks=["loss", "lira"], jobs=1)
print(results.summary())
