"""``python -m papers``: run the papers' commands, one paper after the other, or write their pages."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

NOTE = (
    "Seconds are those of the last run; rows of one result share its time. `python -m papers.NAME --help` lists a "
    "paper's options."
)


def main(arguments: list[str] | None = None) -> None:
    names = sorted(path.parent.name for path in Path(__file__).parent.glob("*/__main__.py"))
    parser = _Parser(
        prog="python -m papers",
        description="Run every paper, or the named ones. All of them take hours.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"Names of papers: {', '.join(names)}.")
    parser.add_argument("--pages", action="store_true", help="Write all pages from the committed results; run nothing.")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.names if name not in names]
    if unknown:
        parser.error(f"unknown paper {unknown[0]!r} (choose from {', '.join(names)})")
    if options.pages:
        from papers import overview

        overview.write()
        return
    for name in options.names or names:
        print(f"== {name}", flush=True)
        subprocess.run([sys.executable, "-m", f"papers.{name}", "all"], check=True)


class _Parser(argparse.ArgumentParser):
    """Parser whose help ends with the papers' rows, which are read only when help is printed."""

    def format_help(self) -> str:
        from papers import overview

        self.epilog = f"papers and their rows:\n\n{overview.listing()}\n{NOTE}"
        return super().format_help()


if __name__ == "__main__":
    main()
