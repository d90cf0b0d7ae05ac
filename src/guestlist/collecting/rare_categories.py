"""Check for rare categories that a reference's encoder would not know.

By default scikit-learn's encoders refuse unknown categories (``handle_unknown="error"``). A reference trains on other records
than the target and may miss a category; then it cannot be queried about records that have it. The training sets are known
before anything is trained, so the error is raised before a folder is made.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from guestlist.arrays.threads import one_thread
from guestlist.collecting.inputs import Inputs, planned_split
from guestlist.collecting.readout import is_unknown_category
from guestlist.defences.refit import Refit
from guestlist.errors import InputError
from guestlist.fingerprints import last
from guestlist.targets.estimators import Train

# A value of more records than this is in every reference, at any rate of a game.
FEW = 100
OPTION = "handle_unknown"
REFUSES = "error"
# Encoder to the parameters with which it accepts unknown categories.
ACCEPTING: Mapping[str, Mapping[str, Any]] = {
    "OneHotEncoder": {OPTION: "ignore"},
    "OrdinalEncoder": {OPTION: "use_encoded_value", "unknown_value": -1},
}


def check_rare_categories(inputs: Inputs, references: int, seed: int) -> None:
    """Raise if the encoder of a reference in a new folder would not know a category of some record."""
    train = inputs.target.can.get("train")
    pool = inputs.pool
    if not references or not isinstance(train, Train) or not isinstance(train.recipe, Refit):
        return
    refusing = _refusing(train.model)
    rare = list(_rare_values(pool.x)) if refusing and hasattr(train.model, "steps") else []
    if not rare:
        return
    split = planned_split(inputs, references, seed)
    checked = set()
    for column, rows in rare:
        without = ~split.member[1:, rows].any(axis=1)
        if column in checked or not without.any():
            continue
        checked.add(column)  # One value shows whether an encoder reads this column.
        k = 1 + int(without.argmax())
        if _refused(train.model, pool.copied(split.member[k]), pool.copied(rows).x):
            options = ", ".join(f"{name}={value!r}" for name, value in refusing.items())
            raise InputError(
                f"Reference {k} would have no record with a value of {column!r} that {len(rows)} of {len(pool)} records have, "
                f"and its encoder refuses what it has not seen. Say model.set_params({options}), without a new fit; or train "
                "no references: references=0 (--references 0)."
            )


def _refusing(model) -> dict[str, Any]:
    """Return parameters by name with which no encoder of an estimator refuses; empty if none does."""
    parameters = model.get_params(deep=True)
    accepting: dict[str, Any] = {}
    for name, value in parameters.items():
        start = name.removesuffix(OPTION)
        kind = type(parameters.get(start.removesuffix("__"))).__name__
        listed = not isinstance(parameters.get(f"{start}categories"), str)  # the user lists all categories
        if last(name) == OPTION and isinstance(value, str) and value == REFUSES and kind in ACCEPTING and not listed:
            accepting |= {f"{start}{option}": chosen for option, chosen in ACCEPTING[kind].items()}
    return accepting


def _rare_values(x) -> Iterator[tuple[Any, np.ndarray]]:
    """Yield columns that are not numbers, each with the positions of the records that share a rare value."""
    if not isinstance(x, pd.DataFrame):
        if x.ndim != 2 or x.dtype.kind not in "OUS":
            return
        x = pd.DataFrame(x)
    for name in x.columns:
        if pd.api.types.is_numeric_dtype(x[name]):
            continue
        # Missing values have code -1 and are skipped: an imputer may precede the encoder.
        codes = pd.factorize(x[name].astype(object))[0]
        if codes.max(initial=-1) >= len(x) / 2:  # free text and names, which no encoder reads
            continue
        positions = pd.Series(codes).groupby(codes).indices
        yield from ((name, rows) for code, rows in positions.items() if code >= 0 and len(rows) <= FEW)


def _refused(model, members, x) -> bool:
    """Return whether the steps before the last one, fitted on some records, refuse a category of others."""
    from sklearn.base import clone

    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            clone(model)[:-1].fit(members.x, members.y).transform(x)
        except Exception as error:  # Training reports all other errors.
            return is_unknown_category(error)
    return False
