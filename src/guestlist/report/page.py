"""The report: one HTML page that works offline and makes no network request.

Equal results give equal bytes: nothing here reads the clock, files other than the templates, or random numbers. Text of users
is escaped, and the page allows only its own script, by its hash, so that a failed escape would run nothing and send nothing.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence

from guestlist.cover import Cover
from guestlist.findings.results import Results
from guestlist.report import words
from guestlist.report.charts import Chart, chart_data
from guestlist.report.legible import sanitize_results
from guestlist.report.section import Section
from guestlist.report.sections.table import SECTIONS
from guestlist.report.templates import render

# Escapes that keep text within JSON from closing the script element that holds it.
_ESCAPES = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})
Sections = Mapping[str, Callable[[Results], Section | None]]


def page(results: Results, sections: Sections = SECTIONS) -> str:
    """Render the report as one self-contained HTML page, a function of the content of results.json."""
    results = sanitize_results(results)
    return render_page(
        "Membership privacy of",
        words.model_name(results),
        _rendered(results, sections),
        made_from="results.json alone",
        cover=results.cover,
    )


def render_page(
    title: str,
    name: str,
    sections: Sequence[Section],
    *,
    made_from: str,
    cover: Cover | None = None,
    what: str = "Model",
) -> str:
    """Render sections as one self-contained page; the first is the answer, above the table of contents.

    Args:
        title: Start of the page's title; ``name``, which may be the user's text, follows it.
        name: Name of the audited object.
        sections: Sections in their order.
        made_from: Source of the content, for the foot of the page.
        cover: Cover with the owner's statements; its title replaces the page's title.
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
        first=sections[0],
        sections=[section for section in sections[1:] if not section.appendix],
        appendix=[section for section in sections[1:] if section.appendix],
        policy=_security_policy(script),
        # These three come from this package, or were escaped above, and are not HTML.
        script=Markup(script),
        style=Markup(_resource("page.css")),
        charts=Markup(json_for_script({id: chart_data(chart) for id, chart in _all_charts(sections).items()})),
    )


def page_charts(results: Results, sections: Sections = SECTIONS) -> dict[str, Chart]:
    """Return every chart of the page by the id of the element it is drawn into."""
    return _all_charts(_rendered(results, sections))


def json_for_script(content) -> str:
    """Return JSON without ``<``, ``>`` and ``&``, safe within a script element; NaN is an error."""
    return json.dumps(content, sort_keys=True, allow_nan=False).translate(_ESCAPES)


def _rendered(results: Results, sections: Sections) -> list[Section]:
    rendered = (section(results) for section in sections.values())
    return [section for section in rendered if section is not None]


def _all_charts(sections: Sequence[Section]) -> dict[str, Chart]:
    return {id: chart for section in sections for id, chart in section.charts.items()}


def _security_policy(script: str) -> str:
    """Return a content security policy that allows this script only and loads nothing."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        f"default-src 'none'; script-src 'sha256-{digest}'; "
        "style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
    )


def _resource(name: str) -> str:
    """Read a file of this package."""
    from importlib.resources import files

    return files("guestlist.report").joinpath(name).read_text("utf-8")
