"""The page in a real browser: no network request, tables sort, filter and save, and it fits a narrow screen."""

import csv
import math
import re
from dataclasses import replace

import numpy as np
import pytest
from benchmarks.error_rates.compare import two_audits
from tests.report.test_file_holder import with_file_holder
from tests.report.test_index import written

import guestlist as gl
from example_results import HOSTILE, hostile, leaking, predictions_only, quiet
from guestlist import ExperimentSetting
from guestlist._audit.experiment_summary import ACCURACIES, ATTACKS, Run, summarise_runs
from guestlist._report.charts import WIDE, Canvas
from guestlist._report.comparison import comparison_page
from guestlist._report.experiment import experiment_page
from guestlist._report.first_screen import first_screen
from guestlist._report.index import index_page, read_index
from guestlist._report.page import page_charts
from guestlist._report.severity import HIGH, MODERATE, ORDER
from pages import FORMULAS, NO_FORMULAS

pytestmark = pytest.mark.slow


def with_risks():
    base = leaking()
    listed = tuple(
        replace(
            record,
            id=f"r{i}",
            risks={"mu": float((7 * i) % 20), "shapr": float("nan") if i == 3 else -i / 10},
            flagged=i % 3 == 0,
        )
        for i, record in enumerate(base.exposed)
    )
    return replace(base, exposed=(replace(listed[0], label="=1+1"), *listed[1:]))


def with_both_attackers():
    return with_file_holder(leaking())


def experiment():
    """Return an example experiment with three repeats of a game."""
    rng = np.random.default_rng(0)
    setting = ExperimentSetting(epsilons=(1.0, math.inf), repeats=3)
    figures = (*ATTACKS, *ACCURACIES)
    runs = [
        Run(arm, epsilon, repeat, dict(zip(figures, rng.uniform(0.1, 0.9, len(figures)), strict=True)))
        for arm in ("apart", "iid")
        for epsilon in setting.epsilons
        for repeat in range(3)
    ]
    game = {"name": "Sources", "column": HOSTILE, "members_from": "north"}
    return replace(summarise_runs(game, setting, runs), cover=gl.Cover(title="Wards <b>", owner="Risk"))


OPEN_ALL = "document.querySelectorAll('details').forEach((part) => { part.open = true; })"


@pytest.fixture(scope="module")
def tab(opened):
    tab = opened(with_risks())
    tab.evaluate("document.querySelector('details:has(table[data-name=exposed])').open = true")
    return tab


def column(tab, name):
    heads = tab.locator("table[data-name=exposed] thead th").all_inner_texts()
    index = next(i for i, head in enumerate(heads) if head.startswith(name))
    rows = tab.locator("table[data-name=exposed] tbody tr:visible").all()
    return [row.locator("th, td").nth(index).inner_text() for row in rows]


def test_a_click_sorts_and_another_turns_round(tab):
    head = tab.locator("table[data-name=exposed] thead button", has_text="exposure")
    head.click()
    numbers = [float(cell) for cell in column(tab, "exposure")]
    assert numbers == sorted(numbers)
    assert len(set(numbers)) > 9  # as text, 10 would come before 2
    head.click()
    assert [float(cell) for cell in column(tab, "exposure")] == numbers[::-1]
    assert tab.locator("table[data-name=exposed] th[aria-sort]").get_attribute("aria-sort") == "descending"


def test_withheld_values_are_last_in_either_order(tab):
    head = tab.locator("table[data-name=exposed] thead button", has_text="shapr")
    for _ in range(2):
        head.click()
        assert column(tab, "shapr")[-1] == "–"
        assert column(tab, "shapr").count("–") == 1


def test_names_sort_by_their_numbers(tab):
    tab.locator("table[data-name=exposed] thead button", has_text="Record").click()
    names = column(tab, "Record")
    assert names == [f"r{i}" for i in range(len(names))]


def test_rows_are_filtered_and_saved(tab):
    every = len(column(tab, "Record"))
    tab.locator(".tools input").first.fill("flagged")
    filtered = column(tab, "Record")
    assert filtered == [f"r{i}" for i in range(0, every, 3)]
    assert f"{len(filtered)} of {every} rows" in tab.locator(".tools output").first.inner_text()
    with tab.expect_download() as download:
        tab.locator(".tools button", has_text="Save as CSV").first.click()
    with open(download.value.path(), newline="") as file:
        head, *rows = csv.reader(file)
    assert [row[0] for row in rows] == filtered
    assert rows[0][head.index("Label")] == "'=1+1"
    assert min(float(row[head.index("shapr")]) for row in rows if row[head.index("shapr")] != "–") < 0  # not '-0.3
    tab.locator(".tools input").first.fill("")
    assert len(column(tab, "Record")) == every


