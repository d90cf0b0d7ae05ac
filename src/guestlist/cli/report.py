"""Commands ``report``, ``export``, ``compare`` and ``index``."""

from dataclasses import replace
from pathlib import Path

import click

from guestlist import _audit, _findings, _report, _store
from guestlist._util import close_matches, decimal, interval, single_line
from guestlist.cli.common import (
    ATTACKS,
    FILE,
    INPUTS,
    PATH,
    REPORT,
    SHARE,
    Command,
    as_json,
    check_parent_folder,
    cover_options,
    option,
    print_json,
    updated_cover,
    verbose,
)
from guestlist.cli.show import show_table
from guestlist.errors import InputError


@click.command(cls=Command)
@click.argument("folder", type=PATH)
@option(REPORT, "--out", type=FILE, help="File of the report.  [default: FOLDER/report.html]")
@option(
    REPORT,
    "--features",
    is_flag=True,
    help="Show the features of the most exposed members, read from the members' file. Protect the page like that file.",
)
@cover_options
@verbose
def report(folder, out, features, verbose, **options):
    """Write the report of an audit again, as one HTML page.

    Title, owner, dataset, purpose and date are stored in FOLDER. Those you do not pass stay as they are.
    """
    results = _findings.read_results(folder)
    cover = updated_cover(options, results.cover)
    if cover is not None and cover != results.cover:
        _findings.keep(folder, cover)
        results = replace(results, cover=cover)
    page = results.to_html(out or folder / "report.html", features=_members(folder) if features else None)
    if verbose:
        click.echo(results.summary(verbose=True))
        click.echo()
    click.echo(page)


def _members(folder: Path):
    """Read the members of an audit from their file."""
    from guestlist.cli.request import stored_request
    from guestlist.data import as_data

    request = stored_request(
        _store.open_store(folder), "gl.read_results({folder}).to_html('report.html', features=gl.Data(x, y, ids=ids))"
    )
    if request.demo:
        inputs = _audit.demo_inputs()
        return as_data(inputs["members"], side="members", label=inputs["label"])
    return as_data(
        request.members, side="members", label=request.label, group=request.group, id=request.id, person=request.person
    )


@click.command(cls=Command)
@click.argument("folder", type=PATH)
@option(
    REPORT,
    "--as",
    "form",
    metavar="NAME",
    default="markdown",
    show_default=True,
    help="Format of the output; see guestlist show exports.",
)
@option(REPORT, "--out", type=FILE, help="File to write.  [default: stdout]")
def export(folder, form, out):
    """Write the results of an audit for another tool."""
    if form not in _report.EXPORTS:
        raise InputError(
            f"There is no export {form!r}. Available names: {close_matches(form, _report.EXPORTS)}. List all with guestlist show "
            "exports."
        )
    text = _report.EXPORTS[form].text(_findings.read_results(folder))
    if out is None:
        click.echo(text, nl=False)
    else:
        _store.write_text(out, text)
        click.echo(out)


@click.command(cls=Command)
@click.argument("folders", nargs=-1, required=True, type=PATH)
@option(
    ATTACKS,
    "--fpr",
    type=SHARE,
    default=0.05,
    show_default=True,
    help="False positive rate at which audits are compared.",
)
@option(
    INPUTS,
    "--pair",
    "pairs",
    nargs=2,
    multiple=True,
    metavar="FOLDER BASELINE",
    help="Additional pair of FOLDERS to compare, e.g. a defended model with a model of the same accuracy. Repeatable.",
)
@option(REPORT, "--out", type=FILE, help="File for the comparison as an HTML page.")
@cover_options
@verbose
@as_json
def compare(folders, fpr, pairs, out, verbose, as_json, **options):
    """Compare audits of the same members and non-members.

    The first folder is the model without a defence; every other one is compared with it.

    \b
    guestlist compare audits/plain audits/smoothed --out comparison.html
    guestlist compare audits/plain audits/adv_reg audits/stopped \\
        --pair audits/adv_reg audits/stopped
    """
    from guestlist._audit.compare import compare as compared

    paths = [str(folder) for folder in folders]
    if len(set(paths)) < len(paths):
        raise click.UsageError("A folder is listed twice. List each folder once.")
    if len(paths) == 1:
        raise click.UsageError("A comparison needs at least two audits. Add the folder of another one.")
    names = dict(zip(paths, _audit.short_names(paths), strict=True))
    audits = dict(zip(names.values(), map(_findings.read_results, folders), strict=True))
    comparisons = compared(audits, fpr=fpr, pairs=_pairs(pairs, names))
    comparisons = replace(comparisons, cover=updated_cover(options, comparisons.cover))
    if out is not None:
        comparisons.to_html(out)
    if as_json:
        print_json(_store.to_json(comparisons))
        return
    _show(comparisons, verbose)
    if out is not None:
        click.echo(f"Page: {out}")


