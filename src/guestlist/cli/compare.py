"""``compare``: audits of the same records, side by side."""

from __future__ import annotations

import json
from pathlib import Path

import click

from guestlist.cli.common import as_json

FIGURES = {"accuracy": "accuracy on {of}", "auc": "AUC of {of}", "tpr": "members that {of} finds"}


@click.command()
@click.argument("folders", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--fpr", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.05, show_default=True)
@as_json
def compare(folders, fpr, as_json):
    """Compare audits of the same members and non-members, pair by pair: the model without a defence first.

    \b
    guestlist compare audits/plain audits/smoothed audits/private
    """
    from guestlist.comparing import compare as compared
    from guestlist.comparing import named
    from guestlist.report.format import interval, percent
    from guestlist.report.readable import read_results
    from guestlist.store.jsonable import to_json

    names = named([str(folder) for folder in folders])
    found = compared(dict(zip(names, map(read_results, folders), strict=True)), fpr=fpr)
    if as_json:
        click.echo(json.dumps(to_json(found), indent=1))
        return
    from guestlist.cli.show import show_table

    rows = []
    for one in found:
        for row in one.differences:
            rows.append(
                {
                    "figure": FIGURES[row.what].format(of=row.of)
                    + (f" at {percent(fpr)} FPR" if row.what == "tpr" else ""),
                    "model": one.second,
                    one.first: _told(row.first),
                    "here": _told(row.second),
                    "difference": _told(row.difference),
                    "interval": interval(row.difference),
                    "shown": ("more" if row.difference.value > 0 else "less") if row.differs else "no difference",
                }
            )
    show_table(rows)
    click.echo(
        "The intervals of one model's differences hold together, at 95 %. They are about these models, not about their recipes."
    )


def _told(estimate) -> str:
    from guestlist.report.format import decimal

    return decimal(estimate.value)
