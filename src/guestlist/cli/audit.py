"""Commands ``audit``, ``collect`` and ``demo``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from guestlist import _audit, _collect, _store, models
from guestlist.cli.common import (
    ATTACKS,
    INPUTS,
    MAX_NUMBER,
    MAX_REFERENCES,
    PATH,
    REFERENCES,
    REPORT,
    RUN,
    SHARE,
    Command,
    NumberRange,
    WholeNumber,
    as_json,
    attacks,
    claim_from,
    claim_options,
    cover_options,
    evidence,
    ignore,
    jobs,
    option,
    print_json,
    print_results,
    progress_bar,
    quiet,
    show_warnings,
    updated_cover,
    updated_stored_cover,
    verbose,
)
from guestlist.cli.request import (
    audit_arguments,
    check_tables,
    evaluation_options,
    request_from,
    run_options,
    run_options_from,
    run_request,
    stored_request,
    subject_options,
)

minutes = option(
    ATTACKS,
    "--minutes",
    type=NumberRange(0, MAX_NUMBER),
    help="Minutes for this run. Trains the reference models that fit, at most --references.  [default maximum: 128]",
)


@click.command(cls=Command)
@subject_options
@option(
    INPUTS, "--predictions", type=PATH, help="File of predictions instead of a model: .npz, .csv, .tsv or .parquet."
)
@option(
    INPUTS,
    "--shadow",
    type=PATH,
    help="With --predictions: predictions of a shadow model, on which attacks fit thresholds and networks.",
)
@option(
    INPUTS,
    "--features",
    type=PATH,
    help="With --predictions: features of the records, for the model-free baseline: .csv, .tsv or .parquet.",
)
@option(
    INPUTS,
    "--scale",
    type=click.Choice(["probabilities", "logits", "values"]),
    help="Scale of the predictions or of an ONNX model's outputs.  [default: from the names in the file]",
)
@option(
    INPUTS,
    "--class",
    "classes",
    multiple=True,
    metavar="NAME",
    help="Class of an ONNX model's output column, in the order of the columns. Repeatable.  [default: from the file]",
)
@option(INPUTS, "--member", metavar="COLUMN", help="With --predictions: column with the membership.  [default: member]")
@option(
    INPUTS,
    "--probability",
    "probability",
    metavar="COLUMN",
    help='With --predictions: column with one class probability, e.g. prob_yes, or a pattern such as "prob_{}".  '
    "[default: p_{}, z_{}]",
)
@option(
    INPUTS,
    "--positive",
    metavar="CLASS",
    help="With --predictions: class whose probability is in the column of --probability.",
)
@option(
    INPUTS,
    "--no-labels",
    is_flag=True,
    help="With --predictions: the file has no labels. Only attacks that need no labels are run.",
)
@option(REPORT, "--name", metavar="TEXT", help="Name of the model.  [default: its class, or the file of predictions]")
@option(
    REPORT, "--out", type=PATH, help="Audit folder. Run the same command again to resume.  [default: audits/<name>]"
)
@option(
    ATTACKS,
    "--references",
    type=REFERENCES,
    help="Number of reference models to train.  [default: 32, or 0 for a model that cannot be retrained, e.g. .onnx]",
)
@minutes
@option(
    ATTACKS,
    "--seconds-per-model",
    type=NumberRange(0, MAX_NUMBER),
    help="With --minutes or --estimate: seconds of one training, if you know them.  [default: measured on one model]",
)
@option(RUN, "--estimate", is_flag=True, help="Print the expected duration only; trains one model to measure it.")
@evaluation_options
@claim_options
@cover_options
@run_options
@verbose
@as_json
def audit(out, verbose, as_json, **options):
    """Audit a model or its predictions and write a report.

    \b
    guestlist audit --model model.skops --members train.parquet \\
        --nonmembers holdout.parquet --label income
    guestlist audit --predictions preds.npz
    """
    model = options["model"]
    predictions = options["predictions"]
    if (model is None) == (predictions is None):
        raise click.UsageError(
            "audit needs either --model MODEL --members FILE --nonmembers FILE, or --predictions FILE, and not both."
        )
    _refuse_unused(predictions is not None, options)
    onnx_only = {"--class": options["classes"], "--scale": options["scale"] and model is not None}
    unsupported = [name for name, value in onnx_only.items() if value and (model is None or model.suffix != ".onnx")]
    if unsupported:
        raise click.UsageError(f"{' and '.join(unsupported)}: only used with a model in an .onnx file. Omit it.")
    missing = [f"--{name}" for name in ("members", "nonmembers") if model is not None and options[name] is None]
    if missing:
        raise click.UsageError(f"--model needs records to audit it with. Add {' and '.join(missing)}.")
    out = (out or Path("audits") / (model or predictions).stem).resolve()
    with show_warnings():
        if options["estimate"]:
            _print_estimate(out, options, as_json)
            return
        results = _of_predictions(out, options) if model is None else _of_model(out, options)
    print_results(results, out, as_json, verbose)


# Options that only one of the two types of audit reads. The other type rejects them, so that they are not ignored
# silently.
FOR_PREDICTIONS = ("shadow", "features", "member", "probability", "positive", "no_labels")
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
    "minutes",
    "seconds_per_model",
    "estimate",
)

NO_REFERENCES = (
    "--references cannot be used with --predictions: a file of predictions has no model to retrain. Audit the model with "
    "--model, or add a shadow model's predictions with --shadow FILE."
)


def _refuse_unused(predictions: bool, options: dict) -> None:
    if predictions and options["references"]:
        raise click.UsageError(NO_REFERENCES)
    unread = [name for name in (FOR_MODELS if predictions else FOR_PREDICTIONS) if options[name]]
    if unread:
        source = "--predictions" if predictions else "--model"
        names = " and ".join(f"--{name.replace('_', '-')}" for name in unread)
        raise click.UsageError(f"{names} cannot be used with {source}. Omit it.")


def _of_model(out: Path, options: dict):
    references = options["references"]
    if options["minutes"] is not None:
        references = _within_minutes(options["minutes"], options["seconds_per_model"], options["references"])
    elif options["seconds_per_model"] is not None:
        raise click.UsageError(ONLY_WITH_MINUTES)
    return run_request(request_from(options), out, references, run_options_from(options), updated_cover(options))


def _print_estimate(out: Path, options: dict, as_json: bool) -> None:
    """Print how long the audit would take."""
    if options["minutes"] is not None:
        raise click.UsageError("--estimate and --minutes cannot be combined. Omit one of them.")
    request = request_from(options)
    check_tables(request)
    estimated = _audit.estimate(
        **audit_arguments(request, out, run_options_from(options)),
        folder=out,
        references=options["references"],
        seconds_per_model=options["seconds_per_model"],
    )
    if as_json:
        print_json({**_store.to_json(estimated), "seconds": estimated.seconds})
        return
    click.echo(str(estimated))


ONLY_WITH_MINUTES = "--seconds-per-model is only used with --minutes or --estimate. Add one of them, or omit it."


def _within_minutes(minutes: float, seconds_per_model: float | None, at_most: int | None) -> _collect.WithinMinutes:
    """Return the budget of minutes; a number of references is its maximum."""
    if at_most is None:
        return _collect.WithinMinutes(minutes, seconds_per_model=seconds_per_model)
    if not at_most:
        raise click.UsageError("--minutes cannot be combined with --references 0. Omit one of them.")
    return _collect.WithinMinutes(minutes, at_most, seconds_per_model)


def _of_predictions(out: Path, options: dict):
    path = options["predictions"]
    if options["shadow"] is not None and options["shadow"].resolve() == path.resolve():
        raise click.UsageError(
            f"--shadow and --predictions are both {path}. Pass the predictions of another model, on its own members and "
            "non-members, as --shadow."
        )
    columns = {name: options[name] for name in ("scale", "label", "probability", "positive")}
    columns["labelled"] = not options["no_labels"]
    if options["member"]:
        columns["member"] = options["member"]
    return _audit.audit_predictions(
        models.read_predictions(
            path,
            **columns,
            group=options["group"],
            id=options["id_"],
            person=options["person"],
            features=options["features"],
        ),
        shadow=options["shadow"] and models.read_predictions(options["shadow"], **columns),
        attacks=options["attacks"] or None,
        folder=out,
        prior=options["prior"],
        ignore=options["ignore"],
        baseline=not options["no_baseline"],
        claimed=claim_from(options["claimed"], options["delta"], options["gaussian_noise"]),
        about={"name": options["name"] or path.name, "cover": updated_cover(options)},
    )


@click.command(cls=Command)
@click.argument("folder", type=PATH)
@option(ATTACKS, "--references", type=REFERENCES, help="Total number of reference models, with those already trained.")
@option(
    ATTACKS,
    "--until-width",
    type=SHARE,
    help="Width of the AUC's confidence interval, for models trained this way, at which training stops.",
)
@minutes
@option(
    ATTACKS,
    "--seconds-per-model",
    type=NumberRange(0, MAX_NUMBER),
    help="With --minutes: seconds of one training, if you know them.  [default: measured on one model]",
)
@evidence
@attacks
@option(
    ATTACKS,
    "--at-most",
    type=WholeNumber(1, MAX_REFERENCES),
    default=512,
    show_default=True,
    help="With --until-width: maximum number of reference models.",
)
@ignore
@cover_options
@run_options
@verbose
@as_json
def collect(folder, references, until_width, minutes, seconds_per_model, at_most, verbose, as_json, **options):
    """Add reference models or other evidence to an audit.

    The audit in FOLDER is then evaluated again, with the attacks of --attack if you name some.

    \b
    guestlist collect audits/adult --references 128
    guestlist collect audits/adult --minutes 10
    guestlist collect audits/adult --evidence distilled
    """
    if references is not None and until_width is not None:
        raise click.UsageError("--references and --until-width cannot be combined. Omit one of them.")
    if minutes is not None and until_width is not None:
        raise click.UsageError("--minutes and --until-width cannot be combined. Omit one of them.")
    if minutes is None and seconds_per_model is not None:
        raise click.UsageError("--seconds-per-model is only used with --minutes. Add --minutes, or omit it.")
    requested = [references, until_width, minutes, *(options[name] for name in ("evidence", "attacks", "ignore"))]
    if not any(value not in (None, ()) for value in requested):
        raise click.UsageError(
            "Nothing to collect. Add --references N, --minutes N, --until-width WIDTH, --evidence NAME, --attack NAME or "
            "--ignore CODE."
        )
    folder = folder.resolve()
    store = _store.open_store(folder)
    request = stored_request(store, "gl.audit(model, members, nonmembers, folder={folder}, references=…)")
    count = _references(max(store.models(), default=0), references, until_width, at_most)
    if minutes is not None:
        count = _within_minutes(minutes, seconds_per_model, references)
    request = replace(
        request,
        attacks=options["attacks"] or _with_attacks_for(options["evidence"], request.attacks),
        evidence=options["evidence"],
        ignore=options["ignore"] or request.ignore,
    )
    with show_warnings():
        results = run_request(request, folder, count, run_options_from(options), updated_stored_cover(options, store))
    print_results(results, folder, as_json, verbose)


def _references(existing: int, references: int | None, until_width: float | None, at_most: int):
    """Return the total number of references, or the width until which to train."""
    if references is not None and references < existing:
        raise click.UsageError(
            f"--references {references} is less than the {existing} reference models of this audit. --references is the total "
            f"number, with those already trained: use {existing + 1} or more."
        )
    if until_width is None:
        return max(existing, references or 0)
    try:
        return _collect.UntilWidth(until_width, start=max(existing, 16), at_most=max(at_most, existing, 16))
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def _with_attacks_for(evidence: tuple[str, ...], attacks: tuple[str, ...]) -> tuple[str, ...]:
    """Add the attacks that new evidence makes possible; empty means all that can run."""
    from guestlist.attacks import ATTACKS

    kinds = {text.partition(":")[0] for text in evidence}
    new = [name for name, attack in ATTACKS.items() if attack.evidence in kinds and attack.default]
    if not attacks:
        return ()
    return (*attacks, *(name for name in new if name not in attacks))


@click.command(cls=Command)
@option(RUN, "--quick", is_flag=True, help="Train 8 reference models instead of 32.")
@option(REPORT, "--out", type=PATH, default=Path("audits/demo"), show_default=True, help="Audit folder.")
@jobs
@quiet
@verbose
@as_json
def demo(quick, out, jobs, quiet, verbose, as_json):
    """Train a small network on handwritten digits and audit it."""
    from guestlist._audit.demo import demo

    with show_warnings():
        results = demo(out, quick=quick, jobs=jobs, progress=progress_bar(quiet))
    print_results(results, out, as_json, verbose)
