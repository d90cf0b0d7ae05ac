"""The wording of the report: every section, export and the terminal summary against its snapshot file."""

import re

import pytest
from tests.report.audits import NAMED, NEEDS_DATA
from tests.report.snapshots import (
    SECTIONS,
    WHOLE,
    audit_text,
    blocks_of,
    masked,
    normalized,
    plain_text,
    section_texts,
)


@pytest.fixture(scope="module")
def texts():
    return section_texts()


@pytest.mark.slow
def test_every_section_reads_as_its_snapshot(texts):
    """To accept new wording run ``python -m tests.report.snapshots --update`` and read the diff."""
    stored = {path.stem: path.read_text("utf-8") for path in SECTIONS.glob("*.txt")}
    assert set(stored) == set(texts)
    for name, text in texts.items():
        assert text == stored[name], f"{name}: run python -m tests.report.snapshots --update and read the diff"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # small audits have issues to warn about
@pytest.mark.parametrize("name", NAMED)
def test_the_report_of_every_named_audit_reads_as_its_snapshot(name, real_data):
    """The first screen, its words and every section."""
    if name in NEEDS_DATA:
        real_data(NEEDS_DATA[name])
    results = NAMED[name]()
    stored = (WHOLE / f"{name}.txt").read_text("utf-8")
    assert audit_text(results) == stored, "run python -m tests.report.snapshots --update and read the diff"
    screen = blocks_of(WHOLE / f"{name}.txt")["answer"]
    assert len(re.findall(r"[^\s|#]+", screen)) <= 150


@pytest.mark.slow
def test_every_section_is_shown_by_one_of_the_audits(texts):
    assert [name for name, text in texts.items() if not text] == []


def test_plain_text_has_a_line_for_each_block_and_bars_between_cells():
    html = (
        "<p>One <b>bold</b>\n word.</p><svg><text>7</text></svg><table><tr><th>a<th>b</tr><tr><td>1<td>2</tr></table>"
    )
    assert plain_text(html) == "One bold word.\na | b\n1 | 2"


def test_digests_versions_and_temporary_folders_are_masked():
    text = f"numpy 2.1.0 {'9f' * 32} /tmp/abc/def 0.123 GL101"
    assert masked(text) == "numpy VERSION DIGEST FOLDER 0.123 GL101"


def test_clause_numbers_are_not_masked():
    text = "SATRE 2.0 | gate | 3.3.08, 2.4.1 (reconstruction), 3.2.2 (model design)"
    assert masked(text) == text


def test_a_text_has_one_sentence_on_a_line():
    assert normalized("One is 0.5. Two? Three (95%). four\n") == "One is 0.5.\nTwo?\nThree (95%). four"


def test_a_file_of_blocks_is_read_back(tmp_path):
    (tmp_path / "a.txt").write_text("=== one 1\nFirst\nline\n=== two\nSecond\n", "utf-8")
    assert blocks_of(tmp_path / "a.txt") == {"one 1": "First\nline", "two": "Second"}
    assert blocks_of(tmp_path / "b.txt") == {}
