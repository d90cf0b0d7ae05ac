"""``python -m papers.errata page``: recompute the errata and write docs/errata.md; ``all`` is the same."""

from __future__ import annotations

import argparse
import sys

import guestlist as gl
from papers.errata import page


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m papers.errata", description=__doc__)
    parser.add_argument("command", choices=["page", "all"])
    parser.parse_args(arguments)
    page.write()


if __name__ == "__main__":
    try:
        main()
    except gl.AuditError as error:
        sys.exit(f"{error}")
