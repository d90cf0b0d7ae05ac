"""``demo``: the whole flow on embedded data."""

from __future__ import annotations

from pathlib import Path

import click

from guestlist.cli.common import as_json, jobs, print_results, progress_bar, quiet, show_warnings
from guestlist.cli.kinds import PATH


@click.command()
@click.option("--quick", is_flag=True, help="8 references instead of 32.")
@click.option("--out", type=PATH, default=Path("audits/demo"), show_default=True, help="Audit folder.")
@jobs
@quiet
@as_json
def demo(quick, out, jobs, quiet, as_json):
    """Train a small network on handwritten digits and audit it."""
    from guestlist.demo import demo

    with show_warnings():
        results = demo(out, quick=quick, jobs=jobs, progress=progress_bar(quiet))
    print_results(results, out, as_json)
