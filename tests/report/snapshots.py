"""Text of the report as snapshot files: ``python -m tests.report.snapshots [--update]`` shows or accepts changes.

There are three types of file in ``snapshots/``:

* ``sections/NAME.txt`` holds one section of the page, one export or the terminal summary, as plain text, for three small
  audits of the corpus and for results made by hand;
* ``reports/NAME.txt`` holds the whole report of one of the seven audits in ``audits.py``;
* ``sentences/PACKAGE_MODULE.txt`` holds the sentences that a test passed to the fixture ``snapshot``.

After texts were rewritten, run the command with ``--update`` and read the diff: it is the review of the new text.
"""

from __future__ import annotations

import argparse
import difflib
import os
import re
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import tests.reproducible_cpu  # noqa: F401  before NumPy, which functions below import

FOLDER = Path(__file__).parent / "snapshots"
SECTIONS = FOLDER / "sections"
SENTENCES = FOLDER / "sentences"
WHOLE = FOLDER / "reports"
UPDATE = "GUESTLIST_UPDATE_SNAPSHOTS"  # set to 1, the fixture writes instead of comparing
AUDITS = ("classifier", "persons", "gate")
MADE_BY_HAND = ("leaking", "quiet", "predictions_only")
BLOCKS = {"p", "div", "li", "tr", "h1", "h2", "h3", "h4", "caption", "dt", "figure", "summary", "ul", "table", "dl"}
CELLS = {"td", "th", "dd"}
SPACES = {"small", "br"}
# These differ from one machine or version to the next: they are tested elsewhere. A version follows the name of a package in
# small letters; a clause of a standard, such as 3.3.08, does not.
MASKS = (
    (re.compile(r"\b[0-9a-f]{12,64}\b"), "DIGEST"),
    (re.compile(r"(?<=[a-z] )\d+\.\d+\.\d+(?:[.+]\w+)*\b"), "VERSION"),
    (re.compile(rf"(?:/tmp|{re.escape(tempfile.gettempdir())})/[^\s'\"`)]*"), "FOLDER"),
)


class _Text(HTMLParser):
    """Plain text of a part of a page: a line for each block, cells between bars, no drawings."""

    def __init__(self, source: str):
        super().__init__()
        self.parts: list[str] = []
        self._hidden = 0
        self.feed(source)
        self.close()

    def handle_starttag(self, tag, attrs):
        if tag in ("svg", "script", "style"):
            self._hidden += 1
        self.parts.append("\n" if tag in BLOCKS else " | " if tag in CELLS else " " if tag in SPACES else "")

    def handle_endtag(self, tag):
        if tag in ("svg", "script", "style"):
            self._hidden -= 1
        self.parts.append("\n" if tag in BLOCKS else "")

    def handle_data(self, data):
        if not self._hidden:
            self.parts.append(re.sub(r"\s+", " ", data))


def plain_text(html: str) -> str:
    """Return what a person can read of a piece of HTML."""
    lines = (re.sub(r" +", " ", line).strip(" |") for line in "".join(_Text(html).parts).split("\n"))
    return "\n".join(line for line in lines if line)


def masked(text: str) -> str:
    """Return a text with digests, versions and temporary folders replaced by a word."""
    for pattern, word in MASKS:
        text = pattern.sub(word, text)
    return text


def normalized(text: str) -> str:
    """Return a text with one sentence to a line and without space at the ends of lines."""
    lines = [line.rstrip() for line in re.sub(r"(?<=[a-z0-9)%][.?]) (?=[A-Z])", "\n", masked(text)).splitlines()]
    return "\n".join(lines).strip("\n")


def joined(blocks: dict[str, str]) -> str:
    """Return the text of a file of named blocks."""
    return "".join(f"=== {name}\n{text}\n" for name, text in blocks.items())


def blocks_of(path: Path) -> dict[str, str]:
    """Return the named blocks of a file; none if there is no file."""
    if not path.exists():
        return {}
    parts = re.split(r"^=== (.*)\n", path.read_text("utf-8"), flags=re.M)
    return {name: text.rstrip("\n") for name, text in zip(parts[1::2], parts[2::2], strict=True)}


def results_by_name() -> dict[str, object]:
    """Return the results of the audits and those made by hand, without a folder."""
    from tests import example_results
    from tests.corpus.audits import AUDITS as CORPUS

    results = {}
    with tempfile.TemporaryDirectory() as directory, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # small audits have issues to warn about
        for name in AUDITS:
            results[name] = replace(CORPUS[name](Path(directory) / name), folder=None)
    return {**results, **{name: getattr(example_results, name)() for name in MADE_BY_HAND}}


def section_texts() -> dict[str, str]:
    """Return the text of every snapshot file of sections by the name of the section."""
    from guestlist._report.exports import EXPORTS
    from guestlist._report.page import SECTIONS as PAGE
    from guestlist._report.wording import sanitize_results

    forms: dict[str, Callable] = {name: _page_section(make) for name, make in PAGE.items()}
    forms |= {"terminal": _terminal, **{name: EXPORTS[name].text for name in ("markdown", "model_card")}}
    results = results_by_name()
    texts = {}
    for form, render in forms.items():
        rendered = {name: render(sanitize_results(result)) for name, result in results.items()}
        texts[form] = joined({name: normalized(text) for name, text in rendered.items() if text})
    return texts


