"""The blind baseline of an audit folder: made once, while the records are at hand, and kept without any of them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pandas as pd

from guestlist.blind.baseline import Blind, Unasked, look
from guestlist.data import Data
from guestlist.games import is_alike
from guestlist.hashes import row_hashes
from guestlist.randomness import stream
from guestlist.store import Store, read_or_explain
from guestlist.store.jsonable import from_json, to_json
from guestlist.store.manifest import PREDICTIONS

FILE, RECORDS = "blind.json", "blind.npz"
WAY = 5  # changes whenever the same records would come to another outcome


def blind_baseline(
    store: Store,
    x: np.ndarray | pd.DataFrame | None,
    y: np.ndarray | None,
    groups: Mapping[str, np.ndarray],
    persons: np.ndarray | None = None,
    *,
    values: bool,
    hashes: np.ndarray | None = None,
) -> Blind | None:
    """How well members are told without the model; read from the folder if it was made of the same records before.

    Args:
        x, y, groups, persons, values, hashes: as for :func:`look`, over all records of the pool; those asked about are looked at.
    """
    unsigned = (
        x if store.manifest.recipe == PREDICTIONS else None
    )  # features are no part of what predictions are known by
    made_of, path = _made_of(store, groups, persons, unsigned), store.folder / FILE
    if path.exists() and store.read_json(path).get("made_of") == made_of:
        return blind_in(store)
    asked, member = store.split.evaluated[0], store.split.members
    rows = np.flatnonzero(asked)
    found = look(
        x if x is None else x.iloc[rows] if isinstance(x, pd.DataFrame) else x[rows],
        None if y is None else y[rows],
        member[rows],
        None if persons is None else persons[rows],
        {name: texts[rows] for name, texts in groups.items()},
        values=values,
        rng=stream(store.manifest.seed, "blind"),
        hashes=None if hashes is None else hashes[rows],
    )
    if found is None:
        store.write_json(path, {"made_of": made_of, "found": None})
        return None
    _write_records(store, rows, found.unasked)
    game = store.manifest.make_game()
    apart = "" if is_alike(game) else game.name
    store.write_json(path, {"made_of": made_of, "found": to_json(replace(found.blind, game=apart))})
    return blind_in(store)


def blind_in(store: Store) -> Blind | None:
    """What was found in an audit folder; None where it was not looked for."""
    path = store.folder / FILE
    if not path.exists():
        return None
    found = store.read_json(path)
    return read_or_explain(path, lambda path: from_json(Blind | None, found["found"]))


def unasked_in(store: Store) -> Unasked | None:
    """What was said of each record of the pool; None where it was not kept."""
    path = store.folder / RECORDS
    if not path.exists():
        return None
    kept = store.read(path)
    return Unasked(kept["score"], kept["fold"], kept["chance"])


def _write_records(store: Store, rows: np.ndarray, unasked: Unasked) -> None:
    records = len(store.split.members)
    whole = {
        "score": np.full(records, np.nan),
        "fold": np.full(records, -1),
        "chance": np.full(records, np.nan),
    }
    for name, values in whole.items():
        values[rows] = getattr(unasked, name)
    store.write(store.folder / RECORDS, whole)


def _made_of(
    store: Store,
    groups: Mapping[str, np.ndarray],
    persons: np.ndarray | None,
    x: np.ndarray | pd.DataFrame | None = None,
) -> str:
    """Digest of what the outcome depends on."""
    known = store.manifest
    digest = hashlib.sha256("\n".join([str(WAY), known.data, known.split, str(known.seed), known.scale]).encode())
    for name, texts in {**groups, **({} if persons is None else {"(person)": persons})}.items():
        digest.update(name.encode())
        digest.update(pd.util.hash_array(np.asarray(texts).astype(object)).tobytes())
    if x is not None:
        digest.update(row_hashes(Data(x, np.zeros(len(x)))).tobytes())
    return digest.hexdigest()
