"""``report``: the page of an audit, again."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), help="Where to write it.  [default: FOLDER/report.html]")
def report(folder, out):
    """Write the report of the audit in FOLDER again, as one self-contained HTML page."""
    from guestlist.report.readable import read_results

    click.echo(read_results(folder).to_html(out or folder / "report.html"))
