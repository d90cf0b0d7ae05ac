"""The report: one HTML page that works offline and asks nothing of the network.

Equal results give equal bytes: nothing here reads the clock, the disk beside the templates, or chance. What
users wrote is escaped, and the page allows no other scripts than its own two, by their hashes, so that even
an escape that failed would run nothing and send nothing.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math

from guestlist.evaluate import Estimate
from guestlist.findings.results import Results
from guestlist.report import matrix, promises, words
from guestlist.report.charts import charts
from guestlist.report.format import decimal, percent
from guestlist.report.legible import legible
from guestlist.report.script import SCRIPT
from guestlist.report.templates import render

# Written so that no text within ends the element that holds the JSON.
_ESCAPES = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


def page(results: Results) -> str:
    """The whole report as one self-contained HTML page, a function of what results.json holds."""
    from markupsafe import Markup
    from plotly.offline import get_plotlyjs

    results = legible(results)
    plotly = get_plotlyjs()
    return render(
        "page.html",
        results=results,
        headline=words.headline(results),
        words=words,
        promises=promises,
        matrix=matrix,
        decimal=decimal,
        percent=percent,
        whisker=whisker,
        policy=_policy(plotly, SCRIPT),
        # These four are ours, or made harmless above, and are not HTML.
        plotly=Markup(plotly),
        script=Markup(SCRIPT),
        style=Markup(_style()),
        charts=Markup(embedded(charts(results))),
    )


def embedded(content) -> str:
    """JSON that can stand in a script element: it holds no ``<``, ``>`` or ``&``; NaN is refused."""
    return json.dumps(content, sort_keys=True, allow_nan=False).translate(_ESCAPES)


def whisker(estimate: Estimate) -> dict[str, str]:
    """Where a dot and its interval stand on a scale from 0 to 1, for CSS; empty where withheld."""
    if any(math.isnan(value) for value in estimate):
        return {}
    value, low, high = (100 * min(max(value, 0.0), 1.0) for value in estimate)
    return {"dot": f"{value:.2f}%", "left": f"{low:.2f}%", "width": f"{high - low:.2f}%"}


def _policy(*scripts: str) -> str:
    """A content security policy: these scripts and no others, nothing from anywhere."""
    hashes = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{digest}'" for digest in hashes)
    rest = "style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
    return f"default-src 'none'; script-src {allowed}; {rest}"


def _style() -> str:
    from importlib.resources import files

    return files("guestlist.report").joinpath("page.css").read_text("utf-8")
