"""``audit`` and ``collect``, ``demo`` and ``report``: from a model to a page."""

from __future__ import annotations

import os
from pathlib import Path

import click

from guestlist.cli.common import (
    allow_pickle,
    as_json,
    attacks,
    conclude,
    evidence,
    jobs,
    notices,
    progress_bar,
    quiet,
    trust,
)
from guestlist.errors import FolderError


@click.command()
@click.option("--model", type=click.Path(path_type=Path), help="Fitted model: .skops, or a pickle with --allow-pickle.")
@click.option("--members", type=click.Path(path_type=Path), help="Records it was trained on: .csv or .parquet.")
@click.option("--nonmembers", type=click.Path(path_type=Path), help="Records of the same source it was not trained on.")
@click.option(
    "--population", type=click.Path(path_type=Path), help="More records of that source, for references to train on."
)
@click.option(
    "--predictions", type=click.Path(path_type=Path), help="Instead of a model: its answers (.npz, .csv, .parquet)."
)
@click.option(
    "--shadow",
    type=click.Path(path_type=Path),
    help="With --predictions: a shadow model's answers, which teach thresholds.",
)
@click.option(
    "--scale",
    type=click.Choice(["probabilities", "logits"]),
    help="What the predictions are, if their names do not say.",
)
@click.option("--label", help="Column that holds the label.")
@click.option("--group", multiple=True, help="Column whose groups are compared; may be given several times.")
@click.option("--id", "id_", help="Column that names the records.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Audit folder; run again with it to resume.  [default: audits/<name>]",
)
@click.option(
    "--references", type=click.IntRange(min=0), default=32, show_default=True, help="Models to train for comparison."
)
@attacks
@evidence
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of everything random.")
@click.option("--drop-duplicates", is_flag=True, help="Leave out non-members that are equal to a member.")
@click.option(
    "--prior",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.5,
    show_default=True,
    help="Share of members among the people an attacker asks about.",
)
@trust
@allow_pickle
@jobs
@quiet
@as_json
def audit(model, predictions, members, nonmembers, population, out, as_json, **options):
    """Audit a model, or its predictions, and write a report.

    \b
    guestlist audit --model model.skops --members train.parquet --nonmembers holdout.parquet --label income
    guestlist audit --predictions preds.npz
    """
    if (model is None) == (predictions is None):
        raise click.UsageError("Give either --model (with --members and --nonmembers) or --predictions.")
    _refuse_unread(predictions is not None, {"--population": population, **_given(options)})
    out = (out or Path("audits") / (model or predictions).stem).resolve()
    with notices():
        if predictions is not None:
            results = _audit_predictions(predictions, out, options)
        else:
            missing = [
                f"--{name}" for name, value in (("members", members), ("nonmembers", nonmembers)) if value is None
            ]
            if missing:
                raise click.UsageError(f"A model is audited with records: give {' and '.join(missing)}.")
            inputs = {"model": model, "members": members, "nonmembers": nonmembers, "population": population}
            results = _audit_model(inputs, out, options)
    conclude(results, out, as_json)


# Options that only one of the two kinds of audit reads: silence about the other would look like consent.
FOR_PREDICTIONS = ("--shadow", "--scale")
FOR_MODELS = ("--population", "--label", "--trust", "--allow-pickle", "--drop-duplicates", "--evidence")


def _given(options: dict) -> dict[str, object]:
    return {f"--{name.replace('_', '-')}": value for name, value in options.items()}


def _refuse_unread(predictions: bool, given: dict[str, object]) -> None:
    unread = [name for name in (FOR_MODELS if predictions else FOR_PREDICTIONS) if given.get(name)]
    if unread:
        what = "--predictions" if predictions else "--model"
        raise click.UsageError(f"With {what}, {' and '.join(unread)} would not be read. Leave it out.")


def _audit_predictions(path: Path, out: Path, options: dict):
    from guestlist.predictions import audit_predictions, read_predictions

    columns = {"scale": options["scale"], "group": options["group"], "id": options["id_"]}
    shadow = options["shadow"] and read_predictions(options["shadow"], scale=options["scale"])
    return audit_predictions(
        read_predictions(path, **columns),
        shadow=shadow,
        attacks=options["attacks"] or None,
        folder=out,
        prior=options["prior"],
        about={"name": path.name},
    )


