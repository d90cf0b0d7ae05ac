"""The blind baseline of an audit folder: made once, while the records are at hand, and kept without any of them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import numpy as np
import pandas as pd

from guestlist.blind.baseline import Blind, blind
from guestlist.randomness import stream
from guestlist.store import Store, read_or_explain
from guestlist.store.files import read_json, write_json
from guestlist.store.jsonable import from_json, to_json

FILE = "blind.json"
WAY = 1  # changes whenever the same records would come to another outcome


def blind_baseline(
    store: Store,
    x: np.ndarray | pd.DataFrame | None,
    y: np.ndarray,
    groups: Mapping[str, np.ndarray],
    persons: np.ndarray | None = None,
    *,
    values: bool,
) -> Blind | None:
    """How well members are told without the model; read from the folder if it was made of the same records before.

    Args:
        x, y, groups, persons, values: as for :func:`blind`, over all records of the pool; those asked about are looked at.
    """
    made_of, path = _made_of(store, groups, persons), store.folder / FILE
    if path.exists() and read_or_explain(path, read_json).get("made_of") == made_of:
        return blind_in(store)
    asked, member = store.split.asked[0], store.split.members
    rows = np.flatnonzero(asked)
    found = blind(
        x if x is None else x.iloc[rows] if isinstance(x, pd.DataFrame) else x[rows],
        y[rows],
        member[rows],
        None if persons is None else persons[rows],
        {name: texts[rows] for name, texts in groups.items()},
        values=values,
        rng=stream(store.manifest.seed, "blind"),
    )
    write_json(path, {"made_of": made_of, "found": to_json(found)})
    return found


def blind_in(store: Store) -> Blind | None:
    """What was found in an audit folder; None where it was not looked for."""
    path = store.folder / FILE
    if not path.exists():
        return None
    return read_or_explain(path, lambda path: from_json(Blind | None, read_json(path)["found"]))


def _made_of(store: Store, groups: Mapping[str, np.ndarray], persons: np.ndarray | None) -> str:
    """Digest of what the outcome depends on."""
    known = store.manifest
    digest = hashlib.sha256("\n".join([str(WAY), known.data, known.split, str(known.seed), known.scale]).encode())
    for name, texts in {**groups, **({} if persons is None else {"(person)": persons})}.items():
        digest.update(name.encode())
        digest.update(pd.util.hash_array(np.asarray(texts).astype(object)).tobytes())
    return digest.hexdigest()
