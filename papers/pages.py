"""Pages of the docs that are made from committed results: text, pictures and CSV files.

A part is made from one result of a paper. It holds lines of the summary, a section, pictures and tables.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
MOST_WORDS = 750  # of a page, without code, tables and captions
HOUR = 3600  # seconds
MAX_ROWS = 15  # of a table on a page; longer ones are CSV files

Size = Literal["full", "other data", "reduced", "not run", "not possible"]
Agreement = Literal["yes", "no", "open", ""]
YES: Agreement = "yes"
NO: Agreement = "no"
OPEN: Agreement = "open"
NO_CAUSE = "no, cause open"
# Headings of the summary.
AGREES = "Agrees with the paper:"
EXPLAINED = "Does not agree, with an experiment on the cause:"
UNEXPLAINED = "Does not agree, cause open:"
UNDECIDED = "Open:"


@dataclass(frozen=True)
class Row:
    """One table or figure of a paper, and how our results compare with it.

    Args:
        where: its number in the paper.
        what: its content, in a few words.
        size: "full" where we have the paper's data and number of records; "other data" where these replace the paper's.
        detail: what differs in size, or why it was not run.
        agrees: "open" where our results cannot decide; empty where nothing was run.
        finding: a sentence with our numbers and the published ones.
        cause: why they differ, where a committed experiment shows it.
        why: a few words for the summary on a row that is open or unexplained, such as "3 repeats".
        results: names of the committed results.
        largest: whether a row that is not "full" has the largest possible size: the paper's size or all records of the
            available data, or a long run whose paper's size would take more than two hours on two cores.
    """

    where: str
    what: str
    size: Size
    detail: str
    agrees: Agreement = ""
    finding: str = ""
    cause: str = ""
    why: str = ""
    results: tuple[str, ...] = ()
    largest: bool = False

    @property
    def verdict(self) -> str:
        """Agreement in the overview, with whether a committed experiment shows the cause of a disagreement."""
        return NO_CAUSE if self.agrees == NO and not self.cause else self.agrees


@dataclass(frozen=True)
class Part:
    """All that a page shows of one result.

    Args:
        pictures: file name in docs/images to SVG text.
        tables: file name in the paper's folder of results to CSV text.
    """

    rows: tuple[Row, ...] = ()
    text: str = ""
    pictures: Mapping[str, str] = field(default_factory=dict)
    tables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Page:
    """A page, with the files that it shows and links.

    Args:
        seconds: name of a committed result to how long its run took.
    """

    paper: str
    title: str
    text: str
    rows: tuple[Row, ...]
    pictures: Mapping[str, str]
    tables: Mapping[str, str]
    seconds: Mapping[str, float | None]

    def files(self) -> dict[Path, str]:
        """Return every file of the page and its content."""
        results = ROOT / "papers" / self.paper / "results"
        return {
            DOCS / f"papers_{self.paper}.md": self.text,
            **{DOCS / "images" / name: content for name, content in self.pictures.items()},
            **{results / name: content for name, content in self.tables.items()},
        }

    def write(self) -> None:
        for path, content in self.files().items():
            path.write_text(content, "utf-8")


def existing(names: Iterable[str], read: Callable[[str], dict | None]) -> dict[str, dict]:
    """Return the results that have been run, by name."""
    return {name: result for name in names if (result := read(name))}


@dataclass(frozen=True)
class Texts:
    """Texts of a page that do not depend on results; ``not_run`` are tables and figures without a result."""

    paper: str
    title: str
    introduction: str
    setting: str
    not_run: tuple[Row, ...] = ()


def page_of(texts: Texts, parts: Mapping[str, Callable[[dict], Part]], read: Callable[[str], dict | None]) -> Page:
    """Return the page of a paper with one part for each of its results that have been run.

    A row that names the result of its command leaves the list of those that were not run as soon as there is one.
    """
    runs = existing(parts, read)
    missing = tuple(replace(row, results=()) for row in texts.not_run if not set(row.results) & set(runs))
    parts_of_runs = [parts[name](result) for name, result in runs.items()]
    return compose(replace(texts, not_run=missing), parts_of_runs, runs)


def compose(texts: Texts, parts: Sequence[Part], runs: Mapping[str, dict]) -> Page:
    """Return a page: introduction, summary, the parts' sections, setting, and links to the data.

    Args:
        runs: name of a committed result to its content.
    """
    rows = (*(row for part in parts for row in part.rows), *texts.not_run)
    tables = {name: content for part in parts for name, content in part.tables.items()}
    tables["runs.csv"] = runs_csv(runs)
    tables["tables.csv"] = tables_csv(tables)
    sections = [part.text for part in parts if part.text]
    text = "\n".join(
        [
            f"# {texts.title}\n",
            texts.introduction,
            summary(rows),
            findings(rows),
            *sections,
            texts.setting,
            _data(texts.paper),
        ]
    )
    pictures = {name: content for part in parts for name, content in part.pictures.items()}
    seconds = {name: result["seconds"] for name, result in runs.items()}
    return Page(texts.paper, texts.title, text, rows, pictures, tables, seconds)


def takes_long(seconds: float, share: float) -> bool:
    """Return whether a run took over an hour on two cores, and would take over two at the paper's size.

    Args:
        share: size of the run as a share of the paper's.
    """
    return seconds >= HOUR and seconds / share > 2 * HOUR


def verdict(holding: int, total: int) -> Agreement:
    """Return "yes" where a statement holds in at least 85% of the settings, "no" below 50%, else "open"."""
    if holding >= 0.85 * total:
        return YES
    return NO if holding < 0.5 * total else OPEN


def summary(rows: Iterable[Row]) -> str:
    """Return the opening lines: what agrees with the paper, what does not, and why."""
    lines = ["## Summary\n"]
    for heading, chosen in _by_heading(rows).items():
        if heading == EXPLAINED:
            lines += [f"- **{heading}** {row.where}: {row.finding} {row.cause}" for row in chosen]
        else:
            lines.append(f"- **{heading}** {'; '.join(map(_with_reason, chosen))}.")
    return "\n".join([*lines, ""])


def _with_reason(row: Row) -> str:
    """Return the row's name, with a few words on why it does not agree or is open."""
    reason = row.why or (row.what if row.agrees == NO else "")
    return f"{row.where} ({reason})" if reason else row.where


