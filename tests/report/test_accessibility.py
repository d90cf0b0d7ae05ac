"""Pages against the rules of axe-core, in light, in dark and on a narrow screen."""

import base64
import hashlib
import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest
from tests.report.test_browser import OPEN_ALL, with_both_attackers
from tests.report.test_index import written

from example_results import hostile, leaking, predictions_only, quiet
from guestlist._report.index import index_page, read_index

pytestmark = pytest.mark.slow

VERSION = "4.10.3"
SHA512 = "Xm7bpRXnDSX2YE2YFfBk2FnF0ep6tmG7xPh8iHee8MIcrgq762Nkce856dYtJYLkuIoYZvGfTs/PbZhideTcEg=="
SCREENS = {"light": (1280, False), "dark": (1280, True), "narrow": (390, False)}


@pytest.fixture(scope="session")
def axe() -> str:
    """Source of axe-core, from the user's cache or from npm; the tests are skipped where neither has it."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "guestlist-tests"
    archive = cache / f"axe-core-{VERSION}.tgz"
    if not archive.exists():
        npm = shutil.which("npm")
        if npm is None:
            pytest.skip("there is no npm on this machine to install axe-core with (Debian: apt install npm)")
        cache.mkdir(parents=True, exist_ok=True)
        pack = [npm, "pack", f"axe-core@{VERSION}", "--silent", "--pack-destination", str(cache)]
        try:
            subprocess.run(pack, check=True, capture_output=True, timeout=60, cwd=cache)
        except (subprocess.SubprocessError, OSError) as error:
            pytest.skip(f"npm cannot install axe-core {VERSION}: {error}")
    assert base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode() == SHA512
    with tarfile.open(archive) as files:
        return files.extractfile("package/axe.min.js").read().decode()


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    folder = tmp_path_factory.mktemp("audits")
    written(folder / "loan 1", leaking(), name="loan", date="2026-01-10")
    written(folder / "loan 2", quiet(), name="loan", date="2026-03-02")
    written(folder / "hostile", hostile())
    return read_index(folder)


def violations(tab, axe: str) -> list[str]:
    """Return the rules of axe-core that a page violates with everything expanded, and the first element of each."""
    tab.evaluate(OPEN_ALL)
    tab.evaluate(axe)
    result = tab.evaluate("axe.run()")
    assert {"color-contrast", "landmark-one-main"} <= {rule["id"] for rule in result["passes"]}
    return [f"{rule['id']}: {rule['nodes'][0]['html'][:200]}" for rule in result["violations"]]


@pytest.mark.parametrize("screen", SCREENS)
def test_a_report_with_everything_violates_no_rule(opened, axe, screen):
    width, dark = SCREENS[screen]
    assert violations(opened(with_both_attackers(), width=width, dark=dark), axe) == []


def test_a_report_without_a_leak_violates_no_rule(opened, axe):
    assert violations(opened(quiet()), axe) == []


@pytest.mark.parametrize("screen", ["dark", "narrow"])
def test_an_index_violates_no_rule(opened, axe, index, screen):
    width, dark = SCREENS[screen]
    assert violations(opened(index, width=width, dark=dark, made=index_page), axe) == []


def test_a_page_that_violates_rules_is_noticed(opened, axe):
    tab = opened(predictions_only())
    tab.evaluate("document.querySelector('main').insertAdjacentHTML('beforeend', '<p style=\"color:#bbb\">faint</p>')")
    assert [rule.split(":")[0] for rule in violations(tab, axe)] == ["color-contrast"]