def _pairs(pairs, names: dict[str, str]) -> dict[str, list[str]]:
    """Map an audit to the baselines it is compared with; both may be given as folders or short names."""
    baselines: dict[str, list[str]] = {}
    for pair in pairs:
        name, other = (names.get(str(Path(folder)), folder) for folder in pair)
        baselines.setdefault(name, []).append(other)
    return baselines


MAIN_METRICS = ("auc", "tpr")
MAIN_ACCURACY = ("accuracy", "non-members")
MAX_ROWS = 12


def _cells(pair, row) -> dict[str, str]:
    return {
        "model": pair.second,
        "metric": _report.comparison.metric_name(pair, row),
        "change": decimal(row.difference.value),
        "95% CI": interval(row.difference),
        "evidence": _report.comparison.verdict(row),
        "value": decimal(row.second.value),
        "compared with": pair.first,
        "its value": decimal(row.first.value),
    }


def _show(comparisons, verbose: bool) -> None:

    rows = [
        _cells(pair, row)
        for pair in comparisons
        for row in pair.differences
        if verbose or row.metric in MAIN_METRICS or (row.metric, row.scope) == MAIN_ACCURACY
    ]
    printed = rows if verbose else rows[:MAX_ROWS]
    show_table(printed, drop=("its value", "value", "compared with"))
    if len(printed) < len(rows):
        click.echo(f"{len(rows) - len(printed)} more rows: add --verbose.")
    if not verbose:
        click.echo(_report.comparison.TOGETHER)
        return
    for pair in comparisons:
        exposed = _report.prose("comparison.exposed", pair)
        changes = _report.prose("comparison.risk_changes", pair.risk_changes)
        click.echo(single_line(f"{pair.second} compared with {pair.first}: {exposed} {changes}"))
    click.echo(_report.comparison.TOGETHER)


@click.command(cls=Command)
@click.argument("folder", type=PATH)
@option(REPORT, "--out", type=FILE, help="File of the page. Links start from FOLDER.  [default: FOLDER/index.html]")
@as_json
def index(folder, out, as_json):
    """Write one page over all audits below a folder.

    The page lists every model with its latest severity, verdict, metrics, gate and date, and with the trend of audits that
    share a name. Folders that cannot be read are listed with their error.

    \b
    guestlist index audits
    """
    audit_index = _report.read_index(folder)
    page = out or folder / "index.html"
    check_parent_folder(page)
    _check_replaceable(page)
    _store.write_text(page, _report.index_page(audit_index))
    if as_json:
        print_json(_store.to_json(audit_index))
        return
    click.echo(
        f"Models: {len(audit_index.models)}. Audits: {len(audit_index.audits)}. "
        f"Folders that cannot be read: {len(audit_index.broken)}."
    )
    click.echo(f"Index: {_report.short_path(page)}")


def _check_replaceable(page: Path) -> None:
    """Raise if the page exists and guestlist did not write it."""
    if page.exists() and _report.MARKER not in page.read_text("utf-8", errors="replace"):
        raise InputError(
            f"guestlist did not write {page}, so it does not overwrite it. Choose another file with --out."
        )
