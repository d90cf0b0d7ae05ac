"""Pages of the papers: current, short, readable, and with every file that they link."""

import csv
import io
import itertools
import re
from collections import Counter
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from xml.etree import ElementTree

import pytest
from papers.__main__ import main
from papers.listing import WIDTH
from papers.pages import (
    DOCS,
    EXPLAINED,
    MAX_ROWS,
    MOST_WORDS,
    UNEXPLAINED,
    Part,
    Row,
    Texts,
    csv_table,
    page_of,
    table,
    takes_long,
    verdict,
    words,
)
from papers.pictures import COLOURS, Axes, Panel, Series, picture, round_ticks
from papers.results import expected

from papers import overview

AGAIN = "run: python -m papers --pages"
MOST_SUMMARY_LINES = 10


@pytest.fixture(scope="module")
def pages():
    return {page.paper: page for page in overview.pages()}


@pytest.mark.parametrize("paper", overview.PAPERS)
def test_text_pictures_and_tables_are_those_of_the_results(pages, paper):
    outdated = [str(path) for path, content in pages[paper].files().items() if path.read_text("utf-8") != content]
    assert outdated == [], AGAIN


def test_the_overview_is_made_from_the_pages(pages):
    assert overview.PAGE.read_text("utf-8") == overview.text(list(pages.values())), AGAIN


@pytest.mark.parametrize("paper", overview.PAPERS)
def test_every_linked_file_exists_and_every_picture_is_shown(pages, paper):
    page = pages[paper]
    links = re.findall(r"\]\(([^)#]+)", page.text)
    assert [link for link in links if not (DOCS / link).exists()] == []
    assert {Path(link).name for link in links if link.startswith("images/")} == set(page.pictures)
    assert {Path(link).name for link in links if link.endswith(".csv")} == {"tables.csv", "runs.csv"}
    listed = {row["file"]: int(row["rows"]) for row in csv.DictReader(io.StringIO(page.tables["tables.csv"]))}
    lines = {name: len(list(csv.reader(io.StringIO(content)))) for name, content in page.tables.items()}
    assert listed == {name: count - 1 for name, count in lines.items() if name != "tables.csv"}


def test_no_file_of_an_earlier_page_is_left(pages):
    pictures = {path.name for path in (DOCS / "images").glob("*.svg") if path.name.startswith(overview.PAPERS)}
    assert pictures == {name for page in pages.values() for name in page.pictures}
    for page in pages.values():
        folder = DOCS.parent / "papers" / page.paper / "results"
        assert {path.name for path in folder.glob("*.csv")} == set(page.tables)


@pytest.mark.parametrize("paper", overview.PAPERS)
def test_pages_are_short(pages, paper):
    page = pages[paper]
    assert words(page.text) <= MOST_WORDS
    longest = max(
        (len(block.splitlines()) - 2 for block in re.findall(r"(?:^\|.*\n)+", page.text, re.MULTILINE)), default=0
    )
    assert longest <= MAX_ROWS


def test_the_overview_is_short(pages):
    assert words(overview.text(list(pages.values()))) <= overview.MOST_WORDS


@pytest.mark.parametrize("paper", overview.PAPERS)
def test_a_page_starts_with_what_agrees_and_has_at_least_four_pictures(pages, paper):
    page = pages[paper]
    opening = page.text[: page.text.index("## Findings")]
    assert page.text.index("## Summary") < page.text.index("## Findings") < page.text.index("![")
    assert 1 <= sum(line.startswith("- ") for line in opening.splitlines()) <= MOST_SUMMARY_LINES
    assert len(page.pictures) >= 4
    assert all(alternative.endswith(".") for alternative in re.findall(r"!\[([^]]*)\]", page.text))


def test_rows_are_counted_at_the_top(pages):
    rows = [row for page in pages.values() for row in page.rows]
    sizes = Counter(row.size for row in rows)
    count = overview.count(rows)
    assert f"**{len(rows)} rows:** {sizes['full']} at full size, {sizes['other data']} on other data" in count
    assert f", {sizes['reduced']} reduced, {sizes['not run']} not run, {sizes['not possible']} not possible" in count
    assert all(row.finding.endswith(".") for row in rows if row.agrees)
    assert all((row.size in ("full", "other data", "reduced")) == bool(row.agrees) for row in rows)
    assert all(set(row.results) <= set(page.seconds) for page in pages.values() for row in page.rows)


