"""Virtual environments for the peers, made once under ``benchmarks/.peers``, and measurements in them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
PEERS = HERE.parent / ".peers"

# Arguments of pip, call by call. OpenDataVal's pins need a different torch, so it is installed without them.
INSTALL = {
    "pydvl": [["pyDVL==0.10.0"]],
    "art": [["adversarial-robustness-toolbox==1.20.1", "packaging"]],
    "opendataval": [
        ["torch==2.13.0"],
        ["numpy", "scikit-learn", "pandas", "tqdm"],
        ["--no-deps", "opendataval==1.3.0"],
    ],
}

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def python_of(peer: str) -> str:
    """Return the interpreter of a peer's environment, which is created if missing; ours for other methods."""
    if peer not in INSTALL:
        return sys.executable
    home = PEERS / peer
    done = home / ".installed"
    if not done.exists():
        subprocess.run([sys.executable, "-m", "venv", home], check=True)
        for arguments in INSTALL[peer]:
            subprocess.run([home / "bin" / "python", "-m", "pip", "install", "--quiet", *arguments], check=True)
        done.touch()
    return str(home / "bin" / "python")


def measure(method: str, *, threads: int = 1, **size) -> dict:
    """Run one measurement in a separate process: seconds, peak memory, versions, and the values' file."""
    PEERS.mkdir(exist_ok=True)
    values = PEERS / f"values-{method}.npy"
    arguments = [f"--{name}={value}" for name, value in size.items()]
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests")])
    environment = os.environ | ONE_THREAD | {"PYTHONPATH": paths, "PYTHONWARNINGS": "ignore"}
    command = [python_of(method), HERE / "measure.py", method, f"--threads={threads}", f"--out={values}"]
    run = subprocess.run([*command, *arguments], env=environment, capture_output=True, text=True)
    if run.returncode != 0:
        raise RuntimeError(f"{method} failed with {size}:\n{run.stderr[-3000:]}")
    result = json.loads(run.stdout.splitlines()[-1])
    return {"method": method, "threads": threads, **size, **result, "values": str(values)}
