"""What the command line was asked for, in one piece: it is kept in the folder, and later commands ask again."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from guestlist.cli.claim import claim_from
from guestlist.cli.common import (
    address,
    allow_pickle,
    attacks,
    build_engine,
    engine,
    evidence,
    ignore,
    jobs,
    progress_bar,
    quiet,
    trust,
)
from guestlist.cli.kinds import PATH, SEED, SHARE
from guestlist.errors import FolderError

if TYPE_CHECKING:
    from guestlist.collecting.engines.engine import Engine
    from guestlist.collecting.until import UntilWidth
    from guestlist.cover import Cover
    from guestlist.findings.results import Results
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
    baseline: bool = True
    scale: str | None = None
    classes: tuple[str, ...] = ()
    claimed: float | None = None
    delta: float | None = None
    gaussian_noise: bool = False
    demo: bool = False  # model and records are those of guestlist demo, which no file holds

    def seen_from(self, folder: Path) -> Request:
        """The same with paths seen from the folder, so that a project can be moved as a whole."""
        return self._moved(lambda path: os.path.relpath(Path(path).resolve(), folder))

    def _moved(self, move: Callable[[str], str]) -> Request:
        if self.demo:
            return self
        return replace(
            self,
            model=move(self.model),
            members=move(self.members),
            nonmembers=move(self.nonmembers),
            population=None if self.population is None else move(self.population),
        )


# What an audit of a model is about.
SUBJECT_OPTIONS = (
    click.option("--model", type=PATH, help="Fitted model: .skops or .onnx, or a pickle with --allow-pickle."),
    click.option("--members", type=PATH, help="Records it was trained on: .csv, .tsv or .parquet."),
    click.option("--nonmembers", type=PATH, help="Records of the same source it was not trained on."),
    click.option("--population", type=PATH, help="More records of that source, for references to train on."),
    click.option("--label", help="Column that holds the label."),
    click.option("--group", multiple=True, help="Column whose groups are compared; may be given several times."),
    click.option("--id", "id_", help="Column that names the records."),
    click.option("--person", help="Column that says whose record each is, where people have several."),
)
# How it is carried out and judged, wherever and whenever that is.
EVALUATION_OPTIONS = (
    attacks,
    evidence,
    click.option("--seed", type=SEED, default=0, show_default=True, help="Of everything random."),
    click.option(
        "--drop-duplicates",
        is_flag=True,
        help="Leave out non-members that are equal to a member, or of a person who is one.",
    ),
    click.option(
        "--prior",
        type=SHARE,
        default=0.5,
        show_default=True,
        help="Share of members among the people an attacker asks about.",
    ),
    ignore,
    click.option("--no-baseline", is_flag=True, help="Do not look whether members can be told without the model."),
)


def subject_options(command):
    """The options that say what an audit is about."""
    return _with(command, SUBJECT_OPTIONS)


def evaluation_options(command):
    """The options that decide what comes out of an audit."""
    return _with(command, EVALUATION_OPTIONS)


def _with(command, options):
    for option in reversed(options):
        command = option(command)
    return command


def request_from(options: dict) -> Request:
    """The request that these options make."""
    paths: dict[str, Any] = {name: options[name] for name in ("model", "members", "nonmembers", "population")}
    return Request(
        **{name: path and str(path) for name, path in paths.items()},
        label=options["label"],
        group=options["group"],
        id=options["id_"],
        person=options["person"],
        attacks=options["attacks"],
        evidence=options["evidence"],
        seed=options["seed"],
        drop_duplicates=options["drop_duplicates"],
        prior=options["prior"],
        ignore=options["ignore"],
        baseline=not options["no_baseline"],
        scale=options.get("scale"),
        classes=options.get("classes", ()),
        claimed=options.get("claimed"),
        delta=options.get("delta"),
        gaussian_noise=options.get("gaussian_noise", False),
        demo=False,
    )


@dataclass(frozen=True)
class RunOptions:
    """How a request is carried out this time. What may be opened is asked anew each time, and never kept."""

    engine: Engine
    trust: tuple[str, ...] = ()
    allow_pickle: bool = False
    quiet: bool = False


def run_options(command):
    """The options that say how a request is carried out."""
    return _with(command, (trust, allow_pickle, engine, address, jobs, quiet))


def run_options_from(options: dict) -> RunOptions:
    """How a request is to be carried out, from the command's options."""
    chosen = build_engine(options["engine"], options["jobs"], options["address"])
    return RunOptions(chosen, options["trust"], options["allow_pickle"], options["quiet"])