def _audit_model(inputs: dict[str, Path | None], out: Path, options: dict):
    from guestlist.auditing import audit
    from guestlist.collecting.evidence.gathering import parse_plan
    from guestlist.targets.files import load_model

    model = load_model(inputs["model"], trust=options["trust"], allow_pickle=options["allow_pickle"])
    return audit(
        model,
        inputs["members"],
        inputs["nonmembers"],
        inputs["population"],
        label=options["label"],
        group=options["group"],
        id=options["id_"],
        references=options["references"],
        attacks=options["attacks"] or None,
        evidence=[parse_plan(text) for text in options["evidence"]],
        folder=out,
        seed=options["seed"],
        jobs=options["jobs"],
        duplicates="drop" if options["drop_duplicates"] else "warn",
        prior=options["prior"],
        progress=progress_bar(options["quiet"]),
        about=_remembered(inputs, out, options),
    )


# What `collect` needs again; whether a pickle may be opened is asked anew each time.
REMEMBERED = ("label", "group", "id_", "attacks", "seed", "drop_duplicates", "prior")


def _remembered(inputs: dict[str, Path | None], out: Path, options: dict) -> dict:
    """Where the inputs are, seen from the folder, so that a project can be moved as a whole."""
    paths = {name: path and os.path.relpath(path.resolve(), out) for name, path in inputs.items()}
    return {"inputs": paths, "options": {name: options[name] for name in REMEMBERED}}


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--references", type=click.IntRange(min=0), help="How many there should be in all.")
@click.option("--until-width", type=float, help="Or: until the interval of the recipe's AUC is this narrow.")
@evidence
@attacks
@click.option("--at-most", default=512, show_default=True, help="With --until-width: the most references to train.")
@trust
@allow_pickle
@jobs
@quiet
@as_json
def collect(folder, references, until_width, at_most, as_json, **options):
    """Add references or other evidence to the audit in FOLDER, and evaluate it again.

    With --attack, other attacks than before are run.
    """
    from guestlist.collecting.until import UntilWidth
    from guestlist.store import open_store

    if references is not None and until_width is not None:
        raise click.UsageError("Give either --references or --until-width.")
    if references is None and until_width is None and not (options["evidence"] or options["attacks"]):
        raise click.UsageError("What is to be collected? Give --references, --until-width, --evidence or --attack.")
    folder = folder.resolve()
    store = open_store(folder)
    about = store.manifest.about
    if "inputs" not in about:
        raise FolderError(
            f"{folder} does not say where its model and records are: it was made from Python, or from predictions. Call "
            f"gl.audit again with folder={str(folder)!r} and more references."
        )
    there = max(store.models(), default=0)
    if references is not None and references < there:
        raise click.UsageError(
            f"There are {there} references already; --references says how many there should be in all."
        )
    if references is None:
        references = there
    if until_width is not None:
        try:
            references = UntilWidth(until_width, start=max(there, 16), at_most=max(at_most, there, 16))
        except ValueError as error:
            raise click.UsageError(str(error)) from error
    inputs = {name: path and folder / path for name, path in about["inputs"].items()}
    options["attacks"] = options["attacks"] or _with_those_of(options["evidence"], about["options"]["attacks"])
    with notices():
        results = _audit_model(inputs, folder, {**about["options"], **options, "references": references})
    conclude(results, folder, as_json)


def _with_those_of(evidence, attacks) -> list[str]:
    """The attacks that were named before and those that new evidence is for; empty stands for all that can run."""
    from guestlist.attacks import ATTACKS

    kinds = {text.partition(":")[0] for text in evidence}
    new = [name for name, attack in ATTACKS.items() if attack.evidence in kinds and attack.default]
    return [*attacks, *(name for name in new if name not in attacks)] if attacks else []


@click.command()
@click.option("--quick", is_flag=True, help="8 references instead of 32.")
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path("audits/demo"), show_default=True, help="Audit folder."
)
@jobs
@quiet
@as_json
def demo(quick, out, jobs, quiet, as_json):
    """Train a small network on handwritten digits and audit it."""
    from guestlist.demo import demo

    with notices():
        results = demo(out, quick=quick, jobs=jobs, progress=progress_bar(quiet))
    conclude(results, out, as_json)


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), help="Where to write it.  [default: FOLDER/report.html]")
def report(folder, out):
    """Write the report of the audit in FOLDER again, as one self-contained HTML page."""
    from guestlist.findings.results import read_results

    click.echo(read_results(folder).to_html(out or folder / "report.html"))
