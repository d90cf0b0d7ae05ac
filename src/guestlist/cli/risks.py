"""``risks``: the members with the largest risks, what risks are worth, and who bears them."""

from __future__ import annotations

import json
from pathlib import Path

import click

from guestlist.cli.common import as_json, check_table_place, write_table
from guestlist.cli.kinds import FILE, PLACE, Whole
from guestlist.lines import line

TOP = 20


@click.command()
@click.argument("folder", type=PLACE)
@click.option("--risk", help="Risks, separated by commas; the first one ranks. See: guestlist show risks.")
@click.option("--top", type=Whole(1), help="How many members to list.  [default: 20; none with --group alone]")
@click.option(
    "--export",
    type=FILE,
    help="Also write all members to a file: .csv or .parquet; ids included.",
)
@click.option(
    "--group",
    help="The mean risk of these groups, separated by commas, and of each two of them together.",
)
@click.option("--worth", is_flag=True, help="Instead of members, what each risk is worth against each attack.")
@click.option(
    "--own",
    type=PLACE,
    help="With --worth: your own scores beside them, a .csv or .parquet file with a column id; higher is riskier.",
)
@as_json
def risks(folder, risk, top, export, group, worth, own, as_json):
    """List the members of the audit in FOLDER that are most at risk.

    \b
    guestlist risks audits/adult --risk mu,memorisation,shapr --top 100 --export exposed.csv
    guestlist risks audits/adult --group sex,race --top 10
    guestlist risks audits/adult --worth --own scores.csv
    """
    from guestlist.findings.folder import read_case

    if group and worth:
        raise click.UsageError("--group and --worth are two tables: ask for one of them.")
    if worth and export is not None:
        raise click.UsageError("--export writes members: leave out --worth, or take its --json.")
    for option, text in (("--risk", risk), ("--group", group)):
        if text is not None and not all(_parts(text)):
            raise click.UsageError(f"{option} takes names, separated by commas; found {text!r}.")
    if own is not None and not worth:
        raise click.UsageError("--own is for --worth.")
    if export is not None:
        check_table_place(export)
    case, names = read_case(folder), risk and _parts(risk)
    if worth:
        _worth(case, names, own, as_json)
        return
    listed = None if group and export is None and top is None else _members(case, names, top or TOP, export)
    groups = _by_group(case, _parts(group), names) if group else None
    if as_json:
        _as_json(listed, groups)
        return
    if listed is not None:
        _show_members(listed)
    if groups is not None:
        _show_groups(groups)


def _members(case, names, top: int, export: Path | None):
    """The first members of the list; all of them are exported."""
    from guestlist.risks.listing import members_by_risk

    table = members_by_risk(case, names)
    if export is not None:
        write_table(export, table)
        click.echo(f"{len(table)} members: {export}", err=True)
    return table.head(top)


def _by_group(case, columns: list[str], names):
    from guestlist.findings.group_risks import by_groups

    return by_groups(case, columns, names)


def _as_json(listed, groups) -> None:
    """One table as it is; two under their names."""
    from guestlist.store.jsonable import to_json

    found = {}
    if listed is not None:
        found["members"] = json.loads(listed.to_json(orient="records"))
    if groups is not None:
        found["groups"] = to_json(groups)
    click.echo(json.dumps(found if len(found) > 1 else next(iter(found.values())), indent=1))


def _show_members(listed) -> None:
    from guestlist.cli.show import show_table

    show_table([{name: _told(cell) for name, cell in row.items()} for row in listed.to_dict("records")])


def _show_groups(found) -> None:
    from guestlist.cli.show import show_table
    from guestlist.report.sections.group_risks import differences, name, too_small

    rows = [
        {
            "group": name(part),
            "members": part.members,
            "risk": one.risk,
            "mean": one.mean,
            "beyond the rest": one.beyond_rest,
            "corrected p": "" if one.p_value is None else f"{one.p_value:.3g}",
        }
        for part in found.judged
        for one in part.risks
    ]
    if rows:
        show_table(rows)
    kinds = dict.fromkeys(one.kind for one in found.small)
    for said in (*differences(found), *(too_small(found, kind) for kind in kinds)):
        click.echo(line(said))


def _worth(case, names, own: Path | None, as_json: bool) -> None:
    from guestlist.cli.show import show_table
    from guestlist.risks import worth_of_risks
    from guestlist.risks.own import read_own
    from guestlist.store.jsonable import to_json

    found = worth_of_risks(case, names, own=None if own is None else read_own(own))
    if as_json:
        click.echo(json.dumps(to_json(found), indent=1))
        return
    figures = ("precision", "recall", "f1", "auc", "spearman", "top")
    show_table(
        [
            {"attack": row.attack, "risk": row.risk, "called": f"{row.called} of {row.members}"}
            | {figure: getattr(row, figure) for figure in figures}
            for row in found
        ]
    )


def _parts(text: str) -> list[str]:
    return [one.strip() for one in text.split(",")]


def _told(cell) -> str:
    return f"{cell:.3g}" if isinstance(cell, float) else str(cell)
