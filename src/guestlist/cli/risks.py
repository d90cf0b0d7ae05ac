"""Commands ``risks``, ``forget``, ``trees`` and ``scan``."""

import json
import sys
from pathlib import Path

import click

from guestlist import _findings, _report, _store, models
from guestlist._util import single_line
from guestlist.cli.common import (
    ATTACKS,
    FILE,
    INPUTS,
    PATH,
    REPORT,
    Command,
    WholeNumber,
    allow_pickle,
    as_json,
    check_table_path,
    option,
    print_json,
    trust,
    write_table,
)
from guestlist.cli.show import show_table

TOP = 10


@click.command(cls=Command)
@click.argument("folder", type=PATH)
@option(
    ATTACKS,
    "--risk",
    metavar="NAMES",
    help="Comma-separated risks; the first one ranks. See guestlist show risks.  [default: all, in the report's order]",
)
@option(REPORT, "--top", type=WholeNumber(1), help="Number of members to list.  [default: 10, or 0 with --group]")
@option(REPORT, "--export", type=FILE, help="File for all members with their ids: .csv or .parquet.")
@option(
    INPUTS,
    "--group",
    metavar="NAMES",
    help="Comma-separated group columns. Lists the mean risk of every group and of every pair of groups.",
)
@option(ATTACKS, "--predictive-value", is_flag=True, help="List how well each risk predicts each attack, not members.")
@option(
    INPUTS,
    "--custom",
    type=PATH,
    help="With --predictive-value: your own scores, a .csv or .parquet file with a column id; higher is riskier.",
)
@as_json
def risks(folder, risk, top, export, group, predictive_value, custom, as_json):
    """List the members that are most at risk.

    Without --risk, members are in the order of the report's list of exposed records: flagged ones first. Notes below the table
    name risks that rank them differently.

    \b
    guestlist risks audits/adult
    guestlist risks audits/adult --risk mu,memorisation,shapr --top 100 --export exposed.csv
    guestlist risks audits/adult --group sex,race --top 10
    guestlist risks audits/adult --predictive-value --custom scores.csv
    """
    if group and predictive_value:
        raise click.UsageError("--group and --predictive-value cannot be combined. Omit one of them.")
    if predictive_value and export is not None:
        raise click.UsageError(
            "--export writes members and cannot be combined with --predictive-value. Use --json instead."
        )
    for name, text in (("--risk", risk), ("--group", group)):
        if text is not None and not all(_split_names(text)):
            raise click.UsageError(f"{name} must be a comma-separated list of names, not {text!r}.")
    if custom is not None and not predictive_value:
        raise click.UsageError("--custom is only used with --predictive-value. Add it, or omit --custom.")
    if export is not None:
        check_table_path(export)
    case = _findings.read_case(folder)
    names = _split_names(risk) if risk else None
    if predictive_value:
        _show_predictive_values(case, names, custom, as_json)
        return
    listed = None
    notes: list[str] = []
    if not group or export is not None or top is not None:
        listed, notes = _ranked_members(folder, case, names, top or TOP, export)
    groups = _findings.by_groups(case, _split_names(group), names) if group else None
    if as_json:
        _as_json(listed, groups)
        for note in notes:  # standard output is reserved for JSON
            click.echo(single_line(note), err=True)
        return
    if listed is not None:
        _show_members(listed, notes)
    if groups is not None:
        _show_groups(groups)


