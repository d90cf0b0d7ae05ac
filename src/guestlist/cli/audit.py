"""Commands ``audit``, ``collect`` and ``demo``."""

from dataclasses import replace
from pathlib import Path

import click

from guestlist import _collect, _store, models
from guestlist.cli.common import (
    as_json,
    attacks,
    evidence,
    ignore,
    jobs,
    print_results,
    progress_bar,
    quiet,
    show_warnings,
)
from guestlist.cli.options import (
    MAX_REFERENCES,
    PATH,
    REFERENCES,
    SHARE,
    WholeNumber,
    claim_from,
    claim_options,
    cover_from,
    cover_options,
    updated_stored_cover,
)
from guestlist.cli.request import (
    evaluation_options,
    request_from,
    run_options,
    run_options_from,
    run_request,
    stored_request,
    subject_options,
)


@click.command()
@subject_options
@click.option("--predictions", type=PATH, help="Instead of a model: its answers (.npz, .csv, .tsv, .parquet).")
@click.option(
    "--shadow",
    type=PATH,
    help="With --predictions: a shadow model's answers, which teach thresholds and networks.",
)
@click.option(
    "--features",
    type=PATH,
    help="With --predictions: what the records hold (.csv, .tsv, .parquet), to see if members differ without the model.",
)
@click.option(
    "--scale",
    type=click.Choice(["probabilities", "logits", "values"]),
    help="What the predictions, or the answers of an ONNX file, are, if their names do not say.",
)
@click.option(
    "--class",
    "classes",
    multiple=True,
    metavar="NAME",
    help="What a column of an ONNX file's answers stands for, if the file does not say: once for each, in their order.",
)
@click.option("--member", help="With --predictions: column that says who was a member.  [default: member]")
@click.option(
    "--probability",
    "answer",
    metavar="COLUMN",
    help='With --predictions: the column of one class, such as prob_yes, or a pattern such as "prob_{}".  [default: p_{}, z_{}]',
)
@click.option("--positive", metavar="CLASS", help="With --predictions: the class whose probability that one column is.")
@click.option(
    "--no-labels",
    is_flag=True,
    help="With --predictions: the file has no labels. Only attacks that need no labels are run.",
)
@click.option(
    "--out",
    type=PATH,
    help="Audit folder; run again with it to resume.  [default: audits/<name>]",
)
@click.option(
    "--references",
    type=REFERENCES,
    help="With --model: models to train for comparison.  [default: 32, or none without a recipe, as for an ONNX file]",
)
@evaluation_options
@claim_options
@cover_options
@run_options
@as_json
def audit(out, as_json, **options):
    """Audit a model, or its predictions, and write a report.

    \b
    guestlist audit --model model.skops --members train.parquet --nonmembers holdout.parquet --label income
    guestlist audit --predictions preds.npz
    """
    model = options["model"]
    predictions = options["predictions"]
    if (model is None) == (predictions is None):
        raise click.UsageError("Give either --model (with --members and --nonmembers) or --predictions.")
    _refuse_unused(predictions is not None, options)
    onnx_only = {"--class": options["classes"], "--scale": options["scale"] and model is not None}
    unsupported = [name for name, value in onnx_only.items() if value and (model is None or model.suffix != ".onnx")]
    if unsupported:
        allowed = "a model in an .onnx file"
        if model is not None:
            allowed = "an .onnx file"
        raise click.UsageError(f"{' and '.join(unsupported)} would be read of {allowed} alone. Leave it out.")
    missing = [f"--{name}" for name in ("members", "nonmembers") if model is not None and options[name] is None]
    if missing:
        raise click.UsageError(f"A model is audited with records: give {' and '.join(missing)}.")
    out = (out or Path("audits") / (model or predictions).stem).resolve()
    with show_warnings():
        if model is None:
            results = _of_predictions(out, options)
        else:
            results = _of_model(out, options)
    print_results(results, out, as_json)


# Options that only one of the two types of audit reads. The other type refuses them, so that they are not ignored silently.
FOR_PREDICTIONS = ("shadow", "features", "member", "answer", "positive", "no_labels")
FOR_MODELS = (
    "members",
    "nonmembers",
    "population",
    "trust",
    "allow_pickle",
    "drop_duplicates",
    "evidence",
    "engine",
    "address",
    "jobs",
)

NO_REFERENCES = (
    "--references cannot be used with --predictions: a file of predictions has no model to train references by. Audit the "
    "model itself with --model, or compare with a shadow model's predictions: --shadow FILE."
)


