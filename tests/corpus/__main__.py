"""Run the corpus and show what differs: ``python -m tests.corpus [NAME …] [--update]``.

``--update`` writes the numbers found as the expected ones. That is legitimate in two cases only: a commit that changes numbers on
purpose (a new finding, a corrected estimate), which names the paths and the reason in its message; or keys that were renamed on
purpose and are listed in ``renamed.py`` and in the changelog. A refactoring never updates the numbers.
"""

from __future__ import annotations

import argparse
import sys
import time

import tests.reproducible_cpu  # noqa: F401  before NumPy

# isort: split
from tests.corpus.audits import AUDITS
from tests.corpus.running import compare, expected_path, run, schema_errors, write


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.corpus", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*AUDITS, []], help="audits to run; all by default")
    parser.add_argument("--update", action="store_true", help="write the numbers found as the expected ones")
    options = parser.parse_args()
    different = 0
    for name in options.names or AUDITS:
        start = time.process_time()
        ran = run(name)
        numbers = ran.numbers
        took = time.process_time() - start
        lines = compare(name, numbers) if expected_path(name).exists() else ["no expected numbers"]
        lines += schema_errors(ran)
        different += bool(lines)
        print(f"{name}: {len(numbers)} numbers, {len(lines)} differences ({took:.1f} s of CPU)")
        print("".join(f"  {line}\n" for line in lines[:20]), end="")
        if options.update:
            write(name, numbers)
    return int(different > 0 and not options.update)


if __name__ == "__main__":
    sys.exit(main())
