"""Members that are the only ones in a leaf of a tree model, whose output there comes from one record.

This is a screen by the model owner, who knows the members; it is not an attack. It trains nothing, and reads the structure of
the trees, not their outputs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from guestlist.calling import query
from guestlist.case import Case
from guestlist.checks import check_finite, check_readable, check_sides
from guestlist.data import as_data
from guestlist.errors import InputError
from guestlist.targets import as_target


class LeafRisk(NamedTuple):
    """(records,) sizes of the leaves of a record.

    ``leaf_size`` is the median over trees of the number of members in its leaf; ``alone`` the share of trees in which no
    other member is there.
    """

    leaf_size: np.ndarray
    alone: np.ndarray


def leaf_risk_of(leaf: np.ndarray, member: np.ndarray) -> LeafRisk:
    """Compute the sizes of the leaves of each record.

    Args:
        leaf: (records, trees) numbers of leaves.
        member: (records,) true for the records that the model was trained on.
    """
    size = np.stack([np.bincount(leaves, member, leaves.max() + 1)[leaves] for leaves in leaf.T], axis=1)
    return LeafRisk(np.median(size, axis=1), (size == member[:, None]).mean(axis=1))


def alone_in_leaves(case: Case) -> np.ndarray:
    """Return (records,) the share of trees with no other member in the record's leaf; NaN where it is not evaluated."""
    leaf = case.view.evidence.need("leaves").leaf
    evaluated = case.truth.evaluated
    alone = np.full(len(evaluated), np.nan)
    if leaf.shape[1]:
        alone[evaluated] = leaf_risk_of(leaf[evaluated], case.truth.member_evaluated).alone
    return alone


def leaf_risk(model, members, *, label: str | None = None, id: str | None = None) -> pd.DataFrame:
    """List the leaf sizes of the members of a fitted tree, forest or boosted trees.

    Args:
        model: of scikit-learn, XGBoost or LightGBM, alone or last in a pipeline.
        members: the records it was trained on: ``(x, y)``, a table with a ``label`` column, or a path to one.
        label, id: columns of a table.

    Returns:
        One row per member, in the order given: ``id``, ``label``, ``leaf_size`` (median over trees of the number of
        members in its leaf) and ``alone`` (share of trees in which it is the only member of its leaf).
    """
    target = as_target(model)
    leaves = target.needs(
        "leaves", "Expected a tree, forest or boosted trees of scikit-learn, XGBoost or LightGBM, found {name}{why}."
    )
    data = target.fitting(as_data(members, side="members", label=label, id=id), "members")
    check_sides({"members": data}, target.classes)
    check_finite("members", data, target.predict)
    check_readable({"members": data}, target.predict)
    leaf = query(leaves, data.x).leaf
    if not leaf.shape[1]:
        raise InputError(f"{target.name} has no trees.")
    risk = leaf_risk_of(leaf, np.ones(len(data), dtype=bool))
    return pd.DataFrame({"id": data.ids, "label": data.y, **risk._asdict()})
