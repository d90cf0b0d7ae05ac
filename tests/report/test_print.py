"""The page on paper, as a PDF of chromium: numbered pages under the title, and nothing cut."""

import io
import re
from dataclasses import replace

import pytest
from pypdf import PdfReader
from tests.report.test_file_holder import with_file_holder

from example_results import HOSTILE, leaking
from guestlist._case import Cover
from guestlist._report.page import MAX_HEADER
from guestlist._report.sections.exposed import MIN_LISTED
from guestlist._util import single_line

pytestmark = pytest.mark.slow

COLUMNS = 14
TITLE = "Loans, fourth release"


def with_wide_table():
    """Return a leak whose table of exposed records has many columns; the last cell is unique."""
    base = with_file_holder(leaking())
    features = {f"feature {i}": f"value {i} of some length" for i in range(COLUMNS)}
    exposed = [replace(record, features=features) for record in base.exposed]
    last = MIN_LISTED - 1
    exposed[last] = replace(exposed[last], features={**features, f"feature {COLUMNS - 1}": "the very last cell"})
    return replace(base, exposed=tuple(exposed), cover=Cover(title=TITLE))


def page_texts(tab) -> list[str]:
    """Return the text of each page of the PDF, with single spaces."""
    reader = PdfReader(io.BytesIO(tab.pdf(prefer_css_page_size=True)))
    return [" ".join(page.extract_text().split()) for page in reader.pages]


@pytest.fixture(scope="module")
def printed(opened):
    tab = opened(with_wide_table())
    headings = tab.locator("main h2, main h3:not(.collapsed > section > h3), summary").all_text_contents()
    return page_texts(tab), [" ".join(heading.split()) for heading in headings]


def without_spaces(text: str) -> str:
    """Return a text without spaces, since a PDF has some within words that are spaced out or wrapped."""
    return re.sub(r"\s+", "", text)


def test_every_page_has_the_title_and_its_number(printed):
    pages, _ = printed
    assert len(pages) > 3
    for number, text in enumerate(pages, start=1):
        assert TITLE in text
        assert re.search(rf"\b{number} / {len(pages)}\b", text)


def test_every_heading_and_the_last_cell_of_the_widest_table_are_printed(printed):
    pages, headings = printed
    text = without_spaces(" ".join(pages))
    assert len(headings) > 12
    assert [heading for heading in headings if heading != "Contents" and without_spaces(heading) not in text] == []
    assert without_spaces("the very last cell") in text


def test_nothing_reaches_beyond_the_paper(opened):
    """An A4 page with its margins is 180 mm wide: 680 CSS pixels."""
    tab = opened(with_wide_table(), width=680)
    tab.emulate_media(media="print")
    tab.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
    assert tab.evaluate("document.documentElement.scrollWidth") <= 680


def test_a_hostile_title_is_printed_as_text_and_cut(opened):
    tab = opened(replace(leaking(), cover=Cover(title=f'"; }} }} body {{ display: none }} </style>{HOSTILE * 3}')))
    pages = page_texts(tab)
    assert all('"; } } body { display: none } </style>' in text for text in pages)
    assert tab.locator(".badge").is_visible()
    assert len(single_line(HOSTILE * 3)) > MAX_HEADER
