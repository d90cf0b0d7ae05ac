"""Features of the most exposed records on a page, for someone who asks for them and still has the records.

No audit keeps a feature, so they are looked up by id in the records themselves, and only the page that was asked for holds them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pandas as pd

from guestlist.arguments import shown
from guestlist.data import Data
from guestlist.errors import InputError
from guestlist.findings.results import Results

MAX_COLUMNS = 50  # columns: more of them nobody reads in a table


def with_features(results: Results, members: Data) -> Results:
    """The same results, the most exposed members with their features; writing these results would write features.

    Args:
        members: the training records, with the ids they had in the audit.
    """
    if not isinstance(members, Data):
        raise InputError(
            f"Expected features={shown(members)} to be the members of the audit with their ids: gl.Data(x, y, ids=…)."
        )
    listed = {one.id for one in results.exposed or ()}
    seen = Counter(str(id) for id in members.ids)
    missing, twice = listed - set(seen), {id for id in listed if seen[id] > 1}
    if missing or twice:
        what = f"{len(missing)} are not among these records" if missing else f"{len(twice)} stand for several records"
        raise InputError(
            f"Features are looked up by id, and of {len(listed)} ids on the list {what}. "
            "Give the members of the audit, with the same id column."
        )
    columns = _columns(members)
    row = {str(id): position for position, id in enumerate(members.ids) if str(id) in listed}
    return replace(
        results,
        exposed=tuple(
            replace(one, features={name: str(values[row[one.id]]) for name, values in columns.items()})
            for one in results.exposed or ()
        ),
    )


def _columns(members: Data) -> dict[str, list]:
    """Name to values of each feature that is shown; groups stand in the table already."""
    x = members.x if isinstance(members.x, pd.DataFrame) else None
    if x is None and members.x.ndim > 2:
        raise InputError(f"A table shows one number per feature; these records are shaped {members.x.shape[1:]}.")
    if x is None:
        one = members.x.ndim == 1  # a text
        x = pd.DataFrame(members.x, columns=["text"] if one else [f"x{i}" for i in range(members.x.shape[1])])
    shown = [name for name in x.columns if str(name) not in members.groups][:MAX_COLUMNS]
    return {str(name): x[name].tolist() for name in shown}
