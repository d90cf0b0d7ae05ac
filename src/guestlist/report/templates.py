"""Templates of the report, filled with everything escaped."""

from __future__ import annotations

import math
from functools import lru_cache

from markupsafe import Markup, escape

from guestlist.evaluate import Estimate
from guestlist.report.drawing import draw_chart, swatch
from guestlist.report.format import compact, count, decimal, interval, percent


def render(template: str, **content) -> str:
    """Fill a template of this package; content is escaped, and a missing name is an error."""
    return _environment().get_template(template).render(**content)


def whisker(estimate: Estimate) -> dict[str, str]:
    """Return the CSS positions of a dot and its interval on a scale from 0 to 1; empty where withheld."""
    if any(math.isnan(value) for value in estimate):
        return {}
    value, low, high = (100 * min(max(value, 0.0), 1.0) for value in estimate)
    return {"dot": f"{value:.2f}%", "left": f"{low:.2f}%", "width": f"{high - low:.2f}%"}


def with_code(text: str) -> Markup:
    """Return text with parts between backticks marked as code, everything escaped.

    >>> with_code("run `a <b>` now")
    Markup('run <code>a &lt;b&gt;</code> now')
    """
    parts = text.split("`")
    if len(parts) % 2 == 0:  # a backtick has no pair
        return escape(text)
    for i in range(1, len(parts), 2):
        parts[i] = Markup("<code>{}</code>").format(parts[i])
    return Markup("").join(parts)


@lru_cache(maxsize=1)
def _environment():
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("guestlist", "report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters = (count, percent, decimal, compact, interval, draw_chart, swatch, with_code)
    environment.filters |= {function.__name__: function for function in filters}
    environment.globals |= {"decimal": decimal, "percent": percent, "whisker": whisker}
    return environment
