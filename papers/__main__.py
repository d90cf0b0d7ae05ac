"""``python -m papers``: run every paper's commands, one paper after the other."""

import subprocess
import sys
from pathlib import Path

for folder in sorted(path.parent for path in Path(__file__).parent.glob("*/__main__.py")):
    print(f"== {folder.name}", flush=True)
    subprocess.run([sys.executable, "-m", f"papers.{folder.name}", "all"], check=True)
