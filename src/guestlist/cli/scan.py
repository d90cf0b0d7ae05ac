"""Command ``scan``."""

import sys

import click

from guestlist.cli.common import INPUTS, PATH, REPORT, Command, allow_pickle, as_json, option, print_json, trust
from guestlist.cli.show import show_table

STORES_MEMBERS = 1


@click.command(cls=Command)
@click.argument("model", type=PATH)
@option(
    INPUTS, "--members", type=PATH, required=True, help="Records that the model was trained on: .csv, .tsv or .parquet."
)
@option(INPUTS, "--label", metavar="COLUMN", help="Column with the label.")
@option(INPUTS, "--id", "id_", metavar="COLUMN", help="Column with the record id.  [default: row numbers]")
@option(INPUTS, "--drop", metavar="COLUMN", multiple=True, help="Column that is not a feature. Repeatable.")
@trust
@allow_pickle
@option(
    REPORT, "--ids", "show_ids", is_flag=True, help="Print ids of the stored members. Do not use it in public logs."
)
@as_json
def scan(model, members, label, id_, drop, trust, allow_pickle, show_ids, as_json):
    """Search a model file for training records stored in it.

    MODEL is a .skops, .onnx, .pt or .json file, or a pickle with --allow-pickle. The exit status is 1 if the file stores
    members: whole rows, or categories and words that only one member has.

    \b
    guestlist scan model.skops --members train.parquet --label income
    """
    from guestlist._util import single_line
    from guestlist.models.stored_records import scan

    found = scan(model, members, label=label, id=id_, drop=drop, trust=trust, allow_pickle=allow_pickle)
    if as_json:
        print_json(found.document(ids=show_ids))
    else:
        click.echo(found.summary())
        if found.parts:
            show_table(
                [
                    {
                        "attribute": row.path,
                        "holds": row.holds,
                        "stored": row.stored,
                        "matched": row.matched,
                        "members": f"{row.members} ({row.share:.1%})",
                    }
                    for row in found.table.itertuples()
                ]
            )
        if show_ids and found.ids:
            click.echo(single_line(f"Ids: {', '.join(found.ids)}"))
    sys.exit(STORES_MEMBERS if found.parts else 0)
