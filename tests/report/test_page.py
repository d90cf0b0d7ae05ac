"""The page is a function of results.json, loads nothing, and shows what users wrote as text."""

import base64
import hashlib
import json
import math
import re
import subprocess
import sys
from dataclasses import replace
from functools import cache
from itertools import pairwise

import pytest

from example_results import HOSTILE, hostile, leaking, predictions_only, quiet, with_headline
from guestlist import Cover, Results
from guestlist._findings.attacks import Curve, Histogram
from guestlist._report import diagnostics, prose, wording
from guestlist._report.first_screen import QUESTION
from guestlist._report.page import json_for_script, page_charts, report_page
from guestlist._report.sections import answer, attacks, exposed, facts
from guestlist._report.sections.facts import untested_sentences
from guestlist._report.templates import whisker
from guestlist._util import interval, single_line
from guestlist.metrics import WITHHELD
from pages import Reader

CASES = (leaking, quiet, predictions_only, hostile)


@cache
def read(case) -> Reader:
    return Reader(report_page(case()))


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_equal_results_give_equal_bytes(case):
    assert report_page(case()) == report_page(case())


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_is_a_function_of_the_document(case):
    results = case()
    content = json.loads(json.dumps(results.document(), sort_keys=True, allow_nan=False))
    assert report_page(Results.from_document(content)) == report_page(results)


@pytest.mark.slow
def test_an_infinite_score_survives_the_document():
    base = leaking()
    top = replace(base.exposed[0], score=math.inf)
    results = replace(base, exposed=(top, *base.exposed[1:]))
    assert report_page(Results.from_document(json.loads(json.dumps(results.document())))) == report_page(results)
    assert "infinite" in Reader(report_page(results)).visible_text


@pytest.mark.slow
@pytest.mark.parametrize("case", [leaking, quiet, predictions_only])
def test_shows_everything_there_is(case):
    results, text = case(), read(case).visible_text
    for sentence in (
        QUESTION,
        *answer.verdict_sentences(results),
        prose("audit.basis", results),
        *facts.detection_limits(results),
    ):
        assert sentence in text
    for outcome in attacks.sorted_attacks(results.outcomes, (results.headline.name,))[: attacks.MAX_LISTED]:
        assert interval(outcome.auc) in text
        assert wording.attack_title(outcome) in text
    if results.groups:
        (names,) = (chart.y.names for id, chart in page_charts(results).items() if id == "groups-0")
        assert all(any(f"{group.group} = {group.value} " in name for name in names) for group in results.groups)
    assert all(record.id in text for record in results.exposed[: exposed.MIN_LISTED])
    assert all(row.text in text for row in diagnostics.reported(results))
    assert all(row.code in text for row in diagnostics.check_lines(results))
    assert all(sentence in text for sentence in untested_sentences(results))
    known = results.provenance
    assert all(value in text for part in (known.versions, known.fingerprints) for value in part.values())


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_loads_nothing(case):
    page = report_page(case())
    reader = Reader(page)
    loads = ("src", "href", "srcset", "action", "data", "poster")
    assert all(value.startswith("#") for _, name, value in reader.attributes if name in loads)
    assert not {"link", "iframe", "img", "object", "embed", "base", "form", "audio", "video"} & set(reader.elements)
    # User text that looks like these is no load, but there is none in these results.
    assert not re.search(r"https?://|@import|url\((?!#)", page)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_allows_its_own_scripts_and_no_others(case):
    page = read(case)
    policy = next(
        value for tag, name, value in page.attributes if tag == "meta" and name == "content" and "default-src" in value
    )
    digests = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in page.scripts]
    assert "default-src 'none'" in policy
    assert re.findall(r"'sha256-([^']+)'", policy) == digests[1:]
    json.loads(page.scripts[0])


