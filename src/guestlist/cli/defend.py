"""``defend``: from an audit that found a leak to what would help."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from guestlist.cli.common import as_json, show_warnings
from guestlist.cli.cover import cover_from, cover_options, updated_stored_cover
from guestlist.cli.kinds import PATH, REFERENCES, SHARE
from guestlist.cli.request import (
    audit_arguments,
    evaluation_options,
    request_from,
    run_options,
    run_options_from,
    stored_request,
    subject_options,
)
from guestlist.lines import single_line

if TYPE_CHECKING:
    from guestlist.defending.forecast import Forecast
    from guestlist.defending.judging import Defended, Row


@click.command()
@click.argument("folder", required=False, type=PATH)
@subject_options
@click.option("--held-out", type=PATH, help="Records that nobody trains on, for defences that learn.")
@click.option("--defence", "defences", multiple=True, help="Try only these; see: guestlist show defences.")
@click.option("--out", type=PATH, help="Keeps one audit per defence.  [default: <folder>-defended]")
@click.option("--references", type=REFERENCES, help="Models per audit.  [default: those of the folder, or 32]")
@click.option("--fpr", type=SHARE, default=0.05, show_default=True)
@click.option("--estimate", is_flag=True, help="Only tell how long it would take; one model is trained for that.")
@evaluation_options
@cover_options
@run_options
@as_json
@click.pass_context
def defend(context, folder, held_out, defences, out, references, fpr, estimate, as_json, **options):
    """Try the defences that fit a model, each as an audit of the same records, and tell which of them help.

    FOLDER is that of the audit that found the leak; what it was made from is asked for again. Without it, give the model and
    its records as for audit.

    \b
    guestlist defend audits/adult --estimate
    guestlist defend audits/adult --out audits/adult-defended
    guestlist defend --model model.skops --members train.parquet --nonmembers holdout.parquet --label income
    """
    from guestlist.defending.flow import defend as defended
    from guestlist.defending.flow import estimate_runtime
    from guestlist.store import open_store

    folder = folder and folder.resolve()
    request, out, there = _asked(context, folder, out, options)
    if references is None:
        references = 32 if there is None else there
    given = audit_arguments(request, folder or out / "plain", run_options_from(options))
    chosen: dict[str, Any] = {"defences": defences or None, "held_out": held_out, "references": references}
    if estimate:
        unread = ("attacks", "evidence", "prior", "ignore", "baseline", "progress", "about")
        left = {name: value for name, value in given.items() if name not in unread}
        with show_warnings():
            forecast = estimate_runtime(**left, **chosen, plain=folder)
        click.echo(forecast_text(forecast))
        return
    with show_warnings():
        found = defended(
            **given,
            **chosen,
            plain=folder,
            folder=out,
            fpr=fpr,
            tell=None if options["quiet"] else _tell,
            cover=cover_from(options) if folder is None else updated_stored_cover(options, open_store(folder)),
        )
    page = None if found.compared is None else found.compared.to_html(out / "comparison.html")
    if as_json:
        click.echo(json.dumps(found.document(), indent=1))
        return
    show_defences(found, fpr)
    click.echo(f"Audits: {out}")
    if page is not None:
        click.echo(f"Page: {page}")


def _asked(context, folder: Path | None, out: Path | None, options: dict):
    """What is asked for, where the defences go, and how many references the audit in the folder has."""
    given = [name for name in ("model", "members", "nonmembers") if options[name] is not None]
    if folder is None:
        missing = [f"--{name}" for name in ("model", "members", "nonmembers") if name not in given]
        if missing:
            raise click.UsageError(f"Give the folder of an audit; or a model with its records: {', '.join(missing)}.")
        out = out or Path("audits") / f"{options['model'].stem}-defended"
        return request_from(options), out.resolve(), None
    from guestlist.store import open_store

    unread = [name for name in _SUBJECT if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE]
    if unread:
        names = " and ".join(f"--{_SPELT.get(name, name.replace('_', '-'))}" for name in unread)
        raise click.UsageError(f"With a folder, {names} would not be read: the folder knows. Leave it out.")
    store = open_store(folder)
    out = out or folder.with_name(f"{folder.name}-defended")
    request = stored_request(store, "gl.defend(model, members, nonmembers, plain={folder})")
    return request, out.resolve(), max(store.models(), default=0)


# What the folder of an audit knows: another value would be another audit.
_SUBJECT = (
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

_SPELT = {"id_": "id", "attacks": "attack"}


def _tell(event) -> None:
    text = f"{event.number} of {event.of}: {event.name}" if hasattr(event, "number") else forecast_text(event)
    click.echo(text, err=True)


def forecast_text(forecast: Forecast) -> str:
    """How long it will take, and how that was reckoned."""
    times, side = forecast.times, f"{forecast.jobs} side by side" if forecast.jobs > 1 else "one after the other"
    judging = (
        "judging the audits not counted"
        if times.judging is None
        else f"{times.judging:.1f} s to judge each of {forecast.audits} audits"
    )
    return (
        f"{forecast.models} models to train, {times.training:.2g} s for a plain one, {side}; {judging}: about "
        f"{duration(forecast.seconds)}. Defences that train for longer or shorter than the plain model were reckoned roughly."
    )


def duration(seconds: float) -> str:
    """For people: ``40 s``, ``12 min``, ``3.5 h``.

    >>> duration(40), duration(700), duration(12_600)
    ('40 s', '12 min', '3.5 h')
    """
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def show_defences(found: Defended, fpr: float) -> None:
    """The table, and what follows from it."""
    from guestlist.cli.show import show_table
    from guestlist.report.format import decimal, interval, percent

    rows = [
        {
            "defence": row.name,
            "accuracy": "" if row.accuracy is None else decimal(row.accuracy.second.value),
            "change": "" if row.accuracy is None else interval(row.accuracy.difference),
            "AUC": decimal(row.auc.second.value),
            "change of AUC": interval(row.auc.difference),
            f"found at {percent(fpr)} FPR": decimal(row.tpr.second.value),
            "shown": "leaks less" if row.leaks_less else "",
        }
        for row in found.rows
        if row.auc is not None and row.tpr is not None
    ]
    if rows:
        show_table(rows)
    for said in defence_lines(found):
        click.echo("  " * said.startswith("  ") + single_line(said))


def defence_lines(found: Defended) -> list[str]:
    """What was shown, and what has to be known about it."""
    by_name = {row.name: row for row in found.rows}
    tried = sum(row.auc is not None for row in found.rows)
    said = [f"No result: {row.name}. {row.failed}" for row in found.rows if row.failed]
    if not found.helps:
        said.append(f"None of {tried} is shown to leak less than the plain model.")
    else:
        said.append(f"Shown to leak less than the plain model, all {tried} that were tried taken together, at 95 %:")
        said += [f"  {_helping(by_name[name])}" for name in found.helps]
    said += [_leaving(row) for row in found.rows if row.removed is not None]
    grids = sorted({row.defence for row in found.rows if row.options > 1})
    if grids:
        said.append(
            f"Of {', '.join(grids)} several were tried on these records: the best of them looks better here than it is. Audit "
            "the one you choose on other records."
        )
    if any(row.epsilon is not None for row in found.rows):
        said.append("Each epsilon is of one run; the search for it was not counted.")
    said.append("All intervals are about these models, not about their recipes.")
    return said


def _helping(row: Row) -> str:
    from guestlist.report.format import decimal, interval

    assert row.auc is not None, "it was judged"
    assert row.gap is not None, "it was judged"
    cost = ""
    if row.accuracy is not None:
        cost = f"; accuracy {decimal(row.accuracy.second.value)}, before {decimal(row.accuracy.first.value)}"
        shown = row.accuracy.differs
        cost += (" (shown to be lower)" if row.less_accurate else " (shown to be higher)") if shown else ""
    promise = "" if row.epsilon is None else f"; epsilon {row.epsilon:.3g} at delta {row.delta:.1g}"
    return (
        f"{row.name}: AUC {decimal(row.auc.second.value)}, before {decimal(row.auc.first.value)}, change "
        f"{interval(row.gap)}{cost}{promise}"
    )


def _leaving(row: Row) -> str:
    """Of those who left: they pay for it, and others take their place."""
    from guestlist.report.format import percent

    gone = row.removed
    assert gone is not None, "some left"
    right = ""
    if gone.right_before is not None and gone.right_after is not None:
        right = f"; the model is right about {percent(gone.right_after.value)} of them, before {percent(gone.right_before.value)}"
    return (
        f"{row.name}: {gone.records} left, chosen by {gone.risk}, of whom {percent(gone.found.value)} were found before{right}. "
        "The figures above are of those who stayed, before and after: others may stand out now."
    )
