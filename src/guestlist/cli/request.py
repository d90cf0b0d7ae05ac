"""Request of an audit: the options of the command line, stored in the audit folder for later commands."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from guestlist import _audit, _collect, _findings, _store, _util, models
from guestlist.cli.common import (
    ATTACKS,
    INPUTS,
    PATH,
    RUN,
    SEED,
    SHARE,
    address,
    allow_pickle,
    attacks,
    build_engine,
    claim_from,
    engine,
    evidence,
    ignore,
    jobs,
    option,
    option_group,
    progress_bar,
    quiet,
    trust,
)
from guestlist.errors import FolderError

if TYPE_CHECKING:
    from guestlist._case import Cover


@dataclass(frozen=True)
class Request:
    """Options of an audit of a model."""

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
    name: str | None = None
    demo: bool = False  # model and records of guestlist demo, which are not read from files

    def seen_from(self, folder: Path) -> Request:
        """Return the request with paths relative to the folder, so that a project can be moved."""
        return self._with_paths(lambda path: os.path.relpath(Path(path).resolve(), folder))

    def _with_paths(self, move: Callable[[str], str]) -> Request:
        if self.demo:
            return self
        return replace(
            self,
            model=move(self.model),
            members=move(self.members),
            nonmembers=move(self.nonmembers),
            population=None if self.population is None else move(self.population),
        )


# The model and its records.
subject_options = option_group(
    option(
        INPUTS, "--model", type=PATH, help="File of the fitted model: .skops or .onnx, or a pickle with --allow-pickle."
    ),
    option(INPUTS, "--members", type=PATH, help="Records that the model was trained on: .csv, .tsv or .parquet."),
    option(INPUTS, "--nonmembers", type=PATH, help="Other records from the same source: .csv, .tsv or .parquet."),
    option(INPUTS, "--population", type=PATH, help="More records from the same source, to train reference models on."),
    option(INPUTS, "--label", metavar="COLUMN", help="Column with the label."),
    option(INPUTS, "--group", metavar="COLUMN", multiple=True, help="Column whose groups are compared. Repeatable."),
    option(INPUTS, "--id", "id_", metavar="COLUMN", help="Column with the record id.  [default: index or row numbers]"),
    option(
        INPUTS, "--person", metavar="COLUMN", help="Column with the person id, if a person can have several records."
    ),
)
# Options that change the results, wherever the audit runs.
evaluation_options = option_group(
    attacks,
    evidence,
    option(RUN, "--seed", type=SEED, default=0, show_default=True, help="Random seed."),
    option(
        INPUTS,
        "--drop-duplicates",
        is_flag=True,
        help="Exclude non-members that equal a member or belong to the same person as a member.",
    ),
    option(
        ATTACKS,
        "--prior",
        type=SHARE,
        default=0.5,
        show_default=True,
        help="Share of members among the records that an attacker tests.",
    ),
    ignore,
    option(
        ATTACKS,
        "--no-baseline",
        is_flag=True,
        help="Skip the model-free baseline, which tests whether members and non-members differ without the model.",
    ),
)


def request_from(options: dict) -> Request:
    """Build a request from the command's options."""
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
        name=options.get("name"),
        demo=False,
    )


@dataclass(frozen=True)
class RunOptions:
    """Options of one run.

    Trusted types and pickles are never stored: the user has to allow them in every run.
    """

    engine: _collect.Engine
    trust: tuple[str, ...] = ()
    allow_pickle: bool = False
    quiet: bool = False


run_options = option_group(trust, allow_pickle, engine, address, jobs, quiet)


def run_options_from(options: dict) -> RunOptions:
    """Build the run options from the command's options."""
    return RunOptions(
        engine=build_engine(options["engine"], options["jobs"], options["address"]),
        trust=options["trust"],
        allow_pickle=options["allow_pickle"],
        quiet=options["quiet"],
    )


def run_request(
    request: Request,
    folder: Path,
    references: _audit.References | None,
    options: RunOptions,
    cover: Cover | None = None,
) -> _findings.Results:
    """Run the audit that a request describes, in a folder that stores the request."""
    claimed = claim_from(request.claimed, request.delta, request.gaussian_noise)
    check_tables(request)

    arguments = audit_arguments(request, folder, options)
    arguments["about"]["cover"] = cover
    return _audit.audit(references=references, folder=folder, claimed=claimed, **arguments)


def check_tables(request: Request) -> None:
    """Report a misspelt column before models and their libraries are loaded, which takes seconds."""
    if request.demo:
        return

    _util.check_roles({"label": request.label}, id=request.id, person=request.person, group=request.group)
    columns = (request.label, *request.group, request.id, request.person)
    for side in ("members", "nonmembers", "population"):
        path = getattr(request, side)
        if path is not None:
            _util.check_columns(path, columns, side=side)


def audit_arguments(request: Request, folder: Path, options: RunOptions) -> dict[str, Any]:
    """Return the arguments of ``audit``, except the folder and the number of references.

    Args:
        request: Request of the audit.
        folder: Audit folder that will store the request.
        options: Options of this run.
    """
    from guestlist.evidence import parse_plan

    about: dict[str, Any] = {"demo": True} if request.demo else {"request": _store.to_json(request.seen_from(folder))}
    if request.name:
        about["name"] = request.name
    return {
        **_subject(request, options),
        "population": request.population,
        "group": request.group,
        "id": request.id,
        "person": request.person,
        "attacks": request.attacks or None,
        "evidence": [parse_plan(text) for text in request.evidence],
        "seed": request.seed,
        "engine": options.engine,
        "duplicates": "drop" if request.drop_duplicates else "warn",
        "prior": request.prior,
        "ignore": request.ignore,
        "baseline": request.baseline,
        "progress": progress_bar(options.quiet),
        "about": about,
    }


def _subject(request: Request, options: RunOptions) -> dict[str, Any]:
    """Return the model, its records and the column of their labels."""
    if request.demo:
        return _audit.demo_inputs()

    return {
        "model": models.load_model(
            request.model,
            trust=options.trust,
            allow_pickle=options.allow_pickle,
            scale=request.scale,
            classes=_labels(request.classes),
        ),
        "members": request.members,
        "nonmembers": request.nonmembers,
        "label": request.label,
    }


def _labels(classes: tuple[str, ...]) -> list[str] | list[int] | None:
    """Return names of classes as a table has them: whole numbers where all of them are."""
    try:
        return [int(name) for name in classes] or None
    except ValueError:
        return list(classes)


def stored_request(store: _store.Store, python_call: str) -> Request:
    """Read the request that made an audit folder.

    Args:
        store: Opened audit folder.
        python_call: Call for audits made from Python, with {folder} for the folder.
    """
    if store.manifest.about.get("demo"):
        return Request(model="", members="", nonmembers="", demo=True)
    if store.manifest.recipe == _store.PREDICTIONS:
        raise FolderError(
            f"{store.folder} is an audit of predictions, so it has no model and no records. Audit the model itself with "
            "guestlist audit --model (Python: gl.audit)."
        )
    content: Any = store.manifest.about.get("request")
    if content is None:
        raise FolderError(
            f"{store.folder} was made from Python, so it stores no paths to the model and the records. Call "
            f"{python_call.format(folder=repr(str(store.folder)))} in Python instead."
        )
    try:
        request: Request = _store.from_json(Request, content)
    except (KeyError, TypeError, ValueError) as error:
        raise FolderError(
            f"{store.folder / 'manifest.json'} is damaged ({error}). Run the audit again in another folder."
        ) from error
    return request._with_paths(lambda path: str(store.folder / path))
