"""Command ``index``."""

from pathlib import Path

import click

from guestlist import _store
from guestlist.cli.common import (
    FILE,
    PATH,
    REPORT,
    Command,
    as_json,
    check_parent_folder,
    option,
    print_json,
    short_path,
)
from guestlist.errors import InputError


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
    from guestlist._report import index_page, read_index

    found = read_index(folder)
    page = out or folder / "index.html"
    check_parent_folder(page)
    _check_replaceable(page)
    _store.write_text(page, index_page(found))
    if as_json:
        print_json(_store.to_json(found))
        return
    models, audits = len(found.models), len(found.audits)
    click.echo(f"Models: {models}. Audits: {audits}. Folders that cannot be read: {len(found.broken)}.")
    click.echo(f"Index: {short_path(page)}")


def _check_replaceable(page: Path) -> None:
    """Refuse to replace a page that guestlist did not write."""
    from guestlist._report import MARKER

    if page.exists() and MARKER not in page.read_text("utf-8", errors="replace"):
        raise InputError(f"{page} is not a page of guestlist, and is not replaced. Choose another file with --out.")
