"""From what a user has at hand to one pool of records, who is a member of it, and the folder of the audit."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypedDict

import numpy as np
import pandas as pd

from guestlist import checks
from guestlist.arguments import one_of, place, shown
from guestlist.calling import numpy_defaults
from guestlist.data import Data, as_data, column_names, concatenate, ordered_like
from guestlist.errors import FolderError, InputError
from guestlist.fit_params import split_by_side
from guestlist.games import Game, Split, draw, is_alike, one_target, options_of, sides_like
from guestlist.hashes import fingerprint, row_hashes
from guestlist.randomness import stream
from guestlist.store import Manifest, Store, open_store
from guestlist.store.jsonable import to_json
from guestlist.store.manifest import write_manifest
from guestlist.store.seals import text_digest
from guestlist.targets import Target, as_target
from guestlist.targets.estimators import with_fit_params


class Columns(TypedDict, total=False):
    """Names of columns in a user's tables."""

    label: str | None
    group: str | Sequence[str]
    id: str | None
    person: str | None


@dataclass(frozen=True)
class Duplicates:
    """How many of the non-members that were given are members too, and whether they were left out.

    A record is if it equals a member's, or is of a person who stands among the members; ``persons`` is how many those are,
    where it is known whose records these are.
    """

    found: int
    nonmembers: int
    dropped: bool
    persons: int | None = None


@dataclass(frozen=True)
class Repeats:
    """Records of a pool, and how many names they have in the column that names them."""

    records: int
    names: int


@dataclass(frozen=True)
class Inputs:
    """Everything an audit needs, checked; what remains is the long work.

    Args:
        pool: all records, in the form the target reads.
        split: whom the target was trained on, and who is asked about.
        duplicates: None where membership was drawn by us: twins are then part of the game.
        twins: records given more than once, or almost; None likewise.
        game: that drew the split and draws that of the references; None: the sides are the user's own.
        rows: (records,) where each stood among the records as they were given; None: they stand so still.
        hashes: (records,) of features and label, where they are known.
        repeats: None where nobody named the records, or it is known whose they are.
    """

    target: Target
    pool: Data
    split: Split
    duplicates: Duplicates | None = None
    twins: checks.Twins | None = None
    game: Game | None = None

    rows: np.ndarray | None = None
    hashes: np.ndarray | None = None
    repeats: Repeats | None = None

    @property
    def drawn(self) -> bool:
        """Whether members were drawn by us, so that they differ from non-members by chance alone."""
        return self.game is not None and is_alike(self.game)


@numpy_defaults()
def prepare(
    model,
    members,
    nonmembers,
    population=None,
    *,
    label: str | None = None,
    group: str | Sequence[str] = (),
    id: str | None = None,
    person: str | None = None,
    duplicates: Literal["warn", "drop"] = "warn",
    seed: int = 0,
    fit_params: Mapping[str, Any] | None = None,
) -> Inputs:
    """Check the inputs and bring them into one form; nothing here takes long.

    The records are shuffled: if members came first, an attack that ranks equals by their order would know the truth.
    """
    target = as_target(model)
    given = {"members": members, "nonmembers": nonmembers}
    given |= {} if population is None else {"population": population}
    groups = column_names("group", group)
    one_of("duplicates", duplicates, ("warn", "drop"))
    sides = {
        side: as_data(source, side=side, label=label, group=groups, id=id, person=person)
        for side, source in given.items()
    }
    sides = {side: target.fitting(ordered_like(data, sides["members"]), side) for side, data in sides.items()}
    if fit_params:
        given_to_fit = split_by_side(fit_params, {side: len(data) for side, data in sides.items()})
        target = with_fit_params(target, given_to_fit["members"])
        sides = {side: data.changed(fit_params=given_to_fit[side]) for side, data in sides.items()}
    checks.check_sides(sides, target.classes)
    for side, data in sides.items():
        checks.check_finite(side, data, target.predict)
    checks.check_first_records(sides, target.predict)
    pool = concatenate(list(sides.values()))
    hashes, sizes = row_hashes(pool), [len(data) for data in sides.values()]
    member, outside = (np.repeat([side == one for side in sides], sizes) for one in ("members", "nonmembers"))
    kept, found = _without_duplicates(hashes, pool.persons, member, outside, duplicates)
    repeated = checks.repeated_in_population(hashes, member, outside)
    rows = shuffled(np.flatnonzero(kept & ~repeated), seed)
    return Inputs(
        target,
        reset_rows(pool.take(rows)),
        one_target(member[rows], (member | outside)[rows]),
        found,
        checks.twins_among(pool.take(kept), hashes[kept], member[kept], outside[kept], repeated[kept]),
        rows=rows,
        hashes=hashes[rows],
        repeats=repeats(pool.ids[member | outside]) if id is not None and person is None else None,
    )