def _refuse_unused(predictions: bool, options: dict) -> None:
    if predictions and options["references"]:
        raise click.UsageError(NO_REFERENCES)
    unread = [name for name in (FOR_MODELS if predictions else FOR_PREDICTIONS) if options[name]]
    if unread:
        source = "--model"
        if predictions:
            source = "--predictions"
        names = " and ".join(f"--{name.replace('_', '-')}" for name in unread)
        raise click.UsageError(f"With {source}, {names} would not be read. Leave it out.")


def _of_model(out: Path, options: dict):
    return run_request(
        request_from(options), out, options["references"], run_options_from(options), cover_from(options)
    )


def _of_predictions(out: Path, options: dict):
    from guestlist._audit.predictions import audit_predictions

    path = options["predictions"]
    names = ("scale", "label", "answer", "positive")
    member = {}
    if options["member"]:
        member["member"] = options["member"]
    columns = {**{name: options[name] for name in names}, **member, "labelled": not options["no_labels"]}
    roles = {"group": options["group"], "id": options["id_"], "person": options["person"]}
    return audit_predictions(
        models.read_predictions(path, **columns, **roles, features=options["features"]),
        shadow=options["shadow"] and models.read_predictions(options["shadow"], **columns),
        attacks=options["attacks"] or None,
        folder=out,
        prior=options["prior"],
        ignore=options["ignore"],
        baseline=not options["no_baseline"],
        claimed=claim_from(options["claimed"], options["delta"], options["gaussian_noise"]),
        about={"name": path.name, "cover": cover_from(options)},
    )


@click.command()
@click.argument("folder", type=PATH)
@click.option("--references", type=REFERENCES, help="How many there should be in all.")
@click.option("--until-width", type=SHARE, help="Or: until the interval of the recipe's AUC is this narrow.")
@evidence
@attacks
@click.option(
    "--at-most",
    type=WholeNumber(1, MAX_REFERENCES),
    default=512,
    show_default=True,
    help="With --until-width: the most references to train.",
)
@ignore
@cover_options
@run_options
@as_json
def collect(folder, references, until_width, at_most, as_json, **options):
    """Add references or other evidence to the audit in FOLDER, and evaluate it again.

    With --attack, other attacks than before are run.
    """

    if references is not None and until_width is not None:
        raise click.UsageError("Give either --references or --until-width.")
    requested = [references, until_width, *(options[name] for name in ("evidence", "attacks", "ignore"))]
    if not any(value not in (None, ()) for value in requested):
        raise click.UsageError(
            "What is to be collected? Give --references, --until-width, --evidence, --attack or --ignore."
        )
    folder = folder.resolve()
    store = _store.open_store(folder)
    request = stored_request(store, "gl.audit(model, members, nonmembers, folder={folder}, references=…)")
    count = _references(max(store.models(), default=0), references, until_width, at_most)
    request = replace(
        request,
        attacks=options["attacks"] or _with_attacks_for(options["evidence"], request.attacks),
        evidence=options["evidence"],
        ignore=options["ignore"] or request.ignore,
    )
    with show_warnings():
        results = run_request(request, folder, count, run_options_from(options), updated_stored_cover(options, store))
    print_results(results, folder, as_json)


def _references(existing: int, references: int | None, until_width: float | None, at_most: int):
    """Return the total number of references, or the width until which to train."""

    if references is not None and references < existing:
        raise click.UsageError(
            f"There are {existing} references already; --references says how many there should be in all."
        )
    if until_width is None:
        if references is None:
            return existing
        return references
    try:
        return _collect.UntilWidth(until_width, start=max(existing, 16), at_most=max(at_most, existing, 16))
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def _with_attacks_for(evidence: tuple[str, ...], attacks: tuple[str, ...]) -> tuple[str, ...]:
    """Add the attacks that new evidence makes possible; empty stands for all that can run."""
    from guestlist.attacks import ATTACKS

    kinds = {text.partition(":")[0] for text in evidence}
    new = [name for name, attack in ATTACKS.items() if attack.evidence in kinds and attack.default]
    if not attacks:
        return ()
    return (*attacks, *(name for name in new if name not in attacks))


@click.command()
@click.option("--quick", is_flag=True, help="8 references instead of 32.")
@click.option("--out", type=PATH, default=Path("audits/demo"), show_default=True, help="Audit folder.")
@jobs
@quiet
@as_json
def demo(quick, out, jobs, quiet, as_json):
    """Train a small network on handwritten digits and audit it."""
    from guestlist._audit.demo import demo

    with show_warnings():
        results = demo(out, quick=quick, jobs=jobs, progress=progress_bar(quiet))
    print_results(results, out, as_json)
