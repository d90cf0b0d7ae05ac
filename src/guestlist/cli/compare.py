"""``compare``: audits of the same records, side by side."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import click

from guestlist.cli.common import as_json
from guestlist.cli.cover import cover_options, updated_cover
from guestlist.cli.kinds import FILE, PATH, SHARE


@click.command()
@click.argument("folders", nargs=-1, required=True, type=PATH)
@click.option("--fpr", type=SHARE, default=0.05, show_default=True)
@click.option(
    "--beside",
    nargs=2,
    multiple=True,
    metavar="FOLDER BASELINE",
    help="Hold the first of two of these folders against the second as well: a model of the same accuracy.",
)
@click.option("--out", type=FILE, help="Write the comparison as a page.")
@cover_options
@as_json
def compare(folders, fpr, beside, out, as_json, **options):
    """Compare audits of the same members and non-members, pair by pair: the model without a defence first.

    \b
    guestlist compare audits/plain audits/smoothed audits/private --out comparison.html
    guestlist compare audits/plain audits/adv_reg audits/stopped --beside audits/adv_reg audits/stopped
    """
    from guestlist.comparing import compare as compared
    from guestlist.comparing import short_names
    from guestlist.findings.results import read_results
    from guestlist.store.jsonable import to_json

    paths = [str(folder) for folder in folders]
    if len(set(paths)) < len(paths):
        raise click.UsageError("A folder is given twice. Give each of them once.")
    names = dict(zip(paths, short_names(paths), strict=True))
    audits = dict(zip(names.values(), map(read_results, folders), strict=True))
    found = compared(audits, fpr=fpr, beside=_beside(beside, names))
    found = replace(found, cover=updated_cover(options, found.cover))
    if out is not None:
        found.to_html(out)
    if as_json:
        click.echo(json.dumps(to_json(found), indent=1))
        return
    _show(found)
    if out is not None:
        click.echo(f"Page: {out}")


def _beside(pairs, names: dict[str, str]) -> dict[str, list[str]]:
    """Name of an audit to those that it is held against; both may be given as folders or by their short names."""
    found: dict[str, list[str]] = {}
    for pair in pairs:
        name, other = (names.get(str(Path(one)), one) for one in pair)
        found.setdefault(name, []).append(other)
    return found


def _show(found) -> None:
    from guestlist.cli.show import show_table
    from guestlist.lines import single_line
    from guestlist.report.comparison import wording

    rows = []
    for pair in found:
        for row in pair.differences:
            first, second, difference, interval = wording.difference_cells(pair, row)
            rows.append(
                {
                    "figure": single_line(wording.metric_name(pair, row)),
                    "model": single_line(pair.second),
                    "against": single_line(pair.first),
                    "there": first,
                    "here": second,
                    "difference": difference,
                    "interval": interval,
                    "shown": wording.verdict(row),
                }
            )
    show_table(rows)
    for pair in found:
        sentences = f"{wording.exposed_sentence(pair)} {wording.risk_changes_sentence(pair)}"
        click.echo(single_line(f"{pair.second} against {pair.first}: {sentences}"))
    click.echo(wording.TOGETHER)
