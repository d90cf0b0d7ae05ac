"""What the command line was asked for, in one piece: it is kept in the folder, and later commands ask again."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from guestlist.errors import FolderError
from guestlist.store import Store
from guestlist.store.jsonable import from_json, to_json

INPUTS = ("model", "members", "nonmembers", "population")


@dataclass(frozen=True)
class Request:
    """An audit of a model, as it was asked for.

    Whether a pickle may be opened, and which types are trusted, is asked anew each time and is not part of it.
    """

    model: str
    members: str
    nonmembers: str
    population: str | None
    label: str | None
    group: tuple[str, ...]
    id: str | None
    attacks: tuple[str, ...]
    evidence: tuple[str, ...]
    seed: int
    drop_duplicates: bool
    prior: float
    ignore: tuple[str, ...]

    def kept(self, folder: Path) -> dict[str, Any]:
        """What the manifest keeps: where the inputs are, seen from the folder, so that a project can move as a whole."""
        paths = {name: _moved(getattr(self, name), lambda path: os.path.relpath(path, folder)) for name in INPUTS}
        return to_json(replace(self, **paths))


def request_in(store: Store) -> Request:
    """The request that made a folder."""
    kept = store.manifest.about.get("request")
    if kept is None:
        raise FolderError(
            f"{store.folder} does not say where its model and records are: it was made from Python, or from predictions. "
            f"Call gl.audit again with folder={str(store.folder)!r} and more references."
        )
    try:
        request = from_json(Request, {field.name: kept[field.name] for field in fields(Request)})
    except (KeyError, TypeError, ValueError) as error:
        raise FolderError(f"{store.folder / 'manifest.json'} is damaged ({error}).") from error
    return replace(
        request, **{name: _moved(getattr(request, name), lambda path: str(store.folder / path)) for name in INPUTS}
    )


def _moved(path: str | None, move) -> str | None:
    return None if path is None else str(move(path))
