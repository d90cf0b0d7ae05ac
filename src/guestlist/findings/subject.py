"""Subject of an audit: the target, the numbers of records, and how well it fits them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from guestlist.case import Case, signal_of
from guestlist.games import Canaries


@dataclass(frozen=True)
class Subject:
    """The audited target and its records.

    ``member_persons`` and ``nonmember_persons`` are the numbers of those whose records these are, where that is known.
    A classifier has accuracies; a regression model has R² (None where all labels are equal) and root mean square errors.
    ``canaries`` says which labels they have, ``wrong`` or ``own``, where members and non-members are such;
    ``always_members`` is how many records train for certain, and are not evaluated.
    """

    name: str
    classes: int
    members: int
    nonmembers: int
    population: int
    accuracy_members: float | None = None
    accuracy_nonmembers: float | None = None
    r2_members: float | None = None
    r2_nonmembers: float | None = None
    rmse_members: float | None = None
    rmse_nonmembers: float | None = None
    member_persons: int | None = None
    nonmember_persons: int | None = None
    canaries: str | None = None
    always_members: int = 0


def find(case: Case) -> Subject:
    member = case.truth.member_evaluated
    return Subject(
        name=case.setting.name,
        classes=case.setting.classes,
        members=int(member.sum()),
        nonmembers=int((~member).sum()),
        population=int((~case.truth.evaluated & ~case.truth.member).sum()),
        member_persons=_persons(case, member),
        nonmember_persons=_persons(case, ~member),
        canaries=case.setting.game["labels"] if case.setting.game.get("name") == Canaries.name else None,
        always_members=int((case.truth.member & ~case.truth.evaluated).sum()),
        **_fit(case),
    )


def _persons(case: Case, kind: np.ndarray) -> int | None:
    return None if case.persons is None else len(np.unique(case.persons[kind]))


def _fit(case: Case) -> dict[str, float | None]:
    asked = case.truth.evaluated
    sides = {"members": case.truth.member_evaluated, "nonmembers": ~case.truth.member_evaluated}
    correct = signal_of(case.view, "correct")
    residual = signal_of(case.view, "residual")
    if correct is not None:
        return {f"accuracy_{name}": float(correct[asked][side].mean()) for name, side in sides.items()}
    if residual is None:
        return {}
    labels = case.records["label"].to_numpy(dtype=object)[asked].astype(np.float64)
    fit: dict[str, float | None] = {}
    for name, side in sides.items():
        off = np.square(residual[asked][side])
        total = np.square(labels[side] - labels[side].mean())
        fit[f"r2_{name}"] = float(1 - off.sum() / total.sum()) if total.sum() > 0 else None
        fit[f"rmse_{name}"] = float(np.sqrt(off.mean()))
    return fit
