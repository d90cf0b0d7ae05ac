"""A section of the page: its heading, its body and the charts drawn into it."""

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
        id: Identifier of the heading, unique on the page.
        title: Text of the heading; plain text is escaped.
        body: HTML in which text of users is escaped, as by :func:`fill_template`.
        charts: Charts by the id of the element they are drawn into.
        css_class: Class in the page's style sheet, if the section has a special look.
        appendix: True for a section for researchers, which is collapsed at the end of the page.
    """

    id: str
    title: str | Markup
    body: Markup
    charts: Mapping[str, Chart] = field(default_factory=dict)
    css_class: str = ""
    appendix: bool = False


def fill_template(template: str, **content) -> Markup:
    """Fill a template of ``sections/``; content is escaped."""
    return Markup(render(f"sections/{template}", **content))