def test_cells_are_escaped_for_spreadsheets_by_the_same_rule(tab):
    assert tab.evaluate("(cells) => cells.map(plain)", FORMULAS + NO_FORMULAS) == [
        *(f"'{formula}" for formula in FORMULAS),
        *NO_FORMULAS,
    ]


def test_the_values_of_a_chart_are_saved_and_appear_under_the_pointer(tab):
    (curve,) = (line for line in page_charts(with_risks())["roc-log"].series if line.name == "lira" and line.line)
    with tab.expect_download() as download:
        tab.locator("figure:has(#roc-log) button").click()
    with open(download.value.path(), newline="") as file:
        head, *rows = csv.reader(file)
    assert head[:3] == ["series", "false positive rate", "true positive rate"]
    saved = [(float(x), float(y)) for name, x, y, *_ in rows if name == "lira"]
    assert saved == [pytest.approx(point, rel=1e-5) for point in zip(curve.x, curve.y, strict=True)]
    assert not tab.locator("#scores svg").first.is_visible()
    tab.evaluate("location.hash = '#distribution'")  # as a link does: what is folded opens
    box = tab.locator("#scores svg:visible").bounding_box()
    assert not tab.locator("#scores .tooltip").is_visible()
    chart = page_charts(with_risks())["scores"]
    members, canvas = chart.series[1], Canvas(chart, WIDE)
    top = max(range(len(members.x)), key=lambda i: members.y[i])
    zoom = box["width"] / WIDE
    across, up = canvas.across(members.x[top]), canvas.up(members.y[top])
    tab.mouse.move(box["x"] + across * zoom + 1, box["y"] + up * zoom)
    lines = tab.locator("#scores .tooltip").inner_text().splitlines()
    assert lines == ["members", f"share of records: {float(f'{100 * members.y[top]:.3g}'):g}%", lines[2]]
    assert lines[2].startswith(f"attack score (higher: likelier member): {members.x[top]:.2g}"[:-1])
    assert tab.locator("#scores svg:visible .pointed").count() == 1


@pytest.mark.parametrize("results", [with_risks, hostile])
def test_fits_a_narrow_screen(opened, results):
    tab = opened(results(), width=390)
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390
    assert tab.evaluate("document.documentElement.scrollHeight") > 390


@pytest.mark.parametrize("results", [with_risks, leaking, quiet, predictions_only, with_both_attackers])
def test_the_first_screen_fits_a_laptop(opened, results):
    tab = opened(results(), width=1280)
    bottom = tab.evaluate("document.querySelector('.answer').getBoundingClientRect().bottom")
    assert bottom <= 800
    assert tab.locator(".badge").is_visible()
    words = len(tab.locator(".answer").inner_text().split())
    assert words <= 150


def test_the_picture_shows_one_hundred_people_twice(opened):
    tab = opened(leaking())
    identified = first_screen(leaking()).worst.identified
    assert tab.locator(".icons.member use").count() == 100
    assert tab.locator(".icons.member .full").count() == identified.low
    assert tab.locator(".icons.member .half").count() == identified.high - identified.low
    assert tab.locator(".icons.nonmember use").count() == 100


SHADE = "getComputedStyle({}).{}"
BODY, LINE = SHADE.format("document.body", "backgroundColor"), SHADE.format("document.querySelector({})", "stroke")


def light(colour):
    return sum(int(part) for part in re.findall(r"\d+", colour)[:3]) / (3 * 255)


def test_charts_follow_the_page_to_dark_and_both_to_paper(opened):
    tab = opened(with_risks(), dark=True)
    line = LINE.format("'#roc-log [data-series] path[style*=\"--member\"][style*=stroke]'")
    dark = tab.evaluate(BODY), tab.evaluate(line)
    assert light(dark[0]) < 0.2
    tab.emulate_media(media="print")
    paper = tab.evaluate(BODY), tab.evaluate(line)
    assert light(paper[0]) == 1
    tab.emulate_media(media="screen", color_scheme="light")
    screen = tab.evaluate(BODY), tab.evaluate(line)
    assert light(screen[0]) > 0.9
    assert screen[1] == paper[1] != dark[1]


def test_paper_has_what_is_folded_and_a_key_with_its_chart(opened):
    tab = opened(with_risks())
    folded = "document.querySelectorAll('details:not([open])').length"
    before = tab.evaluate(folded)
    assert before > 2
    tab.evaluate(f"addEventListener('beforeprint', () => {{ window.printed = {folded}; }})")
    assert tab.pdf().startswith(b"%PDF")
    assert tab.evaluate("window.printed") == 0
    assert tab.evaluate(folded) == before
    tab.emulate_media(media="print")
    assert not tab.locator("nav").is_visible()
    assert not tab.locator(".tools").first.is_visible()
    whole = "[...document.querySelectorAll('.key')].map((key) => {}(key.closest('.together, figure')))"
    result = tab.evaluate(
        whole.format("((one) => getComputedStyle(one).breakInside + one.querySelectorAll('.chart').length)")
    )
    assert result
    assert set(result) <= {"avoid1", "avoid2"}


