"""From what a user has at hand to one pool of records, who is a member of it, and the folder of the audit."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from guestlist import checks
from guestlist.data import Data, as_data, concatenate, fingerprint, ordered_like
from guestlist.errors import FolderError, InputError
from guestlist.games import Game, Split, one_target, options_of, sides_like
from guestlist.store import Manifest, Store, open_store
from guestlist.store.manifest import write_manifest
from guestlist.targets import Target, as_target


@dataclass(frozen=True)
class Duplicates:
    """How many of the non-members that were given are equal to a member, and whether they were left out."""

    found: int
    nonmembers: int
    dropped: bool


@dataclass(frozen=True)
class Inputs:
    """Everything an audit needs, checked; what remains is the long work.

    Args:
        pool: all records, in the form the target reads.
        split: whom the target was trained on, and who is asked about.
        duplicates: None where membership was drawn by us: twins are then part of the game.
        twins: records given more than once, or almost; None likewise.
        game: that drew the split and draws that of the references; None: the sides are the user's own.
    """

    target: Target
    pool: Data
    split: Split
    duplicates: Duplicates | None = None
    twins: checks.Twins | None = None
    game: Game | None = None


def prepare(
    model,
    members,
    nonmembers,
    population=None,
    *,
    label: str | None = None,
    group: str | Sequence[str] = (),
    id: str | None = None,
    duplicates: Literal["warn", "drop"] = "warn",
) -> Inputs:
    """Check the inputs and bring them into one form; nothing here takes long."""
    target = as_target(model)
    given = {"members": members, "nonmembers": nonmembers, "population": population}
    groups = (group,) if isinstance(group, str) else tuple(group)
    sides = {
        side: as_data(source, side=side, label=label, group=groups, id=id)
        for side, source in given.items()
        if source is not None
    }
    sides = {side: target.fitting(ordered_like(data, sides["members"]), side) for side, data in sides.items()}
    checks.check_sides(sides, target.classes)
    for side, data in sides.items():
        checks.check_finite(side, data, target.predict)
        checks.check_readable(side, data, target.predict)
    sides, found = _without_twins(sides, duplicates)
    sizes = [len(data) for data in sides.values()]
    member = np.repeat([side == "members" for side in sides], sizes)
    asked = np.repeat([side != "population" for side in sides], sizes)
    return Inputs(
        target, concatenate(list(sides.values())), one_target(member, asked), found, checks.twins_among(sides)
    )


def store_for(
    inputs: Inputs, folder: Path, *, references: int, seed: int, about: Mapping[str, Any] | None = None
) -> Store:
    """The audit folder for these inputs: a new one, or the one that was made for them before."""
    target, pool, split = inputs.target, inputs.pool, inputs.split
    manifest = Manifest(
        data=digest(fingerprint(pool)),
        split=digest(split.member[0].tobytes().hex(), split.asked[0].tobytes().hex()),
        recipe=digest(target.recipe),
        seed=seed,
        game=_game(inputs, folder, references),
        scale=target.scale.name,
        classes=tuple(map(str, target.classes)),
        about={"name": target.name, **(about or {})},
    )
    store = open_store(folder, manifest)
    table = pd.DataFrame({"id": pool.ids, "label": pool.y.astype(str), "class": target.classes_of(pool.y)})
    store.write_pool(table.assign(**{f"group_{name}": values for name, values in pool.groups.items()}))
    _keep_split(store, split)
    return store


def digest(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _game(inputs: Inputs, folder: Path, references: int) -> Mapping[str, Any]:
    """Name and options of the game; more references later must not change those that are there."""
    if inputs.game is not None:
        return options_of(inputs.game)
    members, nonmembers = int(inputs.split.members.sum()), int(inputs.split.nonmembers.sum())
    game = options_of(sides_like(members, nonmembers, len(inputs.pool), references))
    if not (folder / "manifest.json").exists():
        return game
    there = open_store(folder)
    if (folder / "split.npz").exists() and len(there.split) > 1:
        return there.manifest.game
    write_manifest(folder / "manifest.json", replace(there.manifest, game=game))  # no reference was drawn by it yet
    return game


def _keep_split(store: Store, split: Split) -> None:
    """Write down the target's row, or check that it is the one that stands there: a split is never drawn twice."""
    if not (store.folder / "split.npz").exists():
        store.write_split(split)
    elif not all(np.array_equal(getattr(store.split, name)[:1], getattr(split, name)) for name in ("member", "asked")):
        raise FolderError(
            f"{store.folder / 'split.npz'} does not fit the manifest beside it: the folder is damaged. Choose another."
        )


def _without_twins(sides: dict[str, Data], choice: str) -> tuple[dict[str, Data], Duplicates]:
    if choice not in ("warn", "drop"):
        raise ValueError(f"Expected duplicates={choice!r} to be 'warn' or 'drop'.")
    duplicate = checks.duplicates_across(sides["members"], sides["nonmembers"])
    found = Duplicates(int(duplicate.sum()), len(duplicate), choice == "drop")
    if choice == "warn":
        checks.check_not_the_same(duplicate)
        return sides, found
    if duplicate.all():
        raise InputError("Every non-member also stands among the members; none is left after dropping them.")
    return {**sides, "nonmembers": sides["nonmembers"].take(np.flatnonzero(~duplicate))}, found
