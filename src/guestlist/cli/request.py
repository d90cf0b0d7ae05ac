"""What the command line was asked for, in one piece: it is kept in the folder, and later commands ask again."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from guestlist.cli.common import address, allow_pickle, engine, engine_of, jobs, progress_bar, quiet, trust
from guestlist.errors import FolderError

if TYPE_CHECKING:
    from guestlist.collecting.engines.engine import Engine
    from guestlist.collecting.until import UntilWidth
    from guestlist.report.readable import Results
    from guestlist.store import Store


@dataclass(frozen=True)
class Request:
    """An audit of a model, as it was asked for."""

    model: str
    members: str
    nonmembers: str
    population: str | None = None
    label: str | None = None
    group: tuple[str, ...] = ()
    id: str | None = None
    person: str | None = None
    attacks: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    seed: int = 0
    drop_duplicates: bool = False
    prior: float = 0.5
    ignore: tuple[str, ...] = ()
    blind: bool = True

    def seen_from(self, folder: Path) -> Request:
        """The same with paths seen from the folder, so that a project can be moved as a whole."""
        return self._moved(lambda path: os.path.relpath(Path(path).resolve(), folder))

    def _moved(self, move: Callable[[str], str]) -> Request:
        return replace(
            self,
            model=move(self.model),
            members=move(self.members),
            nonmembers=move(self.nonmembers),
            population=None if self.population is None else move(self.population),
        )


@dataclass(frozen=True)
class Means:
    """How a request is carried out this time. What may be opened is asked anew each time, and never kept."""

    engine: Engine
    trust: tuple[str, ...] = ()
    allow_pickle: bool = False
    quiet: bool = False


def means(command):
    """The options that say how a request is carried out."""
    for option in (quiet, jobs, address, engine, allow_pickle, trust):
        command = option(command)
    return command


def means_of(options: dict) -> Means:
    """How a request is to be carried out, from the command's options."""
    chosen = engine_of(options["engine"], options["jobs"], options["address"])
    return Means(chosen, options["trust"], options["allow_pickle"], options["quiet"])


def carry_out(request: Request, folder: Path, references: int | UntilWidth, means: Means) -> Results:
    """Audit as the request says, in a folder that keeps it."""
    from guestlist.auditing import audit
    from guestlist.collecting.evidence.gathering import parse_plan
    from guestlist.store.jsonable import to_json
    from guestlist.targets.files import load_model

    return audit(
        load_model(request.model, trust=means.trust, allow_pickle=means.allow_pickle),
        request.members,
        request.nonmembers,
        request.population,
        label=request.label,
        group=request.group,
        id=request.id,
        person=request.person,
        references=references,
        attacks=request.attacks or None,
        evidence=[parse_plan(text) for text in request.evidence],
        folder=folder,
        seed=request.seed,
        engine=means.engine,
        duplicates="drop" if request.drop_duplicates else "warn",
        prior=request.prior,
        ignore=request.ignore,
        blind=request.blind,
        progress=progress_bar(means.quiet),
        about={"request": to_json(request.seen_from(folder))},
    )


def request_in(store: Store) -> Request:
    """The request that made a folder."""
    from guestlist.store.jsonable import from_json

    kept: Any = store.manifest.about.get("request")
    if kept is None:
        raise FolderError(
            f"{store.folder} does not say where its model and records are: it was made from Python, or from predictions. "
            f"Call gl.audit again with folder={str(store.folder)!r} and more references."
        )
    try:
        request: Request = from_json(Request, kept)
    except (KeyError, TypeError, ValueError) as error:
        raise FolderError(f"{store.folder / 'manifest.json'} is damaged ({error}).") from error
    return request._moved(lambda path: str(store.folder / path))
