"""Other tools run in separate virtual environments, created on demand under ``benchmarks/.peers``."""

from __future__ import annotations

import subprocess
import venv
from pathlib import Path

PEERS = Path(__file__).parent / ".peers"


def python_of(name: str, packages: list[str]) -> Path:
    """Return the interpreter of a peer's environment, with its packages installed."""
    home = PEERS / name
    python = home / "bin" / "python"
    stamp = home / ".installed"
    if not stamp.exists() or stamp.read_text() != "\n".join(packages):
        venv.create(home, with_pip=True)
        for package in packages:  # one by one, so that an earlier pin applies to later packages
            subprocess.run([python, "-m", "pip", "install", "--quiet", package], check=True)
        stamp.write_text("\n".join(packages))
    return python
