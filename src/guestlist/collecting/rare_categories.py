"""Categories so rare that a reference has no record of them, and an encoder that refuses what it has not seen.

scikit-learn's encoders do so unless told otherwise (``handle_unknown="error"``). The target has seen every category of its
members, a reference trains on other records and may miss one: then it cannot be asked about whoever has it. Who trains on
what is known before anything is trained, so this is told before there is a folder.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from guestlist.arrays.threads import one_thread
from guestlist.collecting.inputs import Inputs, planned
from guestlist.collecting.readout import is_unknown_category
from guestlist.defences.refit import Refit
from guestlist.errors import InputError
from guestlist.fingerprints import last
from guestlist.targets.estimators import Train

# A value that so many records have is in every reference, at any rate that a game plays with.
FEW = 100
OPTION, REFUSES = "handle_unknown", "error"
# What encoders take in its place.
TAKES: Mapping[str, Mapping[str, Any]] = {
    "OneHotEncoder": {OPTION: "ignore"},
    "OrdinalEncoder": {OPTION: "use_encoded_value", "unknown_value": -1},
}


def check_rare_categories(inputs: Inputs, references: int, seed: int) -> None:
    """Raise where a reference in a new folder could not read a record, since its encoder would not know a category."""
    train, pool = inputs.target.can.get("train"), inputs.pool
    if not references or not isinstance(train, Train) or not isinstance(train.recipe, Refit):
        return
    refusing = _refusing(train.model)
    rare = list(_rare_values(pool.x)) if refusing and hasattr(train.model, "steps") else []
    if not rare:
        return
    split = planned(inputs, references, seed)
    looked_at = set()
    for column, rows in rare:
        without = ~split.member[1:, rows].any(axis=1)
        if column in looked_at or not without.any():
            continue
        looked_at.add(column)  # one of its values tells whether an encoder reads this column
        k = 1 + int(without.argmax())
        if _refused(train.model, pool.copied(split.member[k]), pool.copied(rows).x):
            options = ", ".join(f"{name}={value!r}" for name, value in refusing.items())
            raise InputError(
                f"Reference {k} would have no record with a value of {column!r} that {len(rows)} of {len(pool)} records have, "
                f"and its encoder refuses what it has not seen. Say model.set_params({options}), without a new fit; or train "
                "no references: references=0 (--references 0)."
            )


def _refusing(model) -> dict[str, Any]:
    """By name of a parameter, what to set so that no encoder in an estimator refuses; none where no encoder does."""
    parameters = model.get_params(deep=True)
    found: dict[str, Any] = {}
    for name, value in parameters.items():
        start = name.removesuffix(OPTION)
        kind = type(parameters.get(start.removesuffix("__"))).__name__
        listed = not isinstance(parameters.get(f"{start}categories"), str)  # all of them, by the user
        if last(name) == OPTION and isinstance(value, str) and value == REFUSES and kind in TAKES and not listed:
            found |= {f"{start}{option}": chosen for option, chosen in TAKES[kind].items()}
    return found


def _rare_values(x) -> Iterator[tuple[Any, np.ndarray]]:
    """Name of a column, and where the records stand that share a rare value of it; numbers are no categories, as a rule."""
    if not isinstance(x, pd.DataFrame):
        if x.ndim != 2 or x.dtype.kind not in "OUS":
            return
        x = pd.DataFrame(x)
    for name in x.columns:
        if pd.api.types.is_numeric_dtype(x[name]):
            continue
        # -1 where it is missing: an imputer may stand before the encoder
        codes = pd.factorize(x[name].astype(object))[0]
        if codes.max(initial=-1) >= len(x) / 2:  # texts and names, which no encoder reads
            continue
        places = pd.Series(codes).groupby(codes).indices
        yield from ((name, rows) for code, rows in places.items() if code >= 0 and len(rows) <= FEW)


def _refused(model, members, x) -> bool:
    """Whether what stands before the last step of a pipeline, fitted on some records, does not know a category of others."""
    from sklearn.base import clone

    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            clone(model)[:-1].fit(members.x, members.y).transform(x)
        except Exception as error:  # whatever else is wrong, training tells
            return is_unknown_category(error)
    return False
