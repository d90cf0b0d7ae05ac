"""Write the tables in the docs that are made from the code: ``python -m docs.tables``."""

from __future__ import annotations

import re
from pathlib import Path

from guestlist.attacks import ATTACKS

ROOT = Path(__file__).parents[1]


def attack_table() -> str:
    """The table of attacks, in Markdown."""
    rows = ["| attack | references | looks at | paper |", "| --- | --- | --- | --- |"]
    for name, attack in ATTACKS.items():
        references = "none" if attack.references == 0 else f"{attack.references} or more"
        by_name = "" if attack.default else " (by name)"
        rows.append(f"| `{name}`{by_name} | {references} | {attack.summary} | {attack.paper} |")
    return "\n".join(rows)


def updated(page: str) -> str:
    """The page with its table of attacks made anew."""
    made = rf"\g<1>\n{attack_table()}\n\n\g<2>"
    return re.sub(r"(<!-- attacks:.*?-->\n).*?(<!-- end -->)", made, page, flags=re.DOTALL)


if __name__ == "__main__":
    path = ROOT / "README.md"
    path.write_text(updated(path.read_text("utf-8")), "utf-8")