@pytest.mark.slow
def test_hostile_text_adds_no_element_and_no_attribute():
    plain, attacked = read(leaking), read(hostile)
    grouped = len(leaking().exposed[0].groups) - 1  # the hostile records have one group fewer
    assert set(attacked.elements) == set(plain.elements)
    assert attacked.elements.count("script") == plain.elements.count("script") == 2
    listed = min(len(leaking().exposed), exposed.MIN_LISTED)
    assert attacked.elements.count("td") == plain.elements.count("td") - grouped * listed
    assert {name for _, name, _ in attacked.attributes} == {name for _, name, _ in plain.attributes}
    assert {id for id in attacked.ids if "check-" not in id} == {id for id in plain.ids if "check-" not in id}


@pytest.mark.slow
def test_hostile_text_is_shown_as_text():
    text, literal = read(hostile).visible_text, " ".join(single_line(HOSTILE).split())
    assert f"Membership privacy audit: {literal}" in text
    assert text.count(literal) > 20
    assert "\u202e" not in report_page(hostile())


def test_user_chosen_names_in_metrics_are_data():
    data = read(hostile).scripts[0]
    assert not set("<>&") & set(data)
    assert "alert" in data


def test_embedded_json_cannot_end_its_element():
    text = {"x": "</script><!--<script>&"}
    assert not set("<>&") & set(json_for_script(text))
    assert json.loads(json_for_script(text)) == text


def test_the_chart_marks_flagged_records_of_the_list_only():
    first, *others = leaking().exposed
    results = replace(leaking(), exposed=(replace(first, flagged=True), *others))
    marks = page_charts(results)["exposure"].series[-1]
    assert marks.name == "flagged records in the list"
    assert marks.x == (first.score,)


@pytest.mark.slow
@pytest.mark.parametrize("case", [leaking, quiet])
def test_charts_draw_the_curve_and_its_band(case):
    results = case()
    attack = wording.headline_attack(results)
    for which in ("roc-linear", "roc-log"):
        series = page_charts(results)[which].series
        lines = [drawn for drawn in series if drawn.line]
        assert lines[-1].name == results.headline.name  # on top of the others
        assert sorted(line.name for line in lines) == sorted(["guessing", *(f.name for f in results.outcomes)])
        assert (lines[-1].x, lines[-1].y) == (attack.curve.fpr, attack.curve.tpr)
        (band,) = (drawn for drawn in series if drawn.band)
        assert band.y_ends == tuple(zip(attack.curve.band_low, attack.curve.band_high, strict=True))


@pytest.mark.slow
def test_every_colour_of_a_chart_is_defined_by_the_page():
    source = report_page(leaking())
    used = set(re.findall(r"var\((--[a-z-]+)\)", source))
    assert {"--member", "--nonmember-fill", "--band", "--grid"} <= used
    assert all(f"{name}:" in source for name in used)


@pytest.mark.slow
def test_withheld_metrics_are_marked_and_not_drawn():
    assert whisker(WITHHELD) == {}
    text = Reader(report_page(with_headline(quiet(), auc=WITHHELD, advantage=WITHHELD))).visible_text
    assert "nan" not in text.lower().split()
    assert "withheld" in text


def test_a_finding_without_any_score_can_be_shown():
    empty = Histogram((math.nan, math.nan), (math.nan,), (math.nan,))
    assert "Not measured" in Reader(report_page(with_headline(quiet(), auc=WITHHELD, histogram=empty))).visible_text


@pytest.mark.parametrize("case", CASES)
def test_the_contents_link_every_section_and_follow_the_verdict(case):
    source, page = report_page(case()), read(case)
    every = [value.removeprefix("#") for tag, name, value in page.attributes if (tag, name) == ("a", "href")]
    assert set(every) <= set(page.ids)
    links = re.findall(r'<li><a href="#([^"]*)"', source)
    headings = re.findall(r'<h2 id="([^"]*)"', source)
    assert ["question", *links] == headings
    assert source.index('id="question"') < source.index("<nav")


