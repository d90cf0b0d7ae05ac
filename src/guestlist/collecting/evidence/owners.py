"""Values of each record that take the truth and the target to compute: kept as one number per record, without features."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from guestlist.arrays.threads import one_thread
from guestlist.collecting.evidence.plan import Plan, begin_plan, evidence_folder, plan_of
from guestlist.collecting.site import CollectContext
from guestlist.data import Data
from guestlist.store import Store
from guestlist.views.evidence import OwnersView


def collect_values(
    context: CollectContext, plan: Plan, compute: Callable[[Data, np.ndarray], Mapping[str, np.ndarray]]
) -> None:
    """Keep what ``compute`` finds, unless it was kept before.

    Args:
        compute: all members and all records that are asked about, and which of them are members, to values by name; kept
            are those of records that are asked about.
    """
    begin_plan(context.store, plan)
    path = _path(context.store, plan.name)
    if path.exists():
        context.store.check(path)
        return
    split = context.store.split
    rows = np.flatnonzero(split.members | split.evaluated[0])
    with one_thread():  # the same bits on any number of cores
        values = compute(context.pool.copied(rows), split.members[rows])
    asked, kept = split.evaluated[0][rows], {}
    for name, found in values.items():
        kept[name] = np.full(len(context.pool), np.nan)
        kept[name][rows[asked]] = found[asked]
    context.store.write(path, kept)


def kept_values(store: Store, name: str) -> OwnersView | None:
    """What was kept; None if nothing was."""
    path = _path(store, name)
    if plan_of(store, name) is None or not path.exists():
        return None
    return OwnersView(store.read(path))


def _path(store: Store, name: str) -> Path:
    return evidence_folder(store, name) / "values.npz"
