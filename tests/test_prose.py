"""The README and the docs are short and plain: limits on words, sentences, paragraphs and vocabulary."""

import re
from pathlib import Path

import pytest

from prose import DOCS, LONG_SENTENCE, ROOT, pages, read_prose

PAGES = pages()
MAX_WORDS = 1_500
STANDARD_TERMS = (
    "confidence interval",
    "permutation test",
    "false discovery rate",
    "family-wise error rate",
    "effective sample size",
    "positive predictive value",
    "statistical power",
    "threat model",
    "reproducible",
)


def test_the_readme_has_at_most_600_words():
    assert len((ROOT / "README.md").read_text("utf-8").split()) <= 600


def test_sentences_are_short():
    lengths = [length for page in PAGES for length in read_prose(page).lengths]
    assert sum(lengths) / len(lengths) <= 20
    assert sum(length > LONG_SENTENCE for length in lengths) / len(lengths) <= 0.15


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_has_at_most_1500_words(page):
    assert read_prose(page).words <= MAX_WORDS


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.name.startswith("methods")], ids=lambda page: page.stem
)
def test_a_paragraph_of_methods_has_at_most_80_words(page):
    assert [text for text in read_prose(page).paragraphs if len(text.split()) > 80] == []


def test_the_quickstart_has_less_than_500_words_and_the_guide_to_a_report_600():
    assert len((DOCS / "quickstart.md").read_text("utf-8").split()) < 500
    assert read_prose(DOCS / "report.md").words <= 600


def test_the_docs_avoid_the_former_private_language():
    texts = [read_prose(page) for page in [ROOT / "README.md", *PAGES]]
    words = sum(text.words for text in texts)
    assert sum(len(text.idiolect) for text in texts) <= 3 * words / 10_000


@pytest.mark.parametrize("term", STANDARD_TERMS)
def test_the_glossary_defines_the_standard_terms_and_the_docs_use_them(term):
    glossary = (DOCS / "glossary.md").read_text("utf-8").lower()
    assert len(re.findall(rf"^\| {term}\b", glossary, re.MULTILINE)) == 1
    others = "\n".join(page.read_text("utf-8").lower() for page in PAGES if page.name != "glossary.md")
    assert term in others


@pytest.mark.parametrize(
    ("text", "lengths"),
    [
        ("One two three. Four five (see Fig. 2).", (3, 5)),
        ("- one two\n- three four five", (2, 3)),
        ("Is `a b c` one word? `guestlist gate` fails. guestlist reports.", (4, 2, 2)),
        ("| a | table |\n\n# Heading\n\n[a link](page.md) here", (3,)),
        ("Before it.\n\n```python\nno prose here\n```\n\n<!-- t: made -->\nno prose\n<!-- end -->\nAfter it.", (2, 2)),
    ],
)
def test_the_measure_counts_words_of_sentences(text, lengths, tmp_path):
    page = Path(tmp_path / "page.md")
    page.write_text(text, "utf-8")
    assert read_prose(page).lengths == lengths
