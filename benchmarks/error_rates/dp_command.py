"""``python -m benchmarks.error_rates.dp_command``: results of ``guestlist dp`` on records of Adult, with its defaults.

It runs with the noise that the claim needs, where a contradiction is an error of the audit, and without noise.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from click.testing import CliRunner

from guestlist.cli import main as guestlist
from guestlist.datasets import load

HERE = Path(__file__).parent
EPSILON = 2.0
NOISE: dict[str, tuple[str, ...]] = {"off": ("--noise", "0"), "as claimed": ()}


@dataclass(frozen=True)
class Row:
    """Share of contradicted claims, and mean bound; ``provable`` is the bound of perfect scores."""

    noise: str
    runs: int
    contradicted: float
    mean_bound: float
    largest_bound: float
    provable: float


def row(noise: str, runs: int, records: int, extra: tuple[str, ...] = ()) -> Row:
    """Run the command once for each seed.

    Args:
        extra: options of the command, for tests.
    """
    results = []
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "adult.csv"
        load("adult").drop(columns="split", errors="ignore").sample(records, random_state=0).to_csv(table, index=False)
        for seed in range(runs):
            arguments = [
                "dp",
                "--data",
                str(table),
                "--label",
                "income",
                "--epsilon",
                str(EPSILON),
                "--seed",
                str(seed),
            ]
            out = ["--out", str(Path(folder) / f"{seed}"), "--jobs", "1", "--json"]
            result = CliRunner().invoke(guestlist, [*arguments, *NOISE[noise], *out, *extra], catch_exceptions=False)
            assert result.exit_code == 0, result.output
            results.append(json.loads(result.stdout)["epsilon"]["bound"])
    bounds = np.array([result["epsilon"] for result in results])
    provable = float(np.mean([result["provable"] for result in results]))
    return Row(noise, runs, float((bounds > EPSILON).mean()), float(bounds.mean()), float(bounds.max()), provable)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=6000)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    rows = []
    for noise in NOISE:
        rows.append(asdict(row(noise, options.runs, options.records)))
        print(rows[-1], flush=True)
    command = f"python -m benchmarks.error_rates.dp_command --records {options.records} --runs {options.runs}"
    results = {"command": command, "claimed": EPSILON, "records": options.records, "rows": rows}
    (HERE / "dp_command.json").write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
