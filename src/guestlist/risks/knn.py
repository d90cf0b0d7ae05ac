"""Values of members for a K-NN model in some space: SHAPr, self-WaKA, self-Shapley.

A case holds no features, so its rows are in the space of the target's outputs, or in those that were looked at while the target
was at hand (evidence ``spaces``).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from guestlist.case import Case
from guestlist.checks import check_finite, check_readable, check_sides
from guestlist.data import Data, as_data
from guestlist.errors import InputError
from guestlist.neighbours.shapr import SHAPR_K, shapr, shapr_of_members
from guestlist.targets import as_target
from guestlist.targets.spaces import default_space, space_of
from guestlist.targets.target import Target


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
    """SHAPr of the members of a model, in a space that the model makes of the features (Duddu et al. 2022).

    Args:
        model: a fitted classifier of scikit-learn, or a target made by ``torch_target`` or ``function_target``.
        members: the records it was trained on: ``(x, y)``, a table with a ``label`` column, or a path to one.
        nonmembers: test records, of the same source.
        space: ``inputs``, ``first_layer``, ``last_hidden`` or ``outputs``; by default the first layer of a torch target, and
            the outputs of others. For a space of your own, give its array to ``shapr``.
        label, id: columns of tables.
        k: neighbours that vote.

    Returns:
        One row per member, in the order given: ``id``, ``label`` and ``shapr``: at risk when above 0.
    """
    target = as_target(model)
    if not target.scale.has_classes:
        raise InputError(f"{target.name} predicts values, and SHAPr is about classes.")
    name = default_space(target) if space is None else space
    given = {"members": members, "nonmembers": nonmembers}
    sides = {side: target.fitting(as_data(part, side=side, label=label, id=id), side) for side, part in given.items()}
    check_sides(sides, target.classes)
    for side, data in sides.items():
        check_finite(side, data, target.predict)
    check_readable(sides, target.predict)
    (own, tests), (own_labels, test_labels) = _placed(target, name, [*sides.values()])
    values = shapr(own, own_labels, tests, test_labels, k=k)
    return pd.DataFrame({"id": sides["members"].ids, "label": sides["members"].y, "shapr": values})


def _placed(target: Target, name: str, sides: list[Data]) -> tuple[list[np.ndarray], list[np.ndarray]]:
    return [space_of(target, name, data.x) for data in sides], [target.labels_of(data.y) for data in sides]


def shapr_of_outputs(case: Case) -> np.ndarray:
    """(records,) SHAPr of members in the space of the target's probabilities, non-members as test records; NaN for others."""
    outputs = _outputs(case)
    members, tests = (_side(case, outputs, side) for side in (True, False))
    return shapr_of_members(outputs, case.view.labels, members, tests)


def shapr_in(space: str) -> Callable[[Case], np.ndarray]:
    """A risk: SHAPr in a space that was looked at while the target was at hand."""

    def risk(case: Case) -> np.ndarray:
        return case.evidence("spaces").values[space]

    return risk


def self_waka_of_outputs(case: Case) -> np.ndarray:
    """(records,) self-WaKA of members in the space of the target's probabilities; NaN for others."""
    return _own(case, "self_waka")


def self_shapley_of_outputs(case: Case) -> np.ndarray:
    """(records,) self-Shapley of members in the space of the target's probabilities; NaN for others."""
    return _own(case, "self_shapley")


def _own(case: Case, name: str) -> np.ndarray:
    from guestlist import neighbours  # imports numba when a value is asked for

    outputs, labels = _outputs(case), case.view.labels
    members = _side(case, outputs, True)
    values = np.full(len(labels), np.nan)
    if members.any():
        value = getattr(neighbours, name)
        values[members] = value(outputs[members], labels[members], neighbours.Knn(SHAPR_K))
    return values


def _outputs(case: Case) -> np.ndarray:
    assert case.view.answers is not None, "the row asks for answers"
    return np.exp(case.view.answers)


def _side(case: Case, outputs: np.ndarray, member: bool) -> np.ndarray:
    """(records,) the asked members, or the asked non-members, about whom the target said something."""
    return case.truth.evaluated & (case.truth.member == member) & ~np.isnan(outputs).any(axis=1)