def findings(rows: Iterable[Row]) -> str:
    """Return tables of our results and the published ones, by agreement; the summary has those with an experiment."""
    parts = ["## Findings\n"]
    for heading, chosen in _by_heading(rows).items():
        if heading == EXPLAINED:
            continue
        columns = {heading.removesuffix(":"): lambda row: row.where, "result": lambda row: row.finding}
        parts += [table(chosen[start : start + MAX_ROWS], columns) for start in range(0, len(chosen), MAX_ROWS)]
    return "\n".join(parts)


def _by_heading(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """Return the rows that were run, by the heading that they belong to."""
    grouped: dict[str, list[Row]] = {AGREES: [], EXPLAINED: [], UNEXPLAINED: [], UNDECIDED: []}
    for row in rows:
        if row.agrees:
            grouped[_heading(row)].append(row)
    return {heading: chosen for heading, chosen in grouped.items() if chosen}


def _heading(row: Row) -> str:
    if row.agrees == NO:
        return EXPLAINED if row.cause else UNEXPLAINED
    return AGREES if row.agrees == YES else UNDECIDED


def image(name: str, alternative: str, caption: str) -> str:
    """Return an image with its alternative text and a caption."""
    return f"![{alternative}](images/{name})\n\n*{caption}*\n"


def table(rows: Sequence, columns: Mapping[str, Callable], max_rows: int = MAX_ROWS) -> str:
    """Return a Markdown table: the title of each column, and its cell for a row.

    Args:
        max_rows: largest number of rows.

    Raises:
        ValueError: the table is longer than a page may show.
    """
    if len(rows) > max_rows:
        raise ValueError(f"A table of {len(rows)} rows belongs in a CSV file: a page shows at most {max_rows}.")
    lines = [list(columns), ["---"] * len(columns), *([cell(row) for cell in columns.values()] for row in rows)]
    return "".join("| " + " | ".join(map(str, line)) + " |\n" for line in lines)


def csv_table(rows: Sequence[dict], published: Callable[[dict], dict] | None = None, skip: Sequence[str] = ()) -> str:
    """Return rows of a result as CSV: nested fields get names such as ``auc.S.1``.

    Args:
        published: row to the paper's values of the same setting.
        skip: fields that the CSV file omits.
    """
    flat = []
    for row in rows:
        cells = dict(_flat({name: value for name, value in row.items() if name not in skip}))
        paper = published(row) if published else {}
        flat.append(cells | {f"paper.{name}": value for name, value in paper.items()})
    columns = list(dict.fromkeys(name for cells in flat for name in cells))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(flat)
    return text.getvalue()


def _flat(value, name: str = "") -> Iterable[tuple[str, object]]:
    if isinstance(value, dict):
        items: Iterable = value.items()
    elif isinstance(value, list | tuple):
        items = enumerate(value, start=1)
    else:
        yield name, value
        return
    for key, part in items:
        yield from _flat(part, f"{name}.{key}" if name else str(key))


def runs_csv(results: Mapping[str, dict]) -> str:
    """Return command, repeats, seconds, sizes and versions of each result as CSV."""
    rows = [
        {
            "result": name,
            "command": result["command"],
            "repeats": f"{result['repeats']['count']} {result['repeats']['unit']}",
            "seconds": result["seconds"],
            "sizes": "; ".join(f"{data}: {_sizes(size)}" for data, size in result["sizes"].items()),
            "versions": ", ".join(f"{library} {version}" for library, version in result["versions"].items()),
        }
        for name, result in results.items()
    ]
    return csv_table(rows)


def _sizes(size: dict) -> str:
    return ", ".join(f"{value:,} {name}" for name, value in size.items())


def tables_csv(tables: Mapping[str, str]) -> str:
    """Return the names of CSV files with their numbers of rows and their columns, as CSV."""
    contents = {name: list(csv.reader(io.StringIO(content))) for name, content in sorted(tables.items())}
    return csv_table(
        [{"file": name, "rows": len(lines) - 1, "columns": "; ".join(lines[0])} for name, lines in contents.items()]
    )


def _data(paper: str) -> str:
    results = f"../papers/{paper}/results"
    return (
        f"## Data\n\n`python -m papers.{paper} all` repeats the runs. [Tables]({results}/tables.csv) lists the CSV files "
        f"of all numbers, ours and the published ones; [runs]({results}/runs.csv) lists commands, sizes, repeats and "
        "seconds (models of an earlier command excluded).\n"
    )


def words(text: str) -> int:
    """Count the words of a page without code, tables, pictures and captions."""
    text = re.sub(r"```.*?```", " ", text, flags=re.DOTALL)
    prose_lines = [line for line in text.splitlines() if not re.match(r"\||!\[|\*[^*].*\*$|<small>", line)]
    prose = re.sub(r"\]\([^)]*\)", "]", "\n".join(prose_lines))
    return len(prose.split())