def test_main_results_name_rows_of_the_pages(pages):
    names = {page.paper: [row.where for row in page.rows] for page in pages.values()}
    for result in overview.MAIN_RESULTS:
        for paper, wanted in result.rows.items():
            for name in wanted:
                assert any(where == name or where.startswith(f"{name}, ") for where in names[paper]), (paper, name)
    text = overview.main_results(list(pages.values()))
    assert len(re.findall(r"^\|", text, re.MULTILINE)) == 2 + len(overview.MAIN_RESULTS)
    rows = {page.paper: page.rows for page in pages.values()}
    extents = Counter(overview.extent(overview.covered(result, rows)) for result in overview.MAIN_RESULTS)
    assert text.startswith(
        f"## Main results\n\n**{len(overview.MAIN_RESULTS)} main results:** {extents['full']} at full size, "
        f"{extents['largest possible']} at the largest size that is possible here, {extents['in part']} in part, "
        f"{extents['smaller']} smaller.\n"
    )


FULL_ROW = Row("Figure 4, p = 0", "", "full", "")
LARGEST_ROW = Row("Figure 4", "", "other data", "", largest=True)
SMALL_ROW = Row("Figure 4, shadow models", "", "reduced", "")
MISSING_ROW = Row("Figure 40", "", "not run", "")
IMPOSSIBLE_ROW = Row("Figure 4, Texas", "", "not possible", "")


@pytest.mark.parametrize(
    ("rows", "extent"),
    [
        ([FULL_ROW, IMPOSSIBLE_ROW, MISSING_ROW], "full"),
        ([FULL_ROW, LARGEST_ROW], "largest possible"),
        ([FULL_ROW, LARGEST_ROW, SMALL_ROW], "in part"),
        ([SMALL_ROW, IMPOSSIBLE_ROW], "smaller"),
        ([MISSING_ROW], "smaller"),
    ],
)
def test_a_main_result_is_as_large_as_its_rows(rows, extent):
    result = overview.MainResult("", {"shapr": ("Figure 4",)})
    covered = overview.covered(result, {"shapr": rows})
    assert [row.where for row in covered] == [
        row.where for row in rows if row.size != "not possible" and row is not MISSING_ROW
    ]
    assert overview.extent(covered) == extent


def test_a_long_run_counts_only_if_the_papers_size_takes_over_two_hours():
    assert takes_long(4000, 0.5)
    assert not takes_long(4000, 0.6)
    assert not takes_long(3500, 0.1), "a run of less than an hour could have been larger"


def test_largest_rows_are_not_full(pages):
    rows = [row for page in pages.values() for row in page.rows]
    assert all(row.size in ("other data", "reduced") for row in rows if row.largest)
    assert any(row.largest for row in rows)


def test_a_disagreement_without_an_experiment_is_open(pages):
    for page in pages.values():
        opening, _, tables = page.text.partition("## Findings\n")
        groups = dict(re.findall(r"^\| (.+) \| result \|\n\| --- .*\n((?:\|.*\n)+)", tables, re.MULTILINE))
        for row in (row for row in page.rows if row.agrees == "no"):
            heading = EXPLAINED if row.cause else UNEXPLAINED
            lines = [line.removeprefix(f"- **{heading}** ") for line in opening.splitlines() if heading in line]
            if row.cause:
                assert f"{row.where}: {row.finding} {row.cause}" in lines
            else:
                [line] = lines
                assert f"{row.where} ({row.what})" in line.removesuffix(".").split("; ")
                assert f"| {row.where} | {row.finding} |" in groups[heading.removesuffix(":")].splitlines()


def test_a_verdict_is_open_between_half_and_most():
    assert [verdict(holding, 20) for holding in (20, 17, 16, 10, 9, 0)] == ["yes", "yes", "open", "open", "no", "no"]


