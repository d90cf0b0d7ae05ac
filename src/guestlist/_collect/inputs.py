"""Inputs of an audit: one pool of records, its members, and validation of rare categories."""

import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from guestlist._collect.references import is_unknown_category
from guestlist._store import (
    Manifest,
    Store,
    fingerprint,
    model_path,
    open_store,
    row_hashes,
    text_digest,
    to_json,
    write_manifest,
)
from guestlist._util import as_path, choice, names_ending, one_thread, short_repr, split_by_side, stream
from guestlist.data import Data, as_data, column_names, concatenate, ordered_like
from guestlist.defences import Refit
from guestlist.errors import FolderError, InputError
from guestlist.games import Game, Split, draw, is_iid, matching_sides, options_of, single_target_split
from guestlist.models import Target, Train, as_target, input_checks, numpy_defaults, with_fit_params


@dataclass(frozen=True)
class Duplicates:
    """Number of non-members that are also members, and whether they were removed.

    A non-member counts if it equals a member's record, or belongs to a person who has a record among the members; ``persons``
    is the number of such persons, if person identifiers are given.
    """

    count: int
    nonmembers: int
    dropped: bool
    persons: int | None = None


@dataclass(frozen=True)
class Repeats:
    """Number of records of a pool, and of different names in their id column."""

    records: int
    names: int


@dataclass(frozen=True)
class Inputs:
    """Validated inputs of an audit.

    Args:
        pool: All records, in the form that the target reads.
        split: Members of the target, and evaluated records.
        duplicates: None if guestlist drew the members: duplicates are then part of the game.
        duplicate_counts: Duplicates and near-duplicates among the records; None in the same case.
        game: Game that drew the split and draws that of the references; None if the user gave the members.
        rows: (records,) position of each record in the user's tables; None if the order is the same.
        hashes: (records,) hashes of features and label, if they are known.
        repeats: None if the records have no ids, or person identifiers are given.
    """

    target: Target
    pool: Data
    split: Split
    duplicates: Duplicates | None = None
    duplicate_counts: input_checks.DuplicateCounts | None = None
    game: Game | None = None
    rows: np.ndarray | None = None
    hashes: np.ndarray | None = None
    repeats: Repeats | None = None

    @property
    def drawn(self) -> bool:
        """True if guestlist drew the members, so that they differ from non-members only by chance."""
        return self.game is not None and is_iid(self.game)


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
    """Validate the inputs and convert them to one form; nothing here takes long.

    The records are shuffled: if members came first, an attack that ranks ties by their order would know the truth.
    """
    target = as_target(model)
    sources = {"members": members, "nonmembers": nonmembers}
    if population is not None:
        sources["population"] = population
    groups = column_names("group", group)
    choice("duplicates", duplicates, ("warn", "drop"))
    sides = {
        side: as_data(source, side=side, label=label, group=groups, id=id, person=person)
        for side, source in sources.items()
    }
    sides = {side: target.fitting(ordered_like(data, sides["members"]), side) for side, data in sides.items()}
    if fit_params:
        params = split_by_side(fit_params, {side: len(data) for side, data in sides.items()})
        target = with_fit_params(target, params["members"])
        sides = {side: data.changed(fit_params=params[side].updated(data.fit_params)) for side, data in sides.items()}
    input_checks.check_sides(sides, target.classes)
    for side, data in sides.items():
        input_checks.check_finite(side, data, target.predict)
    input_checks.check_first_records(sides, target.predict)
    pool = concatenate(list(sides.values()))
    hashes = row_hashes(pool)
    sizes = [len(data) for data in sides.values()]
    member = np.repeat([side == "members" for side in sides], sizes)
    outside = np.repeat([side == "nonmembers" for side in sides], sizes)
    retained, counts = _drop_duplicates(hashes, pool.persons, member, outside, duplicates)
    repeated = input_checks.repeated_in_population(hashes, member, outside)
    near = input_checks.count_duplicates(
        pool.take(retained), hashes[retained], member[retained], outside[retained], repeated[retained]
    )
    rows = shuffle_rows(np.flatnonzero(retained & ~repeated), seed)
    return Inputs(
        target=target,
        pool=reset_rows(pool.take(rows)),
        split=single_target_split(member[rows], (member | outside)[rows]),
        duplicates=counts,
        duplicate_counts=near,
        rows=rows,
        hashes=hashes[rows],
        repeats=repeated_ids(pool.ids[member | outside]) if id is not None and person is None else None,
    )


