"""Values of each record that the model owner computes from the target and the true membership."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from guestlist.arrays.threads import one_thread
from guestlist.collecting.evidence.plan import Plan, begin_plan, evidence_folder, stored_arrays
from guestlist.collecting.site import CollectContext
from guestlist.data import Data
from guestlist.store import Store
from guestlist.views.evidence import OwnersView

FILE = "values.npz"


def collect_values(
    context: CollectContext, plan: Plan, compute: Callable[[Data, np.ndarray], Mapping[str, np.ndarray]]
) -> None:
    """Compute and write values, unless they were written before.

    Args:
        compute: Function from members and evaluated records, and a mask of the members, to values by name. Values of evaluated
            records are written.
    """
    begin_plan(context.store, plan)
    path = evidence_folder(context.store, plan.name) / FILE
    if path.exists():
        context.store.check(path)
        return
    split = context.store.split
    rows = np.flatnonzero(split.members | split.evaluated[0])
    with one_thread():  # identical results on any number of cores
        values = compute(context.pool.copied(rows), split.members[rows])
    evaluated = split.evaluated[0][rows]
    arrays = {}
    for name, computed in values.items():
        arrays[name] = np.full(len(context.pool), np.nan)
        arrays[name][rows[evaluated]] = computed[evaluated]
    context.store.write(path, arrays)


def read_values(store: Store, name: str) -> OwnersView | None:
    """Read values that :func:`collect_values` wrote; None if there are none."""
    values = stored_arrays(store, name, FILE)
    return None if values is None else OwnersView(values)
