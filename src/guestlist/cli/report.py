"""``report``: write the page of an audit again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from guestlist.cli.cover import cover_options, updated_cover
from guestlist.cli.kinds import FILE, PATH


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
    from guestlist.findings.cover import keep
    from guestlist.findings.results import read_results

    results = read_results(folder)
    cover = updated_cover(options, results.cover)
    if cover is not None and cover != results.cover:
        keep(folder, cover)
        results = replace(results, cover=cover)
    members = _members(folder) if features else None
    click.echo(results.to_html(out or folder / "report.html", features=members))


def _members(folder: Path):
    """Read the members of an audit from their file."""
    from guestlist.cli.request import stored_request
    from guestlist.data import as_data
    from guestlist.store import open_store

    request = stored_request(
        open_store(folder), "gl.read_results({folder}).to_html('report.html', features=gl.Data(x, y, ids=ids))"
    )
    if request.demo:
        from guestlist.demo import demo_inputs

        inputs = demo_inputs()
        return as_data(inputs["members"], side="members", label=inputs["label"])
    return as_data(
        request.members, side="members", label=request.label, group=request.group, id=request.id, person=request.person
    )
