"""``python -m benchmarks.newcomer``: AUC, TPR at 1 % FPR, time, lines and disk, against SACRO-ML in one run."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.peers import python_of
from guestlist.metrics import auc, tpr_at_fpr

HERE = Path(__file__).parent
MEMBER = np.arange(1797) < 898
# torch is installed first and pinned: sacroml accepts any version, and the newest downloads gigabytes.
SACROML = ["torch==2.13.0", "sacroml==2.0.1"]


def measured(python: Path, tool: str, seed: int, references: int) -> dict:
    with tempfile.TemporaryDirectory() as out:
        command = [python, HERE / "measure.py", tool, str(seed), str(references), str(Path(out) / "audit")]
        printed = subprocess.run(command, check=True, capture_output=True, text=True, cwd=out).stdout
    results = json.loads(printed.strip().splitlines()[-1])
    scores = results.pop("scores")
    return {**results, "attacks": {name: metrics_of(np.array(values)) for name, values in scores.items()}}


def metrics_of(scores: np.ndarray) -> dict[str, float]:
    return {
        "auc": round(auc(scores, MEMBER).value, 4),
        "tpr@0.01": round(tpr_at_fpr(scores, MEMBER, 0.01).value, 4),
    }


def best(results: dict, metric: str) -> float:
    return max(attack[metric] for attack in results["attacks"].values())


def compared(seed: int, our_references: list[int], their_references: int) -> dict:
    """Run both tools on one target; ours with several numbers of references."""
    peer = measured(python_of("sacroml", SACROML), "sacroml", seed, their_references)
    runs = {count: measured(Path(sys.executable), "guestlist", seed, count) for count in our_references}
    return {"seed": seed, "sacroml": {"references": their_references, **peer}, "guestlist": runs}


def line(run: dict, metrics: dict[str, float], peer: dict) -> str:
    shares = [run[name] / peer[name] for name in ("seconds", "CPU seconds")]
    return (
        f"AUC {metrics['auc']:.3f}, TPR at 1 % {metrics['tpr@0.01']:.3f}, {run['seconds']:.0f} s "
        f"({shares[0]:.2f} of theirs, CPU {shares[1]:.2f}), {run['megabytes']:.1f} MB, {run['lines']} lines"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--references", type=int, nargs="+", default=[8, 16, 32, 100])
    parser.add_argument("--theirs", type=int, default=100)
    options = parser.parse_args()
    results = []
    for seed in range(options.seeds):
        outcomes = compared(seed, options.references, options.theirs)
        results.append(outcomes)
        peer = outcomes["sacroml"]
        best_of_peer = {metric: best(peer, metric) for metric in ("auc", "tpr@0.01")}
        print(f"seed {seed}: SACRO-ML, {options.theirs} references, best mode: {line(peer, best_of_peer, peer)}")
        for count, ours in outcomes["guestlist"].items():
            metrics = ours["attacks"][ours["headline"]]
            print(
                f"        guestlist, {count} references, {ours['headline']}: {line(ours, metrics, peer)}",
                flush=True,
            )
    (HERE / "results.json").write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