def _without_duplicates(
    hashes: np.ndarray, persons: np.ndarray | None, member: np.ndarray, outside: np.ndarray, choice: str
) -> tuple[np.ndarray, Duplicates]:
    """(records,) true for those that stay, and what was found; ``drop`` leaves out non-members that are members too."""
    again = checks.members_again(hashes, persons, member, outside)
    both = None if persons is None else len(set(persons[member]) & set(persons[outside]))
    found = Duplicates(int(again.sum()), int(outside.sum()), choice == "drop", both)
    if choice == "warn":
        checks.check_not_the_same(again[outside])
        return np.ones(len(hashes), dtype=bool), found
    if again.sum() == outside.sum():
        raise InputError("Every non-member also stands among the members; none is left after dropping them.")
    return ~again, found


def check_about(about) -> None:
    """Raise unless the notes for the manifest are a mapping of JSON values."""
    if about is not None and not isinstance(about, Mapping):
        raise ValueError(f"Expected about={shown(about)} to be a dict of texts and numbers.")
    try:
        json.dumps(to_json(about), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"Expected about={shown(about)} to hold texts and numbers alone ({error}).") from error


def check_folder(folder) -> None:
    if folder is not None:
        place("folder", folder)


def shuffled(rows: np.ndarray, seed: int) -> np.ndarray:
    """The rows in an order that says nothing."""
    return stream(seed, "pool").permutation(rows)


def reset_rows(pool: Data) -> Data:
    """Rows of tables numbered in their order, as they were before they were shuffled."""
    return pool.with_x(pool.x.reset_index(drop=True)) if isinstance(pool.x, pd.DataFrame) else pool


def repeats(ids: np.ndarray) -> Repeats:
    """How often records share a name."""
    return Repeats(len(ids), len(set(ids)))


def store_of_inputs(
    inputs: Inputs, folder: Path, *, references: int, seed: int, about: Mapping[str, Any] | None = None
) -> Store:
    """The audit folder for these inputs: a new one, or the one that was made for them before."""
    target, pool, split = inputs.target, inputs.pool, inputs.split
    store = open_store(folder, _manifest(inputs, _game(inputs, folder, references), seed, about))
    table = pd.DataFrame({"id": pool.ids, "label": _as_texts(pool.y), "class": target.classes_of(pool.y)})
    table = table.assign(**{f"group_{name}": values for name, values in pool.groups.items()})
    table = table if pool.persons is None else table.assign(person=pool.persons)
    store.write_pool(table if inputs.rows is None else table.assign(row=inputs.rows))
    _keep_split(store, split)
    return store


def _as_texts(labels: np.ndarray) -> np.ndarray:
    """(records,) labels as text. Of classes each is written once; objects may be equal and yet of different texts."""
    if labels.dtype.kind not in "biu":
        return labels.astype(str)
    different, which = np.unique(labels, return_inverse=True)
    return different.astype(str)[which]


def planned(inputs: Inputs, references: int, seed: int) -> Split:
    """Who would train on what in a new folder."""
    manifest = _manifest(inputs, _new_game(inputs, references), seed)
    return draw(manifest.make_game(), inputs.pool, 1 + references, manifest.rows_seed, given=inputs.split)


def _manifest(inputs: Inputs, game: Mapping[str, Any], seed: int, about: Mapping[str, Any] | None = None) -> Manifest:
    target, split = inputs.target, inputs.split
    return Manifest(
        data=text_digest(fingerprint(inputs.pool, inputs.hashes)),
        split=text_digest(split.member[0].tobytes().hex(), split.evaluated[0].tobytes().hex()),
        recipe=text_digest(target.recipe),
        seed=seed,
        game=game,
        scale=target.scale.name,
        classes=tuple(map(str, target.classes)),
        about={**_about(inputs), **(about or {})},
    )


def _about(inputs: Inputs) -> dict[str, Any]:
    found: dict[str, Any] = {"name": inputs.target.name}
    if inputs.drawn:
        found["drawn"] = True
    if inputs.target.training is not None:
        found["training"] = to_json(inputs.target.training)
    return found


def _game(inputs: Inputs, folder: Path, references: int) -> Mapping[str, Any]:
    """Name and options of the game; more references later must not change those that are there."""
    game = _new_game(inputs, references)
    if inputs.game is not None or not (folder / "manifest.json").exists():
        return game
    there = open_store(folder)
    if (folder / "split.npz").exists() and len(there.split) > 1:
        return there.manifest.game
    write_manifest(folder / "manifest.json", replace(there.manifest, game=game))  # no reference was drawn by it yet
    return game


def _new_game(inputs: Inputs, references: int) -> Mapping[str, Any]:
    if inputs.game is not None:
        return options_of(inputs.game)
    members, nonmembers = int(inputs.split.members.sum()), int(inputs.split.nonmembers.sum())
    return options_of(sides_like(members, nonmembers, len(inputs.pool), references))


def _keep_split(store: Store, split: Split) -> None:
    """Write down the target's row, or check that it is the one that stands there: a split is never drawn twice."""
    if not (store.folder / "split.npz").exists():
        store.write_split(split)
    elif not all(
        np.array_equal(getattr(store.split, name)[:1], getattr(split, name)) for name in ("member", "evaluated")
    ):
        raise FolderError(
            f"{store.folder / 'split.npz'} does not fit the manifest beside it: the folder is damaged. Choose another."
        )