def _drop_duplicates(
    hashes: np.ndarray, persons: np.ndarray | None, member: np.ndarray, outside: np.ndarray, choice: str
) -> tuple[np.ndarray, Duplicates]:
    """Return the (records,) mask of those that stay, and counts of non-members that are also members."""
    again = input_checks.members_again(hashes, persons, member, outside)
    both = None if persons is None else len(set(persons[member]) & set(persons[outside]))
    counts = Duplicates(int(again.sum()), int(outside.sum()), choice == "drop", both)
    if choice == "warn":
        input_checks.check_not_the_same(again[outside])
        return np.ones(len(hashes), dtype=bool), counts
    if again.sum() == outside.sum():
        raise InputError(
            "Every non-member is also a member, so none is left after dropping duplicates. Provide other non-members."
        )
    return ~again, counts


def check_about(about: Mapping[str, Any]) -> None:
    """Raise unless the notes for the manifest hold only JSON values."""
    try:
        json.dumps(to_json(about), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"about={short_repr(about)} must hold only texts and numbers ({error}).") from error


def check_folder(folder) -> None:
    """Raise unless the folder of an audit is a path or None."""
    if folder is not None:
        as_path("folder", folder)


def shuffle_rows(rows: np.ndarray, seed: int) -> np.ndarray:
    """Return the rows in random order."""
    return stream(seed, "pool").permutation(rows)


def reset_rows(pool: Data) -> Data:
    """Number the rows of a table from 0, as before they were shuffled."""
    if isinstance(pool.x, pd.DataFrame):
        return pool.changed(x=pool.x.reset_index(drop=True))
    return pool


def repeated_ids(ids: np.ndarray) -> Repeats:
    """Count records and different ids."""
    return Repeats(len(ids), len(set(ids)))


def store_of_inputs(
    inputs: Inputs, folder: Path, *, references: int, seed: int, about: Mapping[str, Any] | None = None
) -> Store:
    """Open the audit folder of these inputs: a new one, or the one that was made for them before."""
    pool = inputs.pool
    store = open_store(folder, _manifest(inputs, _game(inputs, folder, references), seed, about))
    table = pd.DataFrame({"id": pool.ids, "label": _as_texts(pool.y), "class": inputs.target.classes_of(pool.y)})
    table = table.assign(**{f"group_{name}": values for name, values in pool.groups.items()})
    if pool.persons is not None:
        table = table.assign(person=pool.persons)
    if inputs.rows is not None:
        table = table.assign(row=inputs.rows)
    store.write_pool(table)
    _write_or_check_split(store, inputs.split)
    return store


def existing_store(inputs: Inputs, folder: str | Path | None, seed: int) -> Store | None:
    """Return the folder of these inputs if it was begun before, and leave it unchanged.

    Raises:
        FolderError: If the folder holds a different audit.
    """
    if folder is None or not (Path(folder) / "manifest.json").exists():
        return None
    game = open_store(folder).manifest.game
    return open_store(folder, replace(_manifest(inputs, game, seed), about={}))


def _as_texts(labels: np.ndarray) -> np.ndarray:
    """Return (records,) labels as text. Each class is converted once; equal objects may have different texts."""
    if labels.dtype.kind not in "biu":
        return labels.astype(str)
    different, which = np.unique(labels, return_inverse=True)
    return different.astype(str)[which]


def planned_split(inputs: Inputs, references: int, seed: int) -> Split:
    """Return the training sets that a new folder would have."""
    manifest = _manifest(inputs, _new_game(inputs, references), seed)
    return draw(manifest.make_game(), inputs.pool, 1 + references, manifest.rows_seed, start=inputs.split)


def _manifest(inputs: Inputs, game: Mapping[str, Any], seed: int, about: Mapping[str, Any] | None = None) -> Manifest:
    target = inputs.target
    split = inputs.split
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
    about: dict[str, Any] = {"name": inputs.target.name}
    if inputs.drawn:
        about["drawn"] = True
    if inputs.target.training is not None:
        about["training"] = to_json(inputs.target.training)
    return about


def _game(inputs: Inputs, folder: Path, references: int) -> Mapping[str, Any]:
    """Return name and options of the game; existing references keep the game that drew them."""
    game = _new_game(inputs, references)
    if inputs.game is not None or not (folder / "manifest.json").exists():
        return game
    store = open_store(folder)
    if (folder / "split.npz").exists() and len(store.split) > 1:
        return store.manifest.game
    # The previous game has not drawn any reference yet.
    write_manifest(folder / "manifest.json", replace(store.manifest, game=game))
    return game


def _new_game(inputs: Inputs, references: int) -> Mapping[str, Any]:
    if inputs.game is not None:
        return options_of(inputs.game)
    members = int(inputs.split.members.sum())
    nonmembers = int(inputs.split.nonmembers.sum())
    return options_of(matching_sides(members, nonmembers, len(inputs.pool), references))


