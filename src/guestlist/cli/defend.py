"""``defend``: test defences for an audited model."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from guestlist import _audit, _report, _store
from guestlist._util import decimal, interval, percent, single_line
from guestlist.cli.common import (
    ATTACKS,
    INPUTS,
    PATH,
    REFERENCES,
    REPORT,
    RUN,
    SHARE,
    Command,
    as_json,
    cover_options,
    option,
    print_json,
    show_warnings,
    updated_cover,
    updated_stored_cover,
    verbose,
)
from guestlist.cli.request import (
    audit_arguments,
    evaluation_options,
    request_from,
    run_options,
    run_options_from,
    stored_request,
    subject_options,
)
from guestlist.cli.show import show_table

DEFAULT_REFERENCES = 32


@click.command(cls=Command)
@click.argument("folder", required=False, type=PATH)
@subject_options
@option(
    INPUTS,
    "--held-out",
    type=PATH,
    help="Held-out records, for defences that are fitted on records outside the training set.",
)
@option(
    ATTACKS,
    "--defence",
    "defences",
    multiple=True,
    metavar="NAME",
    help="Defence to test; see guestlist show defences. Repeatable.  [default: all that apply]",
)
@option(REPORT, "--out", type=PATH, help="Folder with one audit per defence.  [default: <folder>-defended]")
@option(
    ATTACKS,
    "--references",
    type=REFERENCES,
    help="Number of reference models per audit.  [default: as in FOLDER, or 32]",
)
@option(
    ATTACKS,
    "--fpr",
    type=SHARE,
    default=0.05,
    show_default=True,
    help="False positive rate at which audits are compared.",
)
@option(RUN, "--estimate", is_flag=True, help="Print the expected duration only; trains one model to measure it.")
@evaluation_options
@cover_options
@run_options
@verbose
@as_json
@click.pass_context
def defend(context, folder, held_out, defences, out, references, fpr, estimate, verbose, as_json, **options):
    """Test defences and compare their leakage and accuracy.

    FOLDER is the audit that found the leak; its model and records are read again. Without FOLDER, pass the model and its
    records as for guestlist audit.

    \b
    guestlist defend audits/adult --estimate
    guestlist defend audits/adult --out audits/adult-defended
    guestlist defend --model model.skops --members train.parquet \\
        --nonmembers holdout.parquet --label income
    """
    from guestlist._audit.defend import defend as defended

    folder = folder and folder.resolve()
    request, out, existing = _resolve_request(context, folder, out, options)
    if references is None:
        references = existing
    arguments = audit_arguments(request, folder or out / "plain", run_options_from(options))
    if not sys.stderr.isatty():
        arguments["progress"] = False  # a log has a line for some of the defences, and none for every audit
    if estimate:
        sets = {name: arguments.pop(name) for name in ("model", "members", "nonmembers", "population")}
        with show_warnings():
            forecast = _audit.estimate_runtime(
                **sets,
                config=_audit.AuditConfig.from_options(references=references, **arguments),
                defences=defences or None,
                held_out=held_out,
                plain=folder,
            )
        click.echo(_report.prose("defend.forecast", forecast))
        return
    cover = updated_cover(options)
    if folder is not None:
        cover = updated_stored_cover(options, _store.open_store(folder))
    arguments["about"]["cover"] = cover
    with show_warnings():
        result = defended(
            **arguments,
            defences=defences or None,
            held_out=held_out,
            references=references,
            plain=folder,
            folder=out,
            fpr=fpr,
            on_event=None if options["quiet"] else _print_event,
        )
    page = None if result.compared is None else result.compared.to_html(out / "comparison.html")
    if as_json:
        print_json(result.document())
        return
    show_defences(result, fpr, verbose)
    click.echo(f"Audits: {_report.short_path(out)}")
    if page is not None:
        click.echo(f"Page: {_report.short_path(page)}")


def _resolve_request(context, folder: Path | None, out: Path | None, options: dict):
    """Return the request, the output folder and the number of references in the audited folder."""
    if folder is None:
        missing = [f"--{name}" for name in ("model", "members", "nonmembers") if options[name] is None]
        if missing:
            raise click.UsageError(
                f"defend needs the folder of an audit, or a model with its records. Missing: {', '.join(missing)}."
            )
        out = out or Path("audits") / f"{options['model'].stem}-defended"
        return request_from(options), out.resolve(), DEFAULT_REFERENCES

    unread = [
        name for name in _FOLDER_OPTIONS if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
    ]
    if unread:
        names = " and ".join(f"--{_OPTION_NAMES.get(name, name.replace('_', '-'))}" for name in unread)
        raise click.UsageError(
            f"{names} cannot be combined with FOLDER, whose stored inputs are used. Omit one of them."
        )
    store = _store.open_store(folder)
    out = out or folder.with_name(f"{folder.name}-defended")
    request = stored_request(store, "gl.defend(model, members, nonmembers, plain={folder})")
    return request, out.resolve(), max(store.models(), default=0)


# Options that the audit folder stores; a different value would be a different audit.
_FOLDER_OPTIONS = (
    "model",
    "members",
    "nonmembers",
    "population",
    "label",
    "group",
    "id_",
    "person",
    "attacks",
    "evidence",
    "ignore",
    "seed",
    "drop_duplicates",
    "prior",
    "no_baseline",
)

_OPTION_NAMES = {"id_": "id", "attacks": "attack"}


MAX_EVENTS = 4  # in a log; a terminal shows all


def _print_event(event) -> None:
    if not hasattr(event, "number"):
        click.echo(_report.prose("defend.forecast", event), err=True)
        return
    step = max(1, event.total // MAX_EVENTS)
    if sys.stderr.isatty() or event.number == event.total or (event.number - 1) % step == 0:
        click.echo(f"Defence {event.number} of {event.total}: {event.name}", err=True)


MAX_ROWS = 10


def show_defences(result: _audit.Defended, fpr: float, verbose: bool) -> None:
    """Print the conclusions and the table of defences; by default the defences with the smallest leak."""
    judged = [row for row in result.rows if row.auc is not None and row.tpr is not None]
    printed = judged
    if not verbose and len(judged) > MAX_ROWS:
        printed = sorted(judged, key=lambda row: (not row.leaks_less, _auc(row)))[:MAX_ROWS]
    click.echo(single_line(_report.prose("defend.conclusion", result, len(judged))))
    if printed:
        click.echo()
        show_table([_cells(row, fpr) for row in printed], drop=(f"TPR at {percent(fpr)} FPR", "its change"))
        click.echo()
    if len(printed) < len(judged):
        click.echo(f"{len(judged) - len(printed)} more defences: add --verbose.")
    for text in _report.sentences("defend.notes", result, verbose):
        click.echo(single_line(text))


def _auc(row: _audit.Row) -> float:
    assert row.auc is not None, "it was judged"
    return row.auc.second.value


def _cells(row: _audit.Row, fpr: float) -> dict[str, str]:
    assert row.auc is not None, "it was judged"
    assert row.tpr is not None, "it was judged"
    return {
        "defence": row.name,
        "AUC": decimal(row.auc.second.value),
        "change of AUC": interval(row.auc.difference),
        "evidence": "leaks less" if row.leaks_less else "",
        "accuracy": "" if row.accuracy is None else decimal(row.accuracy.second.value),
        "its change": "" if row.accuracy is None else interval(row.accuracy.difference),
        f"TPR at {percent(fpr)} FPR": decimal(row.tpr.second.value),
    }
