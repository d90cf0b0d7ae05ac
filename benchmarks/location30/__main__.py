"""``python -m benchmarks.location30``: audit a network of 1,000 people's check-ins and write docs/location30.md."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

import guestlist as gl
from guestlist._collect import show_progress
from guestlist._findings.attacks import AttackResult
from guestlist._findings.results import Results
from guestlist.datasets import load

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "location30.md"
FIT = gl.defences.Fit(epochs=50, batch_size=64, learning_rate=1e-3)


def audited(references: int, members: int, folder: Path) -> Results:
    table = load("location30")
    y = table.pop("cluster").to_numpy()
    x = table.to_numpy(dtype=np.float32)
    order = np.random.default_rng(0).permutation(len(y))
    inside, outside, others = order[:members], order[members : 2 * members], order[2 * members :]
    module = FIT(gl.defences.mlp(x.shape[1], 30), gl.Data(x[inside], y[inside]), np.random.default_rng(0))
    target = gl.torch_target(module, train=FIT, name="Location30 network")
    sets = [(x[part], y[part]) for part in (inside, outside, others)]
    return gl.audit(target, *sets, references=references, folder=folder, progress=show_progress)


def markdown(runs: dict[int, Results]) -> str:
    first = next(iter(runs.values()))
    subject = first.subject
    lines = [
        "# Location30: all attacks, with 8, 32 and 128 references",
        "",
        f"The target is a network (512-256-128-64) trained on {subject.members:,} records of Location30, a table of check-ins.",
        f"There are {subject.nonmembers:,} non-members, and {subject.population:,} more records to train reference models.",
        f"The target's accuracy is {subject.accuracy_members:.1%} on members "
        f"and {subject.accuracy_nonmembers:.1%} on non-members.",
        "Brackets contain 95% confidence intervals; unscored records have too few reference models for the attack.",
        "`python -m benchmarks.location30` writes this page.",
    ]
    for references, results in runs.items():
        lines += ["", f"## {references} references", "", *_table(results)]
    return "\n".join(lines) + "\n"


def _table(results: Results) -> list[str]:
    rows = ["| attack | AUC | TPR at 1% FPR | TPR at 5% FPR | unscored |", "| --- | --- | --- | --- | --- |"]
    for finding in sorted(results.outcomes, key=lambda f: -f.auc.value):
        mark = " (headline)" if finding.name == results.headline.name else ""
        rates = " | ".join(str(_rate(finding, fpr)) for fpr in (0.01, 0.05))
        rows.append(f"| `{finding.name}`{mark} | {finding.auc} | {rates} | {finding.unscored} |")
    return rows


def _rate(finding: AttackResult, fpr: float):
    return next(rate.tpr for rate in finding.rates if rate.fpr == fpr)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--references", type=int, nargs="+", default=[8, 32, 128])
    parser.add_argument("--members", type=int, default=1000)
    parser.add_argument("--folder", type=Path, default=Path("audits/location30"))
    options = parser.parse_args()
    runs = {count: audited(count, options.members, options.folder / str(count)) for count in options.references}
    metrics = {count: results.attacks.round(5).to_dict("records") for count, results in runs.items()}
    (HERE / "results.json").write_text(json.dumps(metrics, indent=1).replace("NaN", "null") + "\n")
    PAGE.write_text(markdown(runs), "utf-8")
    print(PAGE.read_text("utf-8"))


if __name__ == "__main__":
    main()
