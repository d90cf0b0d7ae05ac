"""``forget``: preview which members a deletion request would expose."""

from __future__ import annotations

import json

import click

from guestlist.cli.common import as_json, print_json
from guestlist.cli.kinds import PATH, WholeNumber


@click.command()
@click.argument("folder", type=PATH)
@click.option("--ids", required=True, help="Of the members that leave, separated by commas.")
@click.option("--most", "max_rows", type=WholeNumber(1), default=10, show_default=True, help="How many pairs to list.")
@as_json
def forget(folder, ids, max_rows, as_json):
    """Preview a deletion request for the audit in FOLDER: who becomes more exposed when these members leave?"""
    from guestlist.findings.folder import read_case
    from guestlist.risks.forgetting import forgetting

    pairs = forgetting(read_case(folder, scored=False), [part.strip() for part in ids.split(",")])
    significant = int(((pairs["p_adjusted"] <= 0.05) & (pairs["exposed"] > 0)).sum())
    top = pairs.head(max_rows)
    if as_json:
        rows = json.loads(top.to_json(orient="records"))
        print_json({"pairs": len(pairs), "sure": significant, "most": rows})
        return
    from guestlist.cli.show import show_table

    click.echo(
        f"{significant} of {len(pairs)} pairs of a leaving and a staying member show more exposure than luck explains. The list "
        "is of the largest differences over the references; without a small adjusted p-value, take them for luck."
    )
    if len(top):
        show_table(
            [
                {
                    "staying": row.staying,
                    "when this one leaves": row.leaving,
                    "attack right more often by": f"{row.exposed:.0%}",
                    "p-value": f"{row.p_value:.2g}",
                    "adjusted": f"{row.p_adjusted:.2g}",
                }
                for row in top.itertuples()
            ]
        )
