"""``python -m benchmarks``: run all benchmarks, one after the other."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path


def main(arguments: list[str] | None = None) -> None:
    names = sorted(path.parent.name for path in Path(__file__).parent.glob("*/__main__.py"))
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Run every benchmark, or those that are named. All of them take hours.",
        epilog="python -m benchmarks.NAME --help lists the options of one.",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"Names of benchmarks: {', '.join(names)}.")
    chosen = parser.parse_args(arguments).names
    unknown = [name for name in chosen if name not in names]
    if unknown:
        parser.error(f"unknown benchmark {unknown[0]!r} (choose from {', '.join(names)})")
    for name in chosen or names:
        print(f"== {name}", flush=True)
        subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=True)


if __name__ == "__main__":
    main()
