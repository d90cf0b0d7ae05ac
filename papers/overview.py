"""docs/papers.md: every table and figure of the five papers, with size and agreement, from the papers' pages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module

from papers.pages import DOCS, NO, NO_CAUSE, OPEN, YES, Page, Row, table

PAGE = DOCS / "papers.md"
FULL, LARGEST, PARTLY, SMALLER = "full", "largest possible", "in part", "smaller"  # extents of main results
PAPERS = ("hypothesis_tests", "systematic_evaluation", "shapr", "waka", "data_dependencies")
MOST_WORDS = 500  # maximum number of words of the page, without tables
INTRODUCTION = """# Papers

guestlist reproduces five papers and compares its results with the published results.
Each page starts with what agrees, what does not, and why.
The tables below list every table and figure of the papers that we considered.
"""
TERMS = """## Terms

- **Full**: the paper's data and number of records. Repeats can differ; the page gives them.
- **Other data**: some or all of the paper's data are not available here; the last column names the replacement.
- **Reduced**: fewer records or datasets than in the paper, in most cases to save time. The last column states which.
- **Largest possible**: a row that is not full because data are not available, with the paper's size or all records of the others. For Song & Mittal these are the 1,000 members of the authors' Location30 model. A run of over an hour that would take over two at the paper's size also counts.
- **In part** and **smaller**: some rows, or no row, of a main result are full or largest possible.
- **Not run** and **not possible**: no result yet, or no data here.
- **Agreement** is computed from the committed results. *Yes*: our results support the paper's statement; where it covers several settings, in at least 85% of them. *No*: they do not (in less than half), and a committed experiment shows a cause. *No, cause open*: they do not, and the cause is not known. *Open*: between the two; other data without printed values; or too few runs to decide.

