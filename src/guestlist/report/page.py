"""The report: one HTML page that works offline and asks nothing of the network.

Equal results give equal bytes: nothing here reads the clock, the disk beside the templates, or chance. What
users wrote is escaped, and the page allows no other script than its own, by its hash, so that even an escape that failed
would run nothing and send nothing.
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

# Written so that no text within ends the element that holds the JSON.
_ESCAPES = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})
Sections = Mapping[str, Callable[[Results], Section | None]]


def page(results: Results, sections: Sections = SECTIONS) -> str:
    """The whole report as one self-contained HTML page, a function of what results.json holds."""
    results = sanitize_results(results)
    found, name = _shown(results, sections), words.model_name(results)
    return render_page("Membership privacy of", name, found, made_from="results.json alone", cover=results.cover)


def render_page(
    title: str,
    name: str,
    sections: Sequence[Section],
    *,
    made_from: str,
    cover: Cover | None = None,
    what: str = "Model",
) -> str:
    """Sections as one self-contained page: the first is the answer, and stands above the contents.

    Args:
        title: ours; ``name`` stands behind it, and may be the user's.
        made_from: what there is on it comes from, for the foot of the page.
        cover: what its owner says of it; its title stands in place of ours.
        what: ``name`` is the name of, which stands on the cover where a title takes its place.
    """
    from markupsafe import Markup

    script = _beside("page.js")
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
        policy=_policy(script),
        # These three are ours, or made harmless above, and are not HTML.
        script=Markup(script),
        style=Markup(_beside("page.css")),
        charts=Markup(json_for_script({id: chart_data(chart) for id, chart in _charts(sections).items()})),
    )


def page_charts(results: Results, sections: Sections = SECTIONS) -> dict[str, Chart]:
    """Every chart of the page, by the id of the element it is drawn into."""
    return _charts(_shown(results, sections))


def json_for_script(content) -> str:
    """JSON that can stand in a script element: it holds no ``<``, ``>`` or ``&``; NaN is refused."""
    return json.dumps(content, sort_keys=True, allow_nan=False).translate(_ESCAPES)


def _shown(results: Results, sections: Sections) -> list[Section]:
    return [found for found in (section(results) for section in sections.values()) if found is not None]


def _charts(shown: Sequence[Section]) -> dict[str, Chart]:
    return {id: chart for section in shown for id, chart in section.charts.items()}


def _policy(script: str) -> str:
    """A content security policy: this script and no other, nothing from anywhere."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    rest = "style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
    return f"default-src 'none'; script-src 'sha256-{digest}'; {rest}"


def _beside(name: str) -> str:
    """The text of a file that lies beside this one."""
    from importlib.resources import files

    return files("guestlist.report").joinpath(name).read_text("utf-8")
