"""Features of the most exposed records, added to a page on request.

No audit stores features. They are looked up by id in the records that the user passes, and only the requested page holds them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pandas as pd

from guestlist.arguments import short_repr
from guestlist.data import Data
from guestlist.errors import InputError
from guestlist.findings.results import Results

MAX_COLUMNS = 50  # a wider table is not readable


def with_features(results: Results, members: Data) -> Results:
    """Return results whose most exposed members carry their features; writing these results would write features.

    Args:
        results: Results of an audit.
        members: Training records with the ids they had in the audit.
    """
    if not isinstance(members, Data):
        raise InputError(
            f"Expected features={short_repr(members)} to be the members of the audit with their ids: gl.Data(x, y, ids=…)."
        )
    listed = {record.id for record in results.exposed or ()}
    rows_per_id = Counter(str(id) for id in members.ids)
    missing = listed - set(rows_per_id)
    ambiguous = {id for id in listed if rows_per_id[id] > 1}
    if missing or ambiguous:
        problem = f"{len(ambiguous)} stand for several records"
        if missing:
            problem = f"{len(missing)} are not among these records"
        raise InputError(
            f"Features are looked up by id, and of {len(listed)} ids on the list {problem}. "
            "Give the members of the audit, with the same id column."
        )
    columns = _columns(members)
    row = {str(id): position for position, id in enumerate(members.ids) if str(id) in listed}
    exposed = [
        replace(record, features={name: str(values[row[record.id]]) for name, values in columns.items()})
        for record in results.exposed or ()
    ]
    return replace(results, exposed=tuple(exposed))


def _columns(members: Data) -> dict[str, list]:
    """Return the values of each displayed feature by name; the table has the groups already."""
    x = members.x
    if not isinstance(x, pd.DataFrame) and x.ndim > 2:
        raise InputError(f"A table shows one number per feature; these records are shaped {x.shape[1:]}.")
    if not isinstance(x, pd.DataFrame):
        x = pd.DataFrame(x, columns=["text"] if x.ndim == 1 else [f"x{i}" for i in range(x.shape[1])])
    names = [name for name in x.columns if str(name) not in members.groups][:MAX_COLUMNS]
    return {str(name): x[name].tolist() for name in names}
