"""``export``: write results for other tools."""

from __future__ import annotations

import click

from guestlist.cli.kinds import FILE, PATH
from guestlist.errors import InputError


@click.command()
@click.argument("folder", type=PATH)
@click.option("--as", "form", default="markdown", show_default=True, help="See: guestlist show exports.")
@click.option("--out", type=FILE, help="Where to write it.  [default: stdout]")
def export(folder, form, out):
    """Write the results of the audit in FOLDER for another tool."""
    from guestlist.exports import EXPORTS
    from guestlist.findings.results import read_results
    from guestlist.store.files import write_text

    if form not in EXPORTS:
        raise InputError(f"There is no export {form!r}; there are {', '.join(EXPORTS)}.")
    text = EXPORTS[form].text(read_results(folder))
    if out is None:
        click.echo(text, nl=False)
    else:
        write_text(out, text)
        click.echo(out)