`python -m papers --pages` writes this page and the papers' pages from the committed results, without running anything.
`python -m papers --help` lists all rows with the time that each run took.
`python -m papers.datasets RAW --out DATA` builds the datasets from the files of their sources and compares checksums. The builder of MEPS follows AIF360's selection; it could not be tried on the survey's own file.
"""  # noqa: E501


@dataclass(frozen=True)
class MainResult:
    """Tables and figures that support one statement.

    Args:
        content: the statement's subject.
        rows: paper to tables and figures of its page; a name covers all rows that begin with it and a comma.
    """

    content: str
    rows: Mapping[str, tuple[str, ...]]


MAIN_RESULTS = (
    MainResult(
        "AUC of tests S, P, R and D",
        {"hypothesis_tests": ("Table 1", "Table 3", "Table 5", "Figures 1 and 3", "Figure 4")},
    ),
    MainResult("agreement of the tests with L", {"hypothesis_tests": ("Table 2", "Figure 5")}),
    MainResult("AUC on CIFAR100", {"hypothesis_tests": ("Table 4",)}),
    MainResult("MemGuard on Location30", {"systematic_evaluation": ("Table 4",)}),
    MainResult(
        "AdvReg, MemGuard, early stopping and white box",
        {"systematic_evaluation": ("Table 1", "Table 2", "Table 3", "Table 5")},
    ),
    MainResult(
        "calibration of the risk score",
        {"systematic_evaluation": ("Figures 1, 5 and 6", "Figure 3", "Figure 4", "Table 6")},
    ),
    MainResult("causes of a high risk score", {"systematic_evaluation": ("Figure 7", "Figure 8", "Figure 9")}),
    MainResult("SHAPr and the risk score against two attacks", {"shapr": ("Table III", "Table IV", "Table V")}),
    MainResult("time of SHAPr", {"shapr": ("Table VI",)}),
    MainResult("influence functions and TracIn", {"shapr": ("Table VII",)}),
    MainResult("accuracy of targets and attacks", {"shapr": ("Table VIII",)}),
    MainResult("L2, removal and groups", {"shapr": ("Figure 1", "Figure 2", "Figure 3", "Table IX")}),
    MainResult("SHAPr under FGSM noise", {"shapr": ("Table X", "Figures 6 and 7")}),
    MainResult("self-WaKA and attack success", {"waka": ("Table I", "Table II", "Figure 1")}),
    MainResult(
        "onion effect", {"waka": ("Table III", "Table IV", "Tables III and IV", "Figure 3", "Figure 4", "Figure 5")}
    ),
    MainResult("data minimisation", {"waka": ("Figure 6", "Figure 7")}),
    MainResult("t-WaKA and LiRA", {"waka": ("Table V", "Table VI", "Figure 8", "Time")}),
    MainResult("bounds on the advantage", {"data_dependencies": ("Figure 1",)}),
    MainResult("clusters", {"data_dependencies": ("Figure 2", "Figure 3")}),
    MainResult("attribute bias", {"data_dependencies": ("Figure 4", "Figure 5")}),
    MainResult("hospitals and schools", {"data_dependencies": ("Figure 6", "Figure 7")}),
    MainResult("census", {"data_dependencies": ("Figure 9",)}),
    MainResult(
        "further distributions, architectures and datasets",
        {
            "systematic_evaluation": (
                "Figure 2",
                "Figures 1, 5 and 6",
                "Figure 10",
                "Figure 11",
                "Figure 12",
                "Table 7",
            ),
            "shapr": ("Figures 4 and 5", "Figures 6 and 7"),
        },
    ),
)


def pages() -> list[Page]:
    """Return the pages of the five papers."""
    return [import_module(f"papers.{name}.page").page() for name in PAPERS]


def text(papers: Sequence[Page] | None = None) -> str:
    papers = pages() if papers is None else papers
    parts = [INTRODUCTION, count([row for page in papers for row in page.rows]), main_results(papers), TERMS]
    for page in papers:
        parts.append(f"## {page.title}\n\n[Page](papers_{page.paper}.md)\n\n{_table(page.rows)}")
    return "\n".join(parts)


def main_results(papers: Sequence[Page]) -> str:
    """Return the number of main results by extent, and the table of them."""
    rows = {page.paper: page.rows for page in papers}
    titles = {page.paper: page.title.partition(" (")[0] for page in papers}
    extents = Counter(extent(covered(result, rows)) for result in MAIN_RESULTS)
    columns = {
        "paper": lambda result: ", ".join(titles[paper] for paper in result.rows),
        "main result": lambda result: result.content,
        "rows": lambda result: "; ".join(row.where for row in covered(result, rows)),
        "size": lambda result: extent(covered(result, rows)),
        "smaller rows": lambda result: "; ".join(
            f"{row.where} ({row.size})" for row in covered(result, rows) if not _is_complete(row)
        ),
    }
    return (
        "## Main results\n\n"
        f"**{len(MAIN_RESULTS)} main results:** {extents[FULL]} at full size, {extents[LARGEST]} at the largest size that "
        f"is possible here, {extents[PARTLY]} in part, {extents[SMALLER]} smaller.\n"
        "The table names the rows of each result, and those that could be larger.\n\n"
        f"{table(MAIN_RESULTS, columns, max_rows=len(MAIN_RESULTS))}"
    )


def covered(result: MainResult, rows: Mapping[str, Sequence[Row]]) -> list[Row]:
    """Return the rows of a main result, without those whose data are not available.

    Args:
        rows: paper to the rows of its page.
    """
    return [
        row
        for paper, names in result.rows.items()
        for name in names
        for row in rows[paper]
        if (row.where == name or row.where.startswith(f"{name}, ")) and row.size != "not possible"
    ]


def extent(rows: Sequence[Row]) -> str:
    """Return the size of a main result: that of all its rows, or "in part"."""
    if rows and all(row.size == "full" for row in rows):
        return FULL
    complete = sum(map(_is_complete, rows))
    if rows and complete == len(rows):
        return LARGEST
    return PARTLY if complete else SMALLER


def _is_complete(row: Row) -> bool:
    return row.size == "full" or row.largest


def count(rows: Sequence[Row]) -> str:
    """Count the rows by size and agreement."""
    sizes = Counter(row.size for row in rows)
    agreements = Counter(row.verdict for row in rows if row.agrees)
    run = sum(agreements.values())
    return (
        f"**{len(rows)} rows:** {sizes['full']} at full size, {sizes['other data']} on other data, "
        f"{sizes['reduced']} reduced, {sizes['not run']} not run, {sizes['not possible']} not possible here.\n"
        f"**Agreement of the {run} rows that were run:** {agreements[YES]} yes, {agreements[NO]} no, "
        f"{agreements[NO_CAUSE]} no with the cause open, {agreements[OPEN]} open.\n"
    )


def _table(rows: Sequence[Row]) -> str:
    columns = {
        "row": lambda row: row.where,
        "content": lambda row: row.what,
        "size": lambda row: f"{row.size}, {LARGEST}" if row.largest else row.size,
        "agreement": lambda row: row.verdict or "–",
        "detail": lambda row: row.detail,
    }
    return table(rows, columns, max_rows=len(rows))


def write() -> None:
    """Write the overview and the pages of all papers."""
    papers = pages()
    for page in papers:
        page.write()
    PAGE.write_text(text(papers), "utf-8")


def listing() -> str:
    """Return each paper with its rows, and the seconds of the last runs of each row."""
    lines = []
    for page in pages():
        measured = [seconds for seconds in page.seconds.values() if seconds is not None]
        lines.append(f"{page.paper}: {page.title} ({len(page.seconds)} runs, {sum(measured):,.0f} s)")
        for row in page.rows:
            times = [seconds for name in row.results if (seconds := page.seconds.get(name)) is not None]
            time = f", {sum(times):,.0f} s" if times else ""
            agreement = f", agreement {row.verdict}" if row.agrees else ""
            lines.append(f"  {row.where}: {row.what} ({row.size}{agreement}{time})")
        lines.append("")
    return "\n".join(lines)
