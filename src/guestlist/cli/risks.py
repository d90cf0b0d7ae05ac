"""``risks``: the members with the largest risks."""

from __future__ import annotations

import json
from pathlib import Path

import click

from guestlist.cli.common import as_json


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--risk", help="Risks, separated by commas; the first one ranks. See: guestlist show risks.")
@click.option("--top", type=click.IntRange(1), default=20, show_default=True, help="How many members to list.")
@click.option(
    "--export",
    type=click.Path(path_type=Path),
    help="Also write all members to a file: .csv or .parquet; ids included.",
)
@as_json
def risks(folder, risk, top, export, as_json):
    """List the members of the audit in FOLDER that are most at risk.

    \b
    guestlist risks audits/adult --risk mu,memorisation,shapr --top 100 --export exposed.csv
    """
    from guestlist.findings.folder import read_case
    from guestlist.risks.listing import for_spreadsheets, members_by_risk

    if export is not None and export.suffix.lower() not in (".csv", ".parquet"):
        raise click.UsageError(f"--export writes .csv or .parquet files, not {export.name!r}.")
    table = members_by_risk(read_case(folder), risk and [one.strip() for one in risk.split(",")])
    if export is not None:
        _write(export, for_spreadsheets(table) if export.suffix.lower() == ".csv" else table)
    if as_json:
        click.echo(json.dumps(json.loads(table.head(top).to_json(orient="records")), indent=1))
        return
    from guestlist.cli.show import show_table

    show_table([{name: _told(cell) for name, cell in row.items()} for row in table.head(top).to_dict("records")])
    if export is not None:
        click.echo(f"{len(table)} members: {export}")


def _told(cell) -> str:
    return f"{cell:.3g}" if isinstance(cell, float) else str(cell)


def _write(path: Path, table) -> None:
    from guestlist.store.files import write_parquet, write_text

    if path.suffix.lower() == ".parquet":
        write_parquet(path, table)
    else:
        write_text(path, table.to_csv(index=False))