def _ranked_members(folder: Path, case, names, top: int, export: Path | None):
    """Return the first members of the list and notes on disagreeing risks; export all members.

    The first named risk ranks; without names the order is that of the report.
    """
    from guestlist.risks import members_by_risk, requested_risks

    results = _findings.read_results(folder) if (folder / "results.json").exists() else None
    records, attack = _findings.report_table(case, results)
    if names is None:
        table = _findings.members_by_exposure(records, attack)
        pairs = _findings.disagreements(table, order=True)
    else:
        table = members_by_risk(case, names)
        in_order = _findings.members_by_exposure(
            _findings.with_risks(records, case, requested_risks(case, names)), attack
        )
        pairs = [*_findings.disagreements(table, order=False), *_findings.disagreements(in_order, order=True)]
    if export is not None:
        write_table(export, table)
        click.echo(f"{len(table)} members: {export}", err=True)
    notes = _report.ranking_disagreements(pairs)
    doubt = results.check("GL129") if results is not None else None  # the report lists no records then
    if doubt is not None and doubt.state == "issue":
        notes.insert(0, f"GL129: {_report.sentence(doubt)}")
    return table.head(top), notes


def _as_json(listed, groups) -> None:
    """Print one table as a list, and two under their names."""
    tables = {}
    if listed is not None:
        tables["members"] = _json_rows(listed)
    if groups is not None:
        tables["groups"] = _store.to_json(groups)
    print_json(tables if len(tables) > 1 else next(iter(tables.values())))


def _json_rows(table) -> list[dict]:
    """Return the rows of a table as JSON, in which NaN is null."""
    return json.loads(table.to_json(orient="records"))


def _show_members(listed, notes: list[str]) -> None:
    # Short heads: many columns must fit.
    short = listed.rename(columns=lambda name: name.removeprefix("risk_").removeprefix("group_"))
    show_table(
        [
            {name: f"{cell:.3g}" if isinstance(cell, float) else str(cell) for name, cell in row.items()}
            for row in short.to_dict("records")
        ]
    )
    for note in notes:
        click.echo(single_line(note))


def _show_groups(group_risks) -> None:

    rows = [
        {
            "group": _report.slice_name(part),
            "members": part.members,
            "risk": risk.risk,
            "mean": risk.mean,
            "beyond the rest": risk.beyond_rest,
            "corrected p": "" if risk.p_value is None else f"{risk.p_value:.3g}",
        }
        for part in group_risks.judged
        for risk in part.risks
    ]
    if rows:
        show_table(rows)
    kinds = dict.fromkeys(risk.kind for risk in group_risks.small)
    for sentence in (
        *_report.group_differences(group_risks),
        *_report.group_contradictions(group_risks),
        *(_report.prose("groups.too_small", group_risks, kind) for kind in kinds),
    ):
        click.echo(single_line(sentence))


def _show_predictive_values(case, names, custom: Path | None, as_json: bool) -> None:
    from guestlist.risks import predictive_values, read_custom

    values = predictive_values(case, names, custom=None if custom is None else read_custom(custom))
    if as_json:
        print_json(_store.to_json(values))
        return
    measures = ("precision", "recall", "f1", "auc", "spearman", "top")
    show_table(
        [
            {"attack": row.attack, "risk": row.risk, "flagged": f"{row.flagged} of {row.members}"}
            | {measure: getattr(row, measure) for measure in measures}
            for row in values
        ]
    )


