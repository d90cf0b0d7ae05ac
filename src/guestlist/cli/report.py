"""Commands ``report``, ``export`` and ``compare``."""

from dataclasses import replace
from pathlib import Path

import click

from guestlist import _store
from guestlist._util import single_line
from guestlist.cli.common import as_json, print_json
from guestlist.cli.options import FILE, PATH, SHARE, cover_options, updated_cover
from guestlist.cli.show import show_table
from guestlist.errors import InputError


@click.command()
@click.argument("folder", type=PATH)
@click.option("--out", type=FILE, help="Where to write it.  [default: FOLDER/report.html]")
@click.option(
    "--features",
    is_flag=True,
    help="Show the features of the most exposed members, read from the members' file. Keep such a page as you keep that file.",
)
@cover_options
def report(folder, out, features, **options):
    """Write the report of the audit in FOLDER again, as one self-contained HTML page.

    What is said here of its cover is kept in the folder, an empty text clears what was there, and the rest stays as it was.
    """
    from guestlist._findings.facts import keep
    from guestlist._findings.results import read_results

    results = read_results(folder)
    cover = updated_cover(options, results.cover)
    if cover is not None and cover != results.cover:
        keep(folder, cover)
        results = replace(results, cover=cover)
    members = None
    if features:
        members = _members(folder)
    click.echo(results.to_html(out or folder / "report.html", features=members))


def _members(folder: Path):
    """Read the members of an audit from their file."""
    from guestlist.cli.request import stored_request
    from guestlist.data import as_data

    request = stored_request(
        _store.open_store(folder), "gl.read_results({folder}).to_html('report.html', features=gl.Data(x, y, ids=ids))"
    )
    if request.demo:
        from guestlist._audit.demo import demo_inputs

        inputs = demo_inputs()
        return as_data(inputs["members"], side="members", label=inputs["label"])
    return as_data(
        request.members, side="members", label=request.label, group=request.group, id=request.id, person=request.person
    )


@click.command()
@click.argument("folder", type=PATH)
@click.option("--as", "form", default="markdown", show_default=True, help="See: guestlist show exports.")
@click.option("--out", type=FILE, help="Where to write it.  [default: stdout]")
def export(folder, form, out):
    """Write the results of the audit in FOLDER for another tool."""
    from guestlist._findings.results import read_results
    from guestlist._report.exports import EXPORTS

    if form not in EXPORTS:
        raise InputError(f"There is no export {form!r}; there are {', '.join(EXPORTS)}.")
    text = EXPORTS[form].text(read_results(folder))
    if out is None:
        click.echo(text, nl=False)
    else:
        _store.write_text(out, text)
        click.echo(out)


@click.command()
@click.argument("folders", nargs=-1, required=True, type=PATH)
@click.option("--fpr", type=SHARE, default=0.05, show_default=True)
@click.option(
    "--beside",
    "baselines",
    nargs=2,
    multiple=True,
    metavar="FOLDER BASELINE",
    help="Hold the first of two of these folders against the second as well: a model of the same accuracy.",
)
@click.option("--out", type=FILE, help="Write the comparison as a page.")
@cover_options
@as_json
def compare(folders, fpr, baselines, out, as_json, **options):
    """Compare audits of the same members and non-members, pair by pair: the model without a defence first.

    \b
    guestlist compare audits/plain audits/smoothed audits/private --out comparison.html
    guestlist compare audits/plain audits/adv_reg audits/stopped --beside audits/adv_reg audits/stopped
    """
    from guestlist._audit.compare import compare as compared
    from guestlist._audit.compare import short_names
    from guestlist._findings.results import read_results

    paths = [str(folder) for folder in folders]
    if len(set(paths)) < len(paths):
        raise click.UsageError("A folder is given twice. Give each of them once.")
    names = dict(zip(paths, short_names(paths), strict=True))
    audits = dict(zip(names.values(), map(read_results, folders), strict=True))
    comparisons = compared(audits, fpr=fpr, beside=_baselines(baselines, names))
    comparisons = replace(comparisons, cover=updated_cover(options, comparisons.cover))
    if out is not None:
        comparisons.to_html(out)
    if as_json:
        print_json(_store.to_json(comparisons))
        return
    _show(comparisons)
    if out is not None:
        click.echo(f"Page: {out}")


def _baselines(pairs, names: dict[str, str]) -> dict[str, list[str]]:
    """Map an audit to the baselines it is compared with; both may be given as folders or short names."""
    baselines: dict[str, list[str]] = {}
    for pair in pairs:
        name, other = (names.get(str(Path(folder)), folder) for folder in pair)
        baselines.setdefault(name, []).append(other)
    return baselines


def _show(comparisons) -> None:
    from guestlist._report import comparison

    rows = []
    for pair in comparisons:
        for row in pair.differences:
            first, second, difference, interval = comparison.difference_cells(pair, row)
            rows.append(
                {
                    "figure": single_line(comparison.metric_name(pair, row)),
                    "model": single_line(pair.second),
                    "against": single_line(pair.first),
                    "there": first,
                    "here": second,
                    "difference": difference,
                    "interval": interval,
                    "shown": comparison.verdict(row),
                }
            )
    show_table(rows)
    for pair in comparisons:
        sentences = f"{comparison.exposed_sentence(pair)} {comparison.risk_changes_sentence(pair)}"
        click.echo(single_line(f"{pair.second} against {pair.first}: {sentences}"))
    click.echo(comparison.TOGETHER)