def audit_text(results) -> str:
    """Return the text of every section of one report."""
    from guestlist._report.page import SECTIONS as PAGE
    from guestlist._report.wording import sanitize_results

    results = sanitize_results(replace(results, folder=None))
    sections = {name: normalized(_page_section(make)(results)) for name, make in PAGE.items()}
    return joined({name: text for name, text in sections.items() if text})


def audit_texts() -> dict[str, str]:
    """Return the text of every report in ``audits.py`` whose data are available."""
    from tests.report.audits import NAMED, NEEDS_DATA

    data = Path(os.environ.get("GUESTLIST_DATA") or Path(__file__).parents[3] / "shared" / "data")
    names = [name for name in NAMED if name not in NEEDS_DATA or (data / NEEDS_DATA[name]).exists()]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # small audits have issues to warn about
        return {name: audit_text(NAMED[name]()) for name in names}


def _terminal(results) -> str:
    from guestlist._report.terminal import summary

    return f"{summary(results, width=96)}\n\n# verbose\n\n{summary(results, verbose=True, width=96)}"


def _page_section(make: Callable) -> Callable:
    def render(results) -> str:
        section = make(results)
        return "" if section is None else f"# {plain_text(str(section.title))}\n{plain_text(str(section.body))}"

    return render


class Snapshot:
    """Compare texts of one test with those in a file, in the order in which the test passes them.

    Args:
        path: File with the texts of the test's module.
        test: Name of the test.
    """

    def __init__(self, path: Path, test: str):
        self.path = path
        self.test = test
        self.number = 0

    def __call__(self, text: object, *facts: str) -> None:
        """Fail if the text differs from the file, or if it lacks one of the facts: numbers, names or codes.

        Facts hold however a text is worded. The file holds the wording.
        """
        text = str(text)
        missing = [fact for fact in facts if fact not in " ".join(text.split())]
        assert not missing, f"{missing} not in {text!r}"
        self.number += 1
        name = f"{self.test} {self.number}"
        blocks = blocks_of(self.path)
        if os.environ.get(UPDATE) == "1":
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_text(joined({**blocks, name: normalized(text)}), "utf-8")
            return
        advice = "Run python -m tests.report.snapshots --update and read the diff."
        assert name in blocks, f"{self.path.name} has no text {name!r}. {advice}"
        assert normalized(text) == blocks[name], advice

    @contextmanager
    def raises(self, error: type[Exception], *facts: str) -> Iterator[None]:
        """Fail unless the block raises the error, with the message in the file and with these facts in it."""
        import pytest

        with pytest.raises(error) as caught:
            yield
        self(caught.value, *facts)


class _OnlySnapshots:
    """Plugin of pytest that leaves out tests without the fixture."""

    @staticmethod
    def pytest_collection_modifyitems(items):
        items[:] = [item for item in items if "snapshot" in item.fixturenames]


def sentence_file(test_file: Path) -> Path:
    """Return the file that holds the sentences of a test module."""
    return SENTENCES / f"{test_file.parent.name}_{test_file.stem.removeprefix('test_')}.txt"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.report.snapshots", description=__doc__)
    parser.add_argument("--update", action="store_true", help="write the present texts to the files")
    update = parser.parse_args().update
    os.environ.setdefault("SOURCE_DATE_EPOCH", "1795000000")  # the date of the audits, as in conftest.py
    texts = section_texts()
    different = compare_files(SECTIONS, texts, update) + compare_files(WHOLE, audit_texts(), update)
    for path in set(SECTIONS.glob("*.txt")) - {SECTIONS / f"{name}.txt" for name in texts}:
        different += 1
        print(f"{path.name} belongs to no section")
        if update:
            path.unlink()
    return max(int(different > 0 and not update), sentences(update))


def compare_files(folder: Path, texts: dict[str, str], update: bool) -> int:
    """Print how texts differ from their files, and return the number that do; with ``update``, write the files."""
    different = 0
    for name, text in texts.items():
        path = folder / f"{name}.txt"
        before = path.read_text("utf-8") if path.exists() else ""
        different += before != text
        sys.stdout.writelines(
            f"{line}\n"
            for line in difflib.unified_diff(before.split("\n"), text.split("\n"), name, name, lineterm="", n=0)
        )
        if update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
    return different


def sentences(update: bool) -> int:
    """Run the tests that use the fixture; with ``update``, write their sentences to new files."""
    import pytest

    root = Path(__file__).parents[1]
    files = [path for path in sorted(root.rglob("test_*.py")) if re.search(r"snapshot[(.]", path.read_text("utf-8"))]
    if not files:
        return 0
    if update:
        os.environ[UPDATE] = "1"
        shutil.rmtree(SENTENCES, ignore_errors=True)
    return int(pytest.main(["-q", "-p", "no:cacheprovider", *map(str, files)], plugins=[_OnlySnapshots()]))


if __name__ == "__main__":
    sys.exit(main())
