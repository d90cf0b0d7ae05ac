"""docs/papers.md: every table and figure of the five papers, with size and agreement, from the papers' pages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from importlib import import_module

from papers.pages import DOCS, Page, Row, table

PAGE = DOCS / "papers.md"
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
- **Reduced**: fewer records or datasets than are available, to save time. The last column states which.
- **Not run** and **not possible**: no result yet, or no data here.
- **Agreement** is computed from the committed results. *Yes*: our results support the paper's statement; where it covers several settings, in at least 85% of them. *No*: they do not; in less than half. *Open*: between the two, other data without printed values, or too few runs to decide.

`python -m papers --pages` writes this page and the papers' pages from the committed results, without running anything.
`python -m papers --help` lists all rows with the time that each run took.
`python -m papers.datasets RAW --out DATA` builds the datasets from the files of their sources and compares checksums. Only MEPS has no builder: its publisher documents no code.
"""  # noqa: E501


def pages() -> list[Page]:
    """Return the pages of the five papers."""
    return [import_module(f"papers.{name}.page").page() for name in PAPERS]


def text(papers: Sequence[Page] | None = None) -> str:
    papers = pages() if papers is None else papers
    parts = [INTRODUCTION, count([row for page in papers for row in page.rows]), TERMS]
    for page in papers:
        parts.append(f"## {page.title}\n\n[Page](papers_{page.paper}.md)\n\n{_table(page.rows)}")
    return "\n".join(parts)


def count(rows: Sequence[Row]) -> str:
    """Count the rows by size and agreement."""
    sizes = Counter(row.size for row in rows)
    agreements = Counter(row.agrees for row in rows if row.agrees)
    run = sum(agreements.values())
    return (
        f"**{len(rows)} rows:** {sizes['full']} at full size, {sizes['other data']} on other data, "
        f"{sizes['reduced']} reduced, {sizes['not run']} not run, {sizes['not possible']} not possible here.\n"
        f"**Agreement of the {run} rows that were run:** {agreements['yes']} yes, {agreements['no']} no, "
        f"{agreements['open']} open.\n"
    )


def _table(rows: Sequence[Row]) -> str:
    columns = {
        "row": lambda row: row.where,
        "content": lambda row: row.what,
        "size": lambda row: row.size,
        "agreement": lambda row: row.agrees or "–",
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
            agreement = f", agreement {row.agrees}" if row.agrees else ""
            lines.append(f"  {row.where}: {row.what} ({row.size}{agreement}{time})")
        lines.append("")
    return "\n".join(lines)
