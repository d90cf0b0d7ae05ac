"""The HTML report: one offline page, optionally with features of exposed records."""

import base64
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pandas as pd

from guestlist._case import Cover
from guestlist._findings import Results
from guestlist._report import (
    Chart,
    Section,
    assessment_section,
    chart_data,
    first_screen_section,
    render,
    sanitize_results,
    sentences,
    wording,
)
from guestlist._report.sections import (
    attacks,
    baseline,
    epsilon,
    exposed,
    facts,
    groups,
    headline,
    hypothesis_tests,
    risks,
)
from guestlist._util import short_repr
from guestlist.data import Data
from guestlist.errors import InputError

SECTIONS: dict[str, Callable[[Results], Section | None]] = {
    "answer": first_screen_section,
    "facts": facts.facts_section,
    "gate": facts.gate_section,
    "headline": headline.section,
    "baseline": baseline.baseline_section,
    "typical": headline.typical_section,
    "groups": groups.groups_section,
    "exposed": exposed.section,
    "epsilon": epsilon.section,
    "checks": facts.diagnostics_section,
    "limits": facts.limits_section,
    "assessment": assessment_section,
    "attacks": attacks.attacks_section,
    "group_risks": groups.group_risks_section,
    "per_record_fpr": hypothesis_tests.per_record_fpr_section,
    "hypothesis_tests": hypothesis_tests.hypothesis_tests_section,
    "scores": attacks.scores_section,
    "risks": risks.risks_section,
    "risk_spread": risks.risk_distribution_section,
    "calibrated": risks.calibrated_section,
    "reading": facts.reading_section,
}


# Escapes that prevent text within JSON from closing the enclosing script element.
_ESCAPES = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})
Sections = Mapping[str, Callable[[Results], Section | None]]


def report_page(results: Results, sections: Sections = SECTIONS) -> str:
    """Render the report as one self-contained HTML page, a function of the content of results.json."""
    results = sanitize_results(results)
    return render_page(
        "Membership privacy audit:",
        wording.model_name(results),
        _rendered(results, sections),
        made_from="results.json",
        cover=results.cover,
        meta=sentences("audit.meta", results.provenance),
    )


def render_page(
    title: str,
    name: str,
    sections: Sequence[Section],
    *,
    made_from: str,
    cover: Cover | None = None,
    meta: Sequence[str] = (),
    what: str = "Model",
) -> str:
    """Render sections as one self-contained page; the first is the answer, above the table of contents.

    Args:
        title: Start of the page's title; ``name``, which may be the user's text, follows it.
        name: Name of the audited object.
        sections: Sections in their order.
        made_from: Source of the content, for the foot of the page.
        cover: Cover with the owner's statements; its title replaces the page's title.
        meta: Short facts next to the title, such as the date.
        what: Label of ``name`` on the cover if the cover has a title.
    """
    from markupsafe import Markup

    script = _resource("page.js")
    return render(
        "page.html",
        title=title,
        name=name,
        made_from=made_from,
        cover=cover or Cover(),
        what=what,
        meta=meta,
        first=sections[0],
        sections=[section for section in sections[1:] if not section.appendix],
        appendix=[section for section in sections[1:] if section.appendix],
        policy=_security_policy(script),
        # These three come from this package, or were escaped above, and are not HTML.
        script=Markup(script),
        style=Markup(f"{_resource('page.css')}{_print_header((cover and cover.title) or f'{title} {name}')}"),
        charts=Markup(json_for_script({id: chart_data(chart) for id, chart in _all_charts(sections).items()})),
    )


def page_charts(results: Results, sections: Sections = SECTIONS) -> dict[str, Chart]:
    """Return every chart of the page by the id of the element it is drawn into."""
    return _all_charts(_rendered(results, sections))


def json_for_script(content) -> str:
    """Return JSON without ``<``, ``>`` and ``&``, safe within a script element; NaN is an error."""
    return json.dumps(content, sort_keys=True, allow_nan=False).translate(_ESCAPES)


def _rendered(results: Results, sections: Sections) -> list[Section]:
    return list(filter(None, (render_section(results) for render_section in sections.values())))


def _all_charts(sections: Sequence[Section]) -> dict[str, Chart]:
    return {id: chart for section in sections for id, chart in section.charts.items()}


def _security_policy(script: str) -> str:
    """Return a content security policy that allows this script only and loads nothing."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        f"default-src 'none'; script-src 'sha256-{digest}'; "
        "style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
    )


MAX_HEADER = 90  # letters that fit above a printed page


def _print_header(title: str) -> str:
    """Return the style rule that prints the title at the top of each page; no letter of it can end the rule."""
    if len(title) > MAX_HEADER:
        title = f"{title[: MAX_HEADER - 1]}…"
    text = "".join(letter if letter.isascii() and letter.isalnum() else f"\\{ord(letter):06x}" for letter in title)
    return f'@page {{ @top-left {{ content: "{text}"; }} }}\n'


def _resource(name: str) -> str:
    """Read a file of this package."""
    from importlib.resources import files

    return files("guestlist._report").joinpath("html", name).read_text("utf-8")


MAX_COLUMNS = 50  # a wider table is not readable


def with_features(results: Results, members: Data) -> Results:
    """Return results whose most exposed members carry their features; writing these results would write features.

    Args:
        results: Results of an audit.
        members: Training records with the ids they had in the audit.
    """
    if not isinstance(members, Data):
        raise InputError(
            f"features={short_repr(members)} must be the members of the audit with their ids: gl.Data(x, y, ids=…)."
        )
    listed = {record.id for record in results.exposed or ()}
    rows_per_id = Counter(str(id) for id in members.ids)
    missing = listed - set(rows_per_id)
    ambiguous = {id for id in listed if rows_per_id[id] > 1}
    if missing or ambiguous:
        problem = (
            f"{len(missing)} are not in these records" if missing else f"{len(ambiguous)} belong to several records"
        )
        raise InputError(
            f"Features are looked up by id, and of {len(listed)} listed ids {problem}. Pass the members of the audit with "
            "the same id column."
        )
    columns = _columns(members)
    row = {str(id): position for position, id in enumerate(members.ids) if str(id) in listed}
    return replace(
        results,
        exposed=tuple(
            replace(record, features={name: str(values[row[record.id]]) for name, values in columns.items()})
            for record in results.exposed or ()
        ),
    )


def _columns(members: Data) -> dict[str, list]:
    """Return the values of each displayed feature by name; the table has the groups already."""
    x = members.x
    if not isinstance(x, pd.DataFrame) and x.ndim > 2:
        raise InputError(
            f"The table of records shows one number per feature, but these features have the shape {x.shape[1:]}. Omit "
            "features= (--features)."
        )
    if not isinstance(x, pd.DataFrame):
        x = pd.DataFrame(x, columns=["text"] if x.ndim == 1 else [f"x{i}" for i in range(x.shape[1])])
    names = [name for name in x.columns if str(name) not in members.groups][:MAX_COLUMNS]
    return {str(name): x[name].tolist() for name in names}