def _split_names(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")]


@click.command(cls=Command)
@click.argument("folder", type=PATH)
@option(INPUTS, "--ids", metavar="IDS", required=True, help="Comma-separated ids of the members to delete.")
@option(
    REPORT, "--top", "max_rows", type=WholeNumber(1), default=10, show_default=True, help="Number of pairs to list."
)
@as_json
def forget(folder, ids, max_rows, as_json):
    """Preview a deletion request: who becomes more exposed.

    Compares reference models trained with and without each of these members.

    \b
    guestlist forget audits/adult --ids 17,42
    """
    from guestlist.risks import forgetting

    pairs = forgetting(_findings.read_case(folder, scored=False), _split_names(ids))
    significant = int(((pairs["p_adjusted"] <= 0.05) & (pairs["exposed"] > 0)).sum())
    top = pairs.head(max_rows)
    if as_json:
        print_json({"pairs": len(pairs), "sure": significant, "most": _json_rows(top)})
        return
    click.echo(
        f"Evidence of more exposure in {significant} of {len(pairs)} pairs of a deleted and a remaining member (adjusted p-value "
        "at most 0.05). Other differences in this list may be chance."
    )
    if len(top):
        show_table(
            [
                {
                    "remaining member": row.staying,
                    "deleted member": row.leaving,
                    "identified more often by": f"{row.exposed:.0%}",
                    "adjusted p": f"{row.p_adjusted:.2g}",
                    "p-value": f"{row.p_value:.2g}",
                }
                for row in top.itertuples()
            ]
        )


@click.command(cls=Command)
@option(
    INPUTS,
    "--model",
    type=PATH,
    required=True,
    help="Fitted tree, forest or boosted trees: .skops, or a pickle with --allow-pickle.",
)
@option(
    INPUTS, "--members", type=PATH, required=True, help="Records that the model was trained on: .csv, .tsv or .parquet."
)
@option(INPUTS, "--label", metavar="COLUMN", required=True, help="Column with the label.")
@option(INPUTS, "--id", "id_", metavar="COLUMN", help="Column with the record id.  [default: index or row numbers]")
@option(
    REPORT, "--top", "max_rows", type=WholeNumber(1), default=10, show_default=True, help="Number of records to list."
)
@option(REPORT, "--out", type=FILE, help="File for all records: .csv or .parquet.")
@trust
@allow_pickle
@as_json
def trees(model, members, label, id_, max_rows, out, trust, allow_pickle, as_json):
    """List members that are alone in the leaves of a tree model.

    Trains no models.

    \b
    guestlist trees --model forest.skops --members train.parquet --label income
    """
    from guestlist.risks import leaf_risk

    if out is not None:
        check_table_path(out)
    fitted = models.load_model(model, trust=trust, allow_pickle=allow_pickle)
    leaves = leaf_risk(fitted, members, label=label, id=id_)
    if out is not None:
        write_table(out, leaves)
    top = leaves.sort_values(["alone", "leaf_size"], ascending=[False, True], kind="stable").head(max_rows)
    alone = int((leaves["alone"] > 0.5).sum())
    median_size = float(leaves["leaf_size"].median())
    if as_json:
        print_json({"members": len(leaves), "alone": alone, "leaf_size": median_size, "most": _json_rows(top)})
        return
    click.echo(f"{alone} of {len(leaves)} members are alone in their leaf in more than half of the trees.")
    click.echo(f"Half of the members share their leaf, in the median tree, with {median_size - 1:g} others or fewer.")
    show_table(
        [
            {"id": row.id, "label": row.label, "leaf size": f"{row.leaf_size:g}", "alone": f"{row.alone:.0%}"}
            for row in top.itertuples()
        ]
    )
    if out is not None:
        click.echo(out)


STORES_MEMBERS = 1


@click.command(cls=Command)
@click.argument("model", type=PATH)
@option(
    INPUTS, "--members", type=PATH, required=True, help="Records that the model was trained on: .csv, .tsv or .parquet."
)
@option(INPUTS, "--label", metavar="COLUMN", help="Column with the label.")
@option(INPUTS, "--id", "id_", metavar="COLUMN", help="Column with the record id.  [default: index or row numbers]")
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
    from guestlist.models.stored_records import scan

    stored = scan(model, members, label=label, id=id_, drop=drop, trust=trust, allow_pickle=allow_pickle)
    if as_json:
        print_json(stored.document(ids=show_ids))
    else:
        click.echo(stored.summary())
        if stored.parts:
            show_table(
                [
                    {
                        "attribute": row.path,
                        "holds": row.holds,
                        "stored": row.stored,
                        "matched": row.matched,
                        "members": f"{row.members} ({row.share:.1%})",
                    }
                    for row in stored.table.itertuples()
                ]
            )
        if show_ids and stored.ids:
            click.echo(single_line(f"Ids: {', '.join(stored.ids)}"))
    sys.exit(STORES_MEMBERS if stored.parts else 0)
