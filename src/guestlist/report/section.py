"""One section of the page: what it is called, what it shows, and the charts that are drawn into it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from markupsafe import Markup

from guestlist.report.charts import Chart
from guestlist.report.templates import render


@dataclass(frozen=True)
class Section:
    """One section of the page.

    Args:
        id: of its heading, one on the page.
        title: of its heading; plain text is escaped.
        body: HTML in which what users wrote is escaped: that of :func:`filled` is.
        charts: by the id of the element it is drawn into.
        look: a class of the page's style, if it has one of its own.
        appendix: whether it is for researchers, and stands folded at the end.
    """

    id: str
    title: str | Markup
    body: Markup
    charts: Mapping[str, Chart] = field(default_factory=dict)
    look: str = ""
    appendix: bool = False


def fill_template(template: str, **content) -> Markup:
    """A template of ``sections/``, filled; content is escaped."""
    return Markup(render(f"sections/{template}", **content))