def replan_references(store: Store, inputs: Inputs, references: int) -> None:
    """Draw reference models by the game for this number; those drawn by a different game are removed."""
    game = _new_game(inputs, references)
    if game == store.manifest.game:
        return
    for k in store.models():
        if k:
            model_path(store.folder, k).unlink()
    store.write_split(inputs.split)
    store.manifest = replace(store.manifest, game=game)
    write_manifest(store.folder / "manifest.json", store.manifest)


def _write_or_check_split(store: Store, split: Split) -> None:
    """Write the target's row, or check that the stored one is equal: a split is never drawn twice."""
    if not (store.folder / "split.npz").exists():
        store.write_split(split)
    elif not all(
        np.array_equal(getattr(store.split, name)[:1], getattr(split, name)) for name in ("member", "evaluated")
    ):
        raise FolderError(
            f"{store.folder / 'split.npz'} does not match manifest.json, so the folder is damaged. Audit in a new folder."
        )


# A value with more records than this occurs in every reference, for any inclusion rate.
FEW = 100
OPTION = "handle_unknown"
REFUSES = "error"
# Encoder to the parameters with which it accepts unknown categories.
ACCEPTING: Mapping[str, Mapping[str, Any]] = {
    "OneHotEncoder": {OPTION: "ignore"},
    "OrdinalEncoder": {OPTION: "use_encoded_value", "unknown_value": -1},
}


def check_rare_categories(inputs: Inputs, references: int, seed: int) -> None:
    """Raise if the encoder of a reference in a new folder would not know a category of some record."""
    train = inputs.target.can.get("train")
    pool = inputs.pool
    if not references or not isinstance(train, Train) or not isinstance(train.recipe, Refit):
        return
    refusing = _refusing(train.model)
    if not refusing or not hasattr(train.model, "steps"):
        return
    rare = list(_rare_values(pool.x))
    if not rare:
        return
    split = planned_split(inputs, references, seed)
    checked = set()
    for column, rows in rare:
        without = ~split.member[1:, rows].any(axis=1)
        if column in checked or not without.any():
            continue
        checked.add(column)  # One value is enough to test whether an encoder reads this column.
        k = 1 + int(without.argmax())
        if _refused(train.model, pool.copied(split.member[k]), pool.copied(rows).x):
            options = ", ".join(f"{name}={value!r}" for name, value in refusing.items())
            raise InputError(
                f"Reference model {k} would train without a value of {column!r} that {len(rows)} of {len(pool)} records "
                f"have, and its encoder raises an error for unknown values. Call model.set_params({options}); no new fit "
                "is needed. Or train no reference models: references=0 (--references 0)."
            )


def _refusing(model) -> dict[str, Any]:
    """Return the parameters with which every encoder accepts unknown categories; empty if all accept them already."""
    parameters = model.get_params(deep=True)
    accepting: dict[str, Any] = {}
    for name in names_ending(parameters, (OPTION,)):
        value = parameters[name]
        start = name.removesuffix(OPTION)
        kind = type(parameters.get(start.removesuffix("__"))).__name__
        listed = not isinstance(parameters.get(f"{start}categories"), str)  # the user lists all categories
        if isinstance(value, str) and value == REFUSES and kind in ACCEPTING and not listed:
            accepting |= {f"{start}{option}": chosen for option, chosen in ACCEPTING[kind].items()}
    return accepting


def _rare_values(x) -> Iterator[tuple[Any, np.ndarray]]:
    """Yield columns that are not numbers, each with the positions of the records that share a rare value."""
    if not isinstance(x, pd.DataFrame):
        if x.ndim != 2 or x.dtype.kind not in "OUS":
            return
        x = pd.DataFrame(x)
    for name in x.columns:
        if pd.api.types.is_numeric_dtype(x[name]):
            continue
        # Missing values have code -1 and are skipped: an imputer may precede the encoder.
        codes = pd.factorize(x[name].astype(object))[0]
        if codes.max(initial=-1) >= len(x) / 2:  # free text and names, which no encoder reads
            continue
        positions = pd.Series(codes).groupby(codes).indices
        yield from ((name, rows) for code, rows in positions.items() if code >= 0 and len(rows) <= FEW)


def _refused(model, members, x) -> bool:
    """Return whether the steps before the last one, fitted on some records, fail on a category of others."""
    from sklearn.base import clone

    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            clone(model)[:-1].fit(members.x, members.y).transform(x)
        except Exception as error:  # Training reports all other errors.
            return is_unknown_category(error)
    return False
