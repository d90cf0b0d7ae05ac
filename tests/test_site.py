"""The site builds: every page is listed, every link leads to a page, every docstring can be read."""

import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"


@pytest.mark.slow
@pytest.mark.parametrize("notebooks", ["off", pytest.param("auto", marks=pytest.mark.long)])
def test_the_site_builds_without_a_warning(notebooks, tmp_path):
    """``test_docs.py`` runs the code of the notebooks with fewer reference models; ``make long`` also as part of the site.

    Cells that were not run have no kernel, which names the language to highlight (``myst-nb.lexer``).
    """
    pytest.importorskip("sphinx")
    pytest.importorskip("furo")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "dummy"]
    command += [
        "-D",
        f"nb_execution_mode={notebooks}",
        "-D",
        "suppress_warnings=myst.header,myst-nb.lexer",
        DOCS,
        tmp_path,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