def test_help_lists_the_rows_with_their_times(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    printed = capsys.readouterr().out
    assert re.search(r"Table I: .* \(other data, agreement [\w, ]+, [\d,]+ s\)", printed)
    assert "Figure 8: Texas hospital discharges, by health region (not possible)" in printed


def test_commands_say_how_long_they_take(tmp_path):
    path = tmp_path / "table1.json"
    assert expected("table1", path) == "table1: no committed time."
    path.write_text('{"seconds": null}')
    assert expected("table1", path) == "table1: no committed time."
    path.write_text('{"seconds": 1234.5, "command": "python -m papers.x table1"}')
    assert expected("table1", path).startswith("table1: about 1,234 s, ")


@pytest.mark.parametrize("name", ["hypothesis_tests", "systematic_evaluation", "waka"])
def test_help_of_a_paper_lists_every_command_with_its_time(name, pages, capsys):
    module = import_module(f"papers.{name}.__main__")
    with pytest.raises(SystemExit):
        module.main(["--help"])
    printed = capsys.readouterr().out
    listed = re.findall(r"^  (\w+) +(?:[\d,]+ s|not run)  ", printed, re.MULTILINE)
    assert set(pages[name].seconds) <= set(listed)
    assert max(map(len, printed.splitlines())) <= WIDTH
    assert all(f"  {command} " in printed for command in ("page", "all"))


def test_a_disagreement_names_whether_its_cause_is_open():
    row = Row("Table 1", "content", "full", "detail", agrees="no", finding="It differs.")
    assert row.verdict == "no, cause open"
    assert replace(row, cause="Fewer records.").verdict == "no"
    assert replace(row, agrees="yes").verdict == "yes"
    assert "0 yes, 0 no, 1 no with the cause open" in overview.count([row])


def test_words_leave_out_code_tables_and_captions():
    left_out = "```sh\nnot this\n```\n| nor | this |\n![nor this](x.svg)\n\n*nor this caption.*\n"
    text = f"# Two words\n\n{left_out}\n**But** [this](y.md).\n"
    assert words(text) == 5


def test_long_tables_are_refused():
    table([1] * MAX_ROWS, {"x": str})
    with pytest.raises(ValueError, match="belongs in a CSV file"):
        table([1] * (MAX_ROWS + 1), {"x": str})


def test_csv_files_name_nested_values_and_the_published_ones():
    rows = [{"name": "a", "auc": {"S": [0.5, None]}, "dots": [1]}, {"name": "b"}]
    text = csv_table(rows, lambda row: {"auc": 0.6} if row["name"] == "a" else {}, skip=["dots"])
    assert text == "name,auc.S.1,auc.S.2,paper.auc\na,0.5,,0.6\nb,,,\n"


@pytest.mark.parametrize(("low", "high"), [(0, 1), (0.31, 0.87), (-1.7, 0.0089), (48, 101), (0.885, 0.897), (1, 5)])
def test_ticks_are_round_and_few(low, high):
    ticks = round_ticks(low, high)
    assert 2 <= len(ticks) <= 6
    assert all(low - 1e-9 <= tick <= high + 1e-9 for tick in ticks)
    assert all(len(f"{tick:g}".lstrip("-").replace(".", "").strip("0")) <= 3 for tick in ticks)


def test_published_results_are_dashed_and_open_in_the_colour_of_ours():
    series = Series("ours", [0, 1], [0.2, 0.4], low=[0.1, 0.3], high=[0.3, 0.5])
    paper = Series("paper", [0, 1], [0.3, 0.5], paper=True, like="ours")
    root = ElementTree.fromstring(picture([[Panel("a < b", [series, paper], Axes(x_label="x"))]], "What it shows."))
    lines = [part for part in root.iter() if part.tag.endswith("polyline")]
    assert [line.get("stroke") for line in lines] == [COLOURS[0]] * 4, "two in the legend, two in the panel"
    assert [line.get("stroke-dasharray") is None for line in lines] == [True, False] * 2
    assert sum(part.tag.endswith("polygon") for part in root.iter()) == 1, "the band of the interval"
    assert root.findtext("{http://www.w3.org/2000/svg}title") == "What it shows."


def test_colours_differ_in_greyscale():
    def lightness(colour):
        red, green, blue = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
        luminance = sum(
            w * channel**2.2 for w, channel in zip((0.2126, 0.7152, 0.0722), (red, green, blue), strict=True)
        )
        return 116 * luminance ** (1 / 3) - 16

    ordered = sorted(map(lightness, COLOURS))
    assert min(after - before for before, after in itertools.pairwise(ordered)) > 5


def test_all_series_of_a_picture_look_different():
    series = [Series(f"{index}", [0, 1], [0, 1]) for index in range(len(COLOURS) + 1)]
    picture([[Panel("", series[:-1])]], "")
    with pytest.raises(ValueError, match="at most 6 colours"):
        picture([[Panel("", series)]], "")


def test_a_command_without_a_result_is_listed_as_not_run():
    row = Row("Table 3", "content", "not run", "detail", results=("table3",))
    texts = Texts("waka", "Title", "Introduction.", "Setting.", (row,))
    result = {"command": "c", "repeats": {"count": 1, "unit": "game"}, "seconds": 1.0, "sizes": {}, "versions": {}}

    def rows(existing):
        return page_of(texts, {"table3": lambda result: Part()}, existing.get).rows

    assert [row.where for row in rows({})] == ["Table 3"]
    assert rows({"table3": result}) == ()
