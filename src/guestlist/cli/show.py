"""``show``: the tables of attacks, signals, evidence and datasets."""

from __future__ import annotations

import json

import click

from guestlist.cli.common import as_json


@click.command()
@click.argument("what", type=click.Choice(["attacks", "signals", "evidence", "datasets"]))
@as_json
def show(what, as_json):
    """List what guestlist knows: attacks, signals, evidence or datasets."""
    rows = {"attacks": _attacks, "signals": _signals, "evidence": _evidence, "datasets": _datasets}[what]()
    if as_json:
        click.echo(json.dumps(rows, indent=1))
        return
    show_table(rows)


def show_table(rows: list[dict]) -> None:
    """Rows under the names of their columns, in a terminal."""
    from rich.console import Console
    from rich.table import Column, Table
    from rich.text import Text

    names, *rest = rows[0]
    table = Table(Column(names, no_wrap=True), *rest, box=None, pad_edge=False)
    for row in rows:
        table.add_row(*(Text(str(cell)) for cell in row.values()))  # Text: cells are not to be read as markup
    Console(width=max(120, Console().width)).print(table)


def _attacks() -> list[dict]:
    from guestlist.attacks import ATTACKS

    return [
        {
            "attack": name,
            "references": attack.references,
            "reads": ", ".join(filter(None, (*attack.needs, attack.evidence))),
            "by default": "yes" if attack.default else "by name",
            "what it looks at": attack.summary,
            "paper": attack.paper,
        }
        for name, attack in ATTACKS.items()
    ]


def _signals() -> list[dict]:
    from guestlist.targets.signals import SIGNALS

    return [{"signal": name, "what it is": function.__doc__.splitlines()[0]} for name, function in SIGNALS.items()]


def _evidence() -> list[dict]:
    from dataclasses import fields

    from guestlist.attacks import ATTACKS
    from guestlist.collecting.evidence.table import EVIDENCE

    return [
        {
            "evidence": name,
            "what it is": kind.summary,
            "of": kind.target or "any target",
            "cost": kind.cost,
            "collected": "by default" if kind.default else "when asked for",
            "options": ", ".join(f"{field.name}={field.default}" for field in fields(kind.plan)),
            "attacks": ", ".join(a for a, attack in ATTACKS.items() if attack.evidence == name),
        }
        for name, kind in EVIDENCE.items()
    ]


def _datasets() -> list[dict]:
    from guestlist.datasets import DATASETS

    return [
        {"dataset": name, "what it is": one.summary, "label": one.label, "source": one.source}
        for name, one in DATASETS.items()
    ]
