"""Templates filled with everything escaped."""

from __future__ import annotations

import math
from functools import lru_cache

from markupsafe import Markup, escape

from guestlist.evaluate import Estimate
from guestlist.report.drawing import draw_chart, swatch
from guestlist.report.format import compact, count, decimal, interval, percent


def render(template: str, **content) -> str:
    """A template that lies beside this file, filled; content is escaped, and a missing name is an error."""
    return _environment().get_template(template).render(**content)


def whisker(estimate: Estimate) -> dict[str, str]:
    """Where a dot and its interval stand on a scale from 0 to 1, for CSS; empty where withheld."""
    if any(math.isnan(value) for value in estimate):
        return {}
    value, low, high = (100 * min(max(value, 0.0), 1.0) for value in estimate)
    return {"dot": f"{value:.2f}%", "left": f"{low:.2f}%", "width": f"{high - low:.2f}%"}


def with_code(text: str) -> Markup:
    """Return text with what is between backticks marked as code, everything escaped.

    >>> with_code("run `a <b>` now")
    Markup('run <code>a &lt;b&gt;</code> now')
    """
    parts = text.split("`")
    if len(parts) % 2 == 0:  # a backtick without its pair
        return escape(text)
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if place % 2 else escape(part) for place, part in enumerate(parts)
    )


@lru_cache(maxsize=1)
def _environment():
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("guestlist", "report")
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {
        form.__name__: form for form in (count, percent, decimal, compact, interval, draw_chart, swatch, with_code)
    }
    environment.globals |= {"decimal": decimal, "percent": percent, "whisker": whisker}
    return environment
