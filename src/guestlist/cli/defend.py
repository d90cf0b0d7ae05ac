"""``defend``: test defences for an audited model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from guestlist import _store
from guestlist._util import decimal, interval, percent, single_line
from guestlist.cli.common import as_json, print_json, show_warnings
from guestlist.cli.options import PATH, REFERENCES, SHARE, cover_from, cover_options, updated_stored_cover
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

if TYPE_CHECKING:
    from guestlist._audit.defence_results import Defended, Row
    from guestlist._audit.defend import Forecast


DEFAULT_REFERENCES = 32


@click.command()
@click.argument("folder", required=False, type=PATH)
@subject_options
@click.option(
    "--held-out", type=PATH, help="Held-out records, for defences that are fitted on records outside the training set."
)
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
    from guestlist._audit.config import AuditConfig
    from guestlist._audit.defend import defend as defended
    from guestlist._audit.defend import estimate_runtime

    folder = folder and folder.resolve()
    request, out, existing = _resolve_request(context, folder, out, options)
    if references is None:
        references = existing
    arguments = audit_arguments(request, folder or out / "plain", run_options_from(options))
    choices: dict[str, Any] = {"defences": defences or None, "held_out": held_out, "references": references}
    if estimate:
        sets = {name: arguments.pop(name) for name in ("model", "members", "nonmembers", "population")}
        with show_warnings():
            config = AuditConfig.from_options(references=references, **arguments)
            forecast = estimate_runtime(
                **sets, config=config, defences=defences or None, held_out=held_out, plain=folder
            )
        click.echo(forecast_text(forecast))
        return
    cover = cover_from(options)
    if folder is not None:
        cover = updated_stored_cover(options, _store.open_store(folder))
    arguments["about"]["cover"] = cover
    with show_warnings():
        result = defended(
            **arguments,
            **choices,
            plain=folder,
            folder=out,
            fpr=fpr,
            on_event=None if options["quiet"] else _print_event,
        )
    page = None
    if result.compared is not None:
        page = result.compared.to_html(out / "comparison.html")
    if as_json:
        print_json(result.document())
        return
    show_defences(result, fpr)
    click.echo(f"Audits: {out}")
    if page is not None:
        click.echo(f"Page: {page}")


def _resolve_request(context, folder: Path | None, out: Path | None, options: dict):
    """Return the request, the output folder and the number of references in the audited folder."""
    if folder is None:
        missing = [f"--{name}" for name in ("model", "members", "nonmembers") if options[name] is None]
        if missing:
            raise click.UsageError(f"Give the folder of an audit; or a model with its records: {', '.join(missing)}.")
        out = out or Path("audits") / f"{options['model'].stem}-defended"
        return request_from(options), out.resolve(), DEFAULT_REFERENCES

    unread = [
        name for name in _FOLDER_OPTIONS if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
    ]
    if unread:
        names = " and ".join(f"--{_OPTION_NAMES.get(name, name.replace('_', '-'))}" for name in unread)
        raise click.UsageError(f"With a folder, {names} would not be read: the folder knows. Leave it out.")
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


def _print_event(event) -> None:
    if hasattr(event, "number"):
        click.echo(f"{event.number} of {event.total}: {event.name}", err=True)
    else:
        click.echo(forecast_text(event), err=True)


def forecast_text(forecast: Forecast) -> str:
    """Report the estimated runtime and its basis."""
    times = forecast.times
    schedule = "one after the other"
    if forecast.jobs > 1:
        schedule = f"{forecast.jobs} side by side"
    judging = "judging the audits not counted"
    if times.evaluation is not None:
        judging = f"{times.evaluation:.1f} s to judge each of {forecast.audits} audits"
    return (
        f"{forecast.models} models to train, {times.training:.2g} s for a plain one, {schedule}; {judging}: about "
        f"{duration(forecast.seconds)}. Defences that train for longer or shorter than the plain model were reckoned roughly."
    )


def duration(seconds: float) -> str:
    """Format a duration: ``40 s``, ``12 min``, ``3.5 h``.

    >>> duration(40), duration(700), duration(12_600)
    ('40 s', '12 min', '3.5 h')
    """
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def show_defences(result: Defended, fpr: float) -> None:
    """Print the table of defences and the conclusions."""
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
        for row in result.rows
        if row.auc is not None and row.tpr is not None
    ]
    if rows:
        show_table(rows)
    for text in defence_lines(result):
        click.echo("  " * text.startswith("  ") + single_line(text))


def defence_lines(result: Defended) -> list[str]:
    """Return the conclusions, and the caveats that go with them."""
    by_name = {row.name: row for row in result.rows}
    tried = sum(row.auc is not None for row in result.rows)
    sentences = [f"No result: {row.name}. {row.failed}" for row in result.rows if row.failed]
    if not result.helps:
        sentences.append(f"None of {tried} is shown to leak less than the plain model.")
    else:
        sentences.append(
            f"Shown to leak less than the plain model, all {tried} that were tried taken together, at 95 %:"
        )
        sentences += [f"  {_improvement_line(by_name[name])}" for name in result.helps]
    sentences += [_removal_line(row) for row in result.rows if row.removed is not None]
    grids = sorted({row.defence for row in result.rows if row.options > 1})
    if grids:
        sentences.append(
            f"Of {', '.join(grids)} several were tried on these records: the best of them looks better here than it is. Audit "
            "the one you choose on other records."
        )
    if any(row.epsilon is not None for row in result.rows):
        sentences.append("Each epsilon is of one run; the search for it was not counted.")
    sentences.append("All intervals are about these models, not about their recipes.")
    return sentences


def _improvement_line(row: Row) -> str:

    assert row.auc is not None, "it was judged"
    assert row.gap is not None, "it was judged"
    text = f"{row.name}: AUC {decimal(row.auc.second.value)}, before {decimal(row.auc.first.value)}"
    text += f", change {interval(row.gap)}"
    if row.accuracy is not None:
        text += f"; accuracy {decimal(row.accuracy.second.value)}, before {decimal(row.accuracy.first.value)}"
        if row.accuracy.differs:
            text += " (shown to be lower)" if row.less_accurate else " (shown to be higher)"
    if row.epsilon is not None:
        text += f"; epsilon {row.epsilon:.3g} at delta {row.delta:.1g}"
    return text


def _removal_line(row: Row) -> str:
    """Report the effect on the removed records, and that others may now be exposed."""

    removed = row.removed
    assert removed is not None, "some left"
    found_before = percent(removed.flagged.value)
    text = f"{row.name}: {removed.records} left, chosen by {removed.risk}, of whom {found_before} were found before"
    if removed.right_before is not None and removed.right_after is not None:
        before = percent(removed.right_before.value)
        text += f"; the model is right about {percent(removed.right_after.value)} of them, before {before}"
    return f"{text}. The figures above are of those who stayed, before and after: others may stand out now."