def run_request(
    request: Request, folder: Path, references: int | UntilWidth | None, means: RunOptions, cover: Cover | None = None
) -> Results:
    """Audit as the request says, in a folder that keeps it."""
    claimed = claim_from(request.claimed, request.delta, request.gaussian_noise)
    check_tables(request)
    from guestlist.auditing import audit

    given = audit_arguments(request, folder, means)
    return audit(references=references, folder=folder, cover=cover, claimed=claimed, **given)


def check_tables(request: Request) -> None:
    """A misspelt column is told at once: models, and the libraries that read them, take seconds to load."""
    if request.demo:
        return
    from guestlist.tables import check_columns, check_roles

    check_roles({"label": request.label}, id=request.id, person=request.person, group=request.group)
    columns = (request.label, *request.group, request.id, request.person)
    for side in ("members", "nonmembers", "population"):
        path = getattr(request, side)
        if path is not None:
            check_columns(path, columns, side=side)


def audit_arguments(request: Request, folder: Path, means: RunOptions) -> dict[str, Any]:
    """What ``audit`` is called with, but for the folder and the number of references.

    Args:
        folder: of the audit that will keep the request.
    """
    from guestlist.collecting.evidence.gathering import parse_plan
    from guestlist.store.jsonable import to_json

    return {
        **_subject(request, means),
        "population": request.population,
        "group": request.group,
        "id": request.id,
        "person": request.person,
        "attacks": request.attacks or None,
        "evidence": [parse_plan(text) for text in request.evidence],
        "seed": request.seed,
        "engine": means.engine,
        "duplicates": "drop" if request.drop_duplicates else "warn",
        "prior": request.prior,
        "ignore": request.ignore,
        "baseline": request.baseline,
        "progress": progress_bar(means.quiet),
        "about": {"demo": True} if request.demo else {"request": to_json(request.seen_from(folder))},
    }


def _subject(request: Request, means: RunOptions) -> dict[str, Any]:
    """Return the model, its records and the column of their labels."""
    if request.demo:
        from guestlist.demo import demo_inputs

        return demo_inputs()
    from guestlist.targets.files import load_model

    model = load_model(
        request.model,
        trust=means.trust,
        allow_pickle=means.allow_pickle,
        scale=request.scale,
        classes=_labels(request.classes),
    )
    return {
        "model": model,
        "members": request.members,
        "nonmembers": request.nonmembers,
        "label": request.label,
    }


def _labels(classes: tuple[str, ...]) -> list[str] | list[int] | None:
    """Names of classes as a table has them: whole numbers where all of them are."""
    try:
        return [int(name) for name in classes] or None
    except ValueError:
        return list(classes)


def stored_request(store: Store, instead: str) -> Request:
    """The request that made a folder.

    Args:
        instead: the call that does in Python what the command cannot do here, with {folder} for the folder.
    """
    from guestlist.store.jsonable import from_json
    from guestlist.store.manifest import PREDICTIONS

    if store.manifest.about.get("demo"):
        return Request(model="", members="", nonmembers="", demo=True)
    if store.manifest.recipe == PREDICTIONS:
        raise FolderError(
            f"{store.folder} is an audit of predictions, so it has no model and no records. Audit the model itself with "
            "guestlist audit --model (Python: gl.audit)."
        )
    kept: Any = store.manifest.about.get("request")
    if kept is None:
        raise FolderError(
            f"{store.folder} was made from Python, so it stores no paths to the model and the records. Call "
            f"{instead.format(folder=repr(str(store.folder)))} in Python instead."
        )
    try:
        request: Request = from_json(Request, kept)
    except (KeyError, TypeError, ValueError) as error:
        raise FolderError(f"{store.folder / 'manifest.json'} is damaged ({error}).") from error
    return request._moved(lambda path: str(store.folder / path))
