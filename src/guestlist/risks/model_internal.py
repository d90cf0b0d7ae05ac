"""Risks read from the model itself: leverage, loss traces, tree leaves and K-NN values."""

from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from guestlist._case import Case
from guestlist.data import Data, as_data
from guestlist.errors import InputError
from guestlist.evidence.owner_values import SHAPR_K, shapr, shapr_of_members
from guestlist.models import (
    Target,
    as_target,
    check_finite,
    check_readable,
    check_sides,
    default_space,
    query,
    space_of,
)


def owner_value(case: Case, evidence: str, name: str) -> np.ndarray:
    """Return (records,) values that were collected as evidence of the model owner; NaN where a record is not evaluated."""
    return case.evidence(evidence).values[name]


def loss_tail(case: Case) -> np.ndarray:
    """Return (records,) the share of the members of the record's class that the target fits better.

    A member in the upper tail of losses is an outlier, and attacks identify outliers more often than others. Outliers that the
    model fitted nevertheless are identified most often, and the final loss does not reveal them: this risk is only a
    first indication (Pollock et al. 2024; Dodd et al. 2025). NaN where the record is not evaluated.
    """
    loss = case.view.target("loss")
    member = case.truth.member
    known = case.truth.evaluated & ~np.isnan(loss)
    classes = case.records["class"].to_numpy()
    tail = np.full(len(loss), np.nan)
    for label in np.unique(classes[known]):
        rows = np.flatnonzero(known & (classes == label))
        rows = rows[np.argsort(loss[rows])]  # Searching for sorted values is several times as fast.
        member_losses = loss[rows[member[rows]]]
        if len(member_losses):
            # Ties count half, so that the result does not depend on the order of records.
            ranks = (np.searchsorted(member_losses, loss[rows], side) for side in ("left", "right"))
            tail[rows] = sum(ranks) / (2 * len(member_losses))
    return tail


class LeafRisk(NamedTuple):
    """Sizes of the leaves of each record.

    Attributes:
        leaf_size: (records,) median over trees of the number of members in its leaf.
        alone: (records,) share of trees in which no other member is in its leaf.
    """

    leaf_size: np.ndarray
    alone: np.ndarray


def leaf_risk_of(leaf: np.ndarray, member: np.ndarray) -> LeafRisk:
    """Compute the sizes of the leaves of each record.

    Args:
        leaf: (records, trees) numbers of leaves.
        member: (records,) true for the records that the model was trained on.

    Returns:
        The sizes of the leaves.
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


def checked_records(target: Target, tables: dict[str, Any], *, label: str | None, id: str | None) -> dict[str, Data]:
    """Return the records of each set as the target reads them; raise if they do not fit it."""
    sides = {side: target.fitting(as_data(part, side=side, label=label, id=id), side) for side, part in tables.items()}
    check_sides(sides, target.classes)
    for side, data in sides.items():
        check_finite(side, data, target.predict)
    check_readable(sides, target.predict)
    return sides


def leaf_risk(model, members, *, label: str | None = None, id: str | None = None) -> pd.DataFrame:
    """List the leaf sizes of the members of a fitted tree, forest or boosted trees.

    Args:
        model: Model of scikit-learn, XGBoost or LightGBM, or a pipeline that ends in one.
        members: The records it was trained on: ``(x, y)``, a table with a ``label`` column, or a path to one.
        label, id: Columns of a table.

    Returns:
        One row per member, in the order given: ``id``, ``label``, ``leaf_size`` (median over trees of the number of
        members in its leaf) and ``alone`` (share of trees in which it is the only member of its leaf).

    Raises:
        InputError: If the model has no trees, or the records do not fit it.
    """
    target = as_target(model)
    leaves = target.needs(
        "leaves", "Expected a tree, forest or boosted trees of scikit-learn, XGBoost or LightGBM, found {name}{why}."
    )
    data = checked_records(target, {"members": members}, label=label, id=id)["members"]
    leaf = query(leaves, data.x).leaf
    if not leaf.shape[1]:
        raise InputError(f"{target.name} has no trees. Pass a fitted tree, forest or boosted trees.")
    risk = leaf_risk_of(leaf, np.ones(len(data), dtype=bool))
    return pd.DataFrame({"id": data.ids, "label": data.y, **risk._asdict()})


def shapr_of(
    model,
    members,
    nonmembers,
    *,
    space: str | None = None,
    label: str | None = None,
    id: str | None = None,
    k: int = SHAPR_K,
) -> pd.DataFrame:
    """Compute SHAPr of the members of a model, in a space derived from the model (Duddu et al. 2022).

    Args:
        model: a fitted classifier of scikit-learn, or a target made by ``torch_target`` or ``function_target``.
        members: the records it was trained on: ``(x, y)``, a table with a ``label`` column, or a path to one.
        nonmembers: test records, of the same source.
        space: ``inputs``, ``first_layer``, ``last_hidden`` or ``outputs``; by default the first layer of a torch target, and
            the outputs of others. For a custom space, pass its array to ``shapr``.
        label, id: columns of tables.
        k: number of neighbours that vote.

    Returns:
        One row per member, in the order given: ``id``, ``label`` and ``shapr``: at risk when above 0.

    Raises:
        InputError: If the model predicts values, the space is unknown, or the records do not fit it.
    """
    target = as_target(model)
    if not target.scale.has_classes:
        raise InputError(
            f"{target.name} predicts values, and SHAPr needs a classifier. Use another risk, such as gl.risks.leverage."
        )
    name = default_space(target) if space is None else space
    sides = checked_records(target, {"members": members, "nonmembers": nonmembers}, label=label, id=id)
    member_x, test_x = (space_of(target, name, data.x) for data in sides.values())
    member_labels, test_labels = (target.labels_of(data.y) for data in sides.values())
    values = shapr(member_x, member_labels, test_x, test_labels, k=k)
    return pd.DataFrame({"id": sides["members"].ids, "label": sides["members"].y, "shapr": values})


def shapr_of_outputs(case: Case) -> np.ndarray:
    """Return (records,) SHAPr of members in the space of the target's outputs; NaN for others.

    Non-members are the test records.
    """
    outputs = _outputs(case)
    members, tests = (_side(case, outputs, side) for side in (True, False))
    return shapr_of_members(outputs, case.view.labels, members, tests)


def knn_value_of_outputs(case: Case, value: Literal["self_waka", "self_shapley"]) -> np.ndarray:
    """Return (records,) K-NN values of members in the space of the target's probabilities; NaN for others."""
    from guestlist import knn  # imports numba, which few audits need

    outputs = _outputs(case)
    labels = case.view.labels
    members = _side(case, outputs, True)
    values = np.full(len(labels), np.nan)
    if members.any():
        values[members] = getattr(knn, value)(outputs[members], labels[members], knn.Knn(SHAPR_K))
    return values


def _outputs(case: Case) -> np.ndarray:
    assert case.view.outputs is not None, "the row asks for outputs"
    return np.exp(case.view.outputs)


def _side(case: Case, outputs: np.ndarray, member: bool) -> np.ndarray:
    """Return (records,) true for the evaluated members, or non-members, that the target has outputs for."""
    return case.truth.evaluated & (case.truth.member == member) & ~np.isnan(outputs).any(axis=1)
