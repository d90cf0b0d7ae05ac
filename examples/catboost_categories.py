"""CatBoost with categories: pass the table unchanged."""

import numpy as np
import pandas as pd
from catboost import CatBoostClassifier

import guestlist as gl


def people(records: int, rng: np.random.Generator) -> pd.DataFrame:
    """Simulate people: age, town, and whether they moved."""
    table = pd.DataFrame(
        {"age": rng.integers(18, 90, records), "town": rng.choice(["north", "south", "west"], records)}
    )
    return table.assign(moved=(table["age"] < 40) ^ (rng.random(records) < 0.3))


rng = np.random.default_rng(0)
members, nonmembers = people(300, rng), people(300, rng)
model = CatBoostClassifier(
    iterations=100, learning_rate=0.3, cat_features=["town"], verbose=False, allow_writing_files=False, thread_count=1
)
model.fit(members[["age", "town"]], members["moved"])

results = gl.audit(
    model,
    members,
    nonmembers,
    label="moved",
    group="town",
    references=6,
    attacks=["loss", "lira"],
    duplicates="drop",  # with so few columns, some people are duplicates
    ignore=["GL102", "GL115"],
    jobs=1,
)
print(results.summary())
