"""Peers live in virtual environments of their own, made when first needed under ``benchmarks/.peers``."""

from __future__ import annotations

import subprocess
import venv
from pathlib import Path

PEERS = Path(__file__).parent / ".peers"


def python_of(name: str, packages: list[str]) -> Path:
    """The interpreter of a peer's environment, with its packages installed."""
    home = PEERS / name
    python = home / "bin" / "python"
    stamp = home / ".installed"
    if not stamp.exists() or stamp.read_text() != "\n".join(packages):
        venv.create(home, with_pip=True)
        for package in packages:  # one after the other: a pin made first holds for what comes later
            subprocess.run([python, "-m", "pip", "install", "--quiet", package], check=True)
        stamp.write_text("\n".join(packages))
    return python
