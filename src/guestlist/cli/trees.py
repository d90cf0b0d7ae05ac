"""``trees``: list members that are alone in the leaves of a tree model."""

from __future__ import annotations

import json

import click

from guestlist.cli.common import allow_pickle, as_json, check_table_path, print_json, trust, write_table
from guestlist.cli.kinds import FILE, PATH, WholeNumber


@click.command()
@click.option(
    "--model",
    type=PATH,
    required=True,
    help="Fitted tree, forest or boosted trees: .skops, or a pickle with --allow-pickle.",
)
@click.option("--members", type=PATH, required=True, help="Records it was trained on: .csv, .tsv or .parquet.")
@click.option("--label", required=True, help="Column that holds the label.")
@click.option("--id", "id_", help="Column that names the records.")
@click.option(
    "--most", "max_rows", type=WholeNumber(1), default=10, show_default=True, help="How many records to list."
)
@click.option("--out", type=FILE, help="Where to write all of them: .csv or .parquet.")
@trust
@allow_pickle
@as_json
def trees(model, members, label, id_, max_rows, out, trust, allow_pickle, as_json):
    """Members that stand alone in the leaves of a tree model; trains nothing.

    \b
    guestlist trees --model forest.skops --members train.parquet --label income
    """
    from guestlist.risks import leaf_risk
    from guestlist.targets.files import load_model

    if out is not None:
        check_table_path(out)
    fitted = load_model(model, trust=trust, allow_pickle=allow_pickle)
    risks = leaf_risk(fitted, members, label=label, id=id_)
    if out is not None:
        write_table(out, risks)
    top = risks.sort_values(["alone", "leaf_size"], ascending=[False, True], kind="stable").head(max_rows)
    alone = int((risks["alone"] > 0.5).sum())
    if as_json:
        rows = json.loads(top.to_json(orient="records"))
        summary = {"members": len(risks), "alone": alone, "leaf_size": float(risks["leaf_size"].median())}
        print_json({**summary, "most": rows})
        return
    from guestlist.cli.show import show_table

    click.echo(f"{alone} of {len(risks)} members are alone in their leaf in more than half of the trees.")
    click.echo(
        f"Half of the members share their leaf, in the median tree, with {risks['leaf_size'].median() - 1:g} others or fewer."
    )
    show_table(
        [
            {"id": row.id, "label": row.label, "leaf size": f"{row.leaf_size:g}", "alone": f"{row.alone:.0%}"}
            for row in top.itertuples()
        ]
    )
    if out is not None:
        click.echo(out)