def test_the_contents_are_collapsed_and_lead_to_sections(opened):
    wide, narrow = opened(with_risks()), opened(with_risks(), width=390)
    for tab in (wide, narrow):
        assert not tab.locator("nav li").first.is_visible()
        tab.locator("nav summary").click()
        assert tab.locator("nav li").first.is_visible()
    wide.locator("nav a", has_text="Diagnostics").click()
    assert abs(wide.locator("h2#checks").bounding_box()["y"]) < 60


def test_hostile_text_runs_nothing(opened):
    tab = opened(hostile())
    tab.evaluate(OPEN_ALL)
    tab.locator("table[data-name=exposed] thead button").first.click()
    tab.locator(".tools input").first.fill(HOSTILE[:8])
    assert column(tab, "Record")
    tab.wait_for_timeout(100)  # an image that is not there would have called by now: see what every page said


def relative_luminance(colour):
    """Return the luminance of an rgb() colour by WCAG 2."""
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return float(np.dot((0.2126, 0.7152, 0.0722), linear))


@pytest.mark.parametrize("dark", [False, True])
def test_severities_differ_in_lightness_and_in_their_mark(opened, dark):
    tab = opened(leaking(), dark=dark)
    badge = "getComputedStyle(document.querySelector('.badge'), {}).{}"
    colours, marks = {}, {}
    for severity in ORDER:
        tab.evaluate(f"document.querySelector('.verdict').className = 'verdict severity-{severity.replace(' ', '-')}'")
        colours[severity] = relative_luminance(tab.evaluate(badge.format("null", "backgroundColor")))
        marks[severity] = tab.evaluate(badge.format("'::before'", "content"))
    lighter, darker = max(colours[HIGH], colours[MODERATE]), min(colours[HIGH], colours[MODERATE])
    assert (lighter + 0.05) / (darker + 0.05) > 1.8
    assert len(set(marks.values())) == len(ORDER)


def test_flagged_others_have_no_colour_of_a_set(opened):
    """Blue is the colour of non-members in charts, and wrongly flagged records are errors."""
    tab = opened(leaking())
    fill = "getComputedStyle(document.querySelector('.icons.nonmember .full')).fill"
    assert tab.evaluate(fill) == tab.evaluate("getComputedStyle(document.body).color")


def test_an_index_fits_a_narrow_screen_and_shows_hostile_names_as_text(opened, tmp_path):
    name = "<img src=x onerror=alert(1)>\"'&javascript:"
    written(tmp_path / "loan 1", leaking(), name="loan", date="2026-01-10")
    written(tmp_path / "loan 2", quiet(), name="loan", date="2026-03-02")
    written(tmp_path / name, hostile(), name=name)
    tab = opened(read_index(tmp_path), width=390, made=index_page)
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390
    assert name in tab.locator("#models-note ~ .wide th bdi").all_inner_texts()
    assert tab.locator("img").count() == 0
    assert tab.locator(".strip circle").count() == 2
    tab.wait_for_timeout(100)  # an image that is not there would have called by now: the fixture reads the console
    wide = opened(read_index(tmp_path), width=1280, made=index_page)
    assert wide.evaluate("document.documentElement.scrollWidth") <= 1280


def test_a_comparison_fits_a_narrow_screen(opened):
    comparison = gl.compare(two_audits("smooth", 400, np.random.default_rng(0), fall=0.9))
    tab = opened(comparison, width=390, made=comparison_page)
    tab.wait_for_selector("#trade-auc svg")
    assert tab.evaluate("document.documentElement.scrollWidth") == 390


def test_an_experiment_fits_a_narrow_screen_and_has_its_cover(opened):
    tab = opened(experiment(), width=390, made=experiment_page)
    tab.wait_for_selector("#advantage-average_threshold svg")
    assert tab.evaluate("document.documentElement.scrollWidth") == 390
    assert tab.locator("h1").inner_text() == "Wards <b>"
    facts = tab.locator(".meta span").all_inner_texts()
    assert "Owner: Risk" in facts
    assert any(fact.startswith("Game: Sources (") for fact in facts)
    with tab.expect_download() as download:
        tab.locator("figure:has(#accuracy-chart) button").first.click()
    with open(download.value.path(), newline="") as file:
        assert next(csv.reader(file))[:3] == ["series", "epsilon", "accuracy"]