@pytest.mark.slow
def test_what_is_for_researchers_is_an_appendix():
    source = report_page(leaking())
    start = source.index('id="appendix"')
    for part in ("promises", "attacks", "distribution"):
        assert source.index(f'<h3 id="{part}"') > start
        assert source.rindex("<details", 0, source.index(f'<h3 id="{part}"')) > start


def test_attacks_follow_the_headline_by_their_auc():
    results = leaking()
    first, *others = attacks.sorted_attacks(results.outcomes, (results.headline.name,))
    assert first.name == results.headline.name
    aucs = [outcome.auc.value for outcome in others]
    assert aucs == sorted(aucs, reverse=True)
    assert len(others) == len(results.outcomes) - 1
    unknown = replace(results.outcomes[1], auc=WITHHELD)
    assert attacks.sorted_attacks((results.outcomes[0], unknown, results.outcomes[2]), ())[-1].name == unknown.name
    many = replace(results, outcomes=results.outcomes * 2)
    body = attacks.attacks_section(many).body
    assert body.count('<th scope="row">') == attacks.MAX_LISTED
    assert f"{len(many.outcomes) - attacks.MAX_LISTED} more attacks" in body


@pytest.mark.slow
def test_the_cover_is_text_on_the_page():
    cover = Cover("The title", "An owner", HOSTILE, "A purpose", "1 May")
    source = report_page(replace(leaking(), cover=cover))
    text = Reader(source).visible_text
    assert "<title>The title</title>" in source
    for words_ in (
        "The title",
        "Owner: An owner",
        "Purpose: A purpose",
        "Date: 1 May",
        f"Model: {wording.model_name(leaking())}",
    ):
        assert words_ in text
    assert " ".join(single_line(HOSTILE).split()) in text
    assert set(Reader(source).elements) == set(read(leaking).elements)
    assert "Owner" not in read(leaking).visible_text


@pytest.mark.parametrize("case", CASES)
def test_headings_are_in_order_and_ids_unique(case):
    page = read(case)
    headings = [int(tag[1]) for tag in page.elements if re.fullmatch(r"h\d", tag)]
    assert headings[0] == 1
    assert headings.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(headings))
    assert len(page.ids) == len(set(page.ids))
    labels = [value for _, name, value in page.attributes if name in ("aria-labelledby", "aria-describedby")]
    assert set(labels) <= set(page.ids)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_is_small_enough_to_mail(case):
    assert len(report_page(case()).encode()) < 400_000


@pytest.mark.slow
def test_the_largest_page_is_below_three_megabytes():
    base = leaking()
    points = [i / 399 for i in range(400)]
    curve = Curve(*(tuple(rounded) for rounded in (points, [x**0.5 for x in points], points, points, points)))
    many = tuple(replace(base.outcomes[0], name=f"attack_{i}", curve=curve) for i in range(60))
    records = tuple(
        replace(base.exposed[0], id=f"members:{i}", risks={str(k): 0.123 for k in range(10)}) for i in range(1000)
    )
    page = report_page(replace(base, outcomes=(*base.outcomes, *many), exposed=records))
    assert len(page.encode()) < 3_000_000


def test_tables_and_charts_can_be_heard():
    page = read(leaking)
    assert page.elements.count("th") == sum(name == "scope" for _, name, _ in page.attributes)
    drawn = set(page_charts(leaking()))
    assert drawn <= set(page.ids)
    icons = 2  # members and non-members on the first screen
    assert sum(name == "role" and value == "img" for _, name, value in page.attributes) == len(drawn) + icons


@pytest.mark.slow
def test_to_html_writes_the_page(tmp_path):
    path = leaking().to_html(tmp_path / "report.html")
    assert path.read_text("utf-8") == report_page(leaking())


@pytest.mark.slow
def test_importing_the_report_is_light():
    heavy = ["jinja2", "rich"]
    code = f"import sys, guestlist._report; print([m for m in {heavy} if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
