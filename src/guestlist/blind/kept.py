"""Cache of the model-free baseline in an audit folder: fitted once, while the records are at hand, and stored without them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pandas as pd

from guestlist.blind.baseline import Baseline, CrossFitted, cross_fit_baseline, scattered
from guestlist.data import Data
from guestlist.games import is_iid
from guestlist.hashes import row_hashes
from guestlist.randomness import stream
from guestlist.store import Store, read_or_explain
from guestlist.store.jsonable import from_json, to_json
from guestlist.store.manifest import PREDICTIONS

FILE = "baseline.json"
RECORDS = "baseline.npz"
VERSION = 6  # changes whenever the same records would give a different result


def cached_baseline(
    store: Store,
    x: np.ndarray | pd.DataFrame | None,
    y: np.ndarray | None,
    groups: Mapping[str, np.ndarray],
    persons: np.ndarray | None = None,
    *,
    values: bool,
    hashes: np.ndarray | None = None,
) -> Baseline | None:
    """Evaluate the baseline on the evaluated records, or read it from the folder if these records are the same.

    Args:
        store: Audit folder.
        x, y, groups, persons, values, hashes: as for :func:`cross_fit_baseline`, over all records of the pool.
    """
    # The manifest's digest of the data does not cover the features of prediction files.
    unsigned = x if store.manifest.recipe == PREDICTIONS else None
    digest = _digest(store, groups, persons, unsigned)
    path = store.folder / FILE
    if path.exists() and store.read_json(path).get("digest") == digest:
        return read_baseline(store)
    rows = np.flatnonzero(store.split.evaluated[0])
    fitted = cross_fit_baseline(
        x.iloc[rows] if isinstance(x, pd.DataFrame) else _take(x, rows),
        _take(y, rows),
        store.split.members[rows],
        _take(persons, rows),
        {name: texts[rows] for name, texts in groups.items()},
        values=values,
        rng=stream(store.manifest.seed, "baseline"),
        hashes=_take(hashes, rows),
    )
    if fitted is None:
        store.write_json(path, {"digest": digest, "baseline": None})
        return None
    store.write(store.folder / RECORDS, vars(scattered(fitted.cross_fitted, rows, len(store.split.members))))
    game = store.manifest.make_game()
    baseline = replace(fitted.baseline, game="" if is_iid(game) else game.name)
    store.write_json(path, {"digest": digest, "baseline": to_json(baseline)})
    return read_baseline(store)


def read_baseline(store: Store) -> Baseline | None:
    """Read the baseline from an audit folder; None where it was not evaluated."""
    path = store.folder / FILE
    if not path.exists():
        return None
    content = store.read_json(path)
    return read_or_explain(path, lambda path: from_json(Baseline | None, content["baseline"]))


def read_cross_fitted(store: Store) -> CrossFitted | None:
    """Read the baseline's predictions for each record of the pool; None where they were not stored."""
    path = store.folder / RECORDS
    if not path.exists():
        return None
    arrays = store.read(path)
    return CrossFitted(arrays["score"], arrays["fold"], arrays["propensity"])


def _take(values: np.ndarray | None, rows: np.ndarray) -> np.ndarray | None:
    return None if values is None else values[rows]


def _digest(
    store: Store,
    groups: Mapping[str, np.ndarray],
    persons: np.ndarray | None,
    x: np.ndarray | pd.DataFrame | None = None,
) -> str:
    """Hash everything that the result depends on."""
    manifest = store.manifest
    header = [str(VERSION), manifest.data, manifest.split, str(manifest.seed), manifest.scale]
    digest = hashlib.sha256("\n".join(header).encode())
    for name, texts in {**groups, **({} if persons is None else {"(person)": persons})}.items():
        digest.update(name.encode())
        digest.update(pd.util.hash_array(np.asarray(texts).astype(object)).tobytes())
    if x is not None:
        digest.update(row_hashes(Data(x, np.zeros(len(x)))).tobytes())
    return digest.hexdigest()
