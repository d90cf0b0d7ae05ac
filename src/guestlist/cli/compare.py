"""``compare``: compare audits of the same records."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from guestlist.cli.common import as_json, print_json
from guestlist.cli.cover import cover_options, updated_cover
from guestlist.cli.kinds import FILE, PATH, SHARE


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
    from guestlist.comparing import compare as compared
    from guestlist.comparing import short_names
    from guestlist.findings.results import read_results
    from guestlist.store.jsonable import to_json

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
        print_json(to_json(comparisons))
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
    from guestlist.cli.show import show_table
    from guestlist.lines import single_line
    from guestlist.report.comparison import wording

    rows = []
    for pair in comparisons:
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
    for pair in comparisons:
        sentences = f"{wording.exposed_sentence(pair)} {wording.risk_changes_sentence(pair)}"
        click.echo(single_line(f"{pair.second} against {pair.first}: {sentences}"))
    click.echo(wording.TOGETHER)
