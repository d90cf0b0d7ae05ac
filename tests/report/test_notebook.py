"""The fragment contains the verdict and the table, and nothing that runs or loads."""

from html.parser import HTMLParser

import pytest

from example_results import HOSTILE, hostile, leaking, predictions_only, quiet, reversed_check, with_check
from guestlist._report import wording
from guestlist._report.sections import answer
from guestlist._report.terminal import fragment
from guestlist._util import interval, single_line


class Reader(HTMLParser):
    """Elements, attributes and text that a browser shows."""

    def __init__(self, source: str):
        super().__init__()
        self.elements, self.attributes, self.text = [], [], []
        self.feed(source)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.text.append(data)


@pytest.mark.parametrize("case", [leaking, quiet, predictions_only])
def test_contains_the_verdict_and_every_attack(case):
    results = case()
    text = " ".join("".join(Reader(fragment(results)).text).split())
    assert answer.verdict_text(results) in text
    assert wording.question(results) in text
    for finding in results.outcomes:
        assert interval(finding.auc) in text


@pytest.mark.slow
def test_only_harmless_elements_and_own_styles():
    for results in (leaking(), hostile()):
        reader = Reader(fragment(results))
        assert set(reader.elements) <= {
            "code",
            "div",
            "p",
            "table",
            "thead",
            "tbody",
            "tr",
            "th",
            "td",
            "br",
            "span",
            "ul",
            "li",
            "strong",
            "bdi",
        }
        assert {name for name, _ in reader.attributes} <= {"style", "scope"}


@pytest.mark.slow
def test_hostile_text_is_shown_as_text():
    reader = Reader(fragment(hostile()))
    assert single_line(HOSTILE) in "".join(reader.text)
    assert reader.elements == Reader(fragment(with_check(leaking(), reversed_check("loss")))).elements


@pytest.mark.slow
def test_colours_are_those_of_the_page_around():
    assert "color:inherit" in fragment(leaking())
    assert "#" not in "".join(value for name, value in Reader(fragment(leaking())).attributes if name == "style")


@pytest.mark.slow
def test_is_what_a_notebook_shows():
    assert leaking()._repr_html_() == fragment(leaking())
