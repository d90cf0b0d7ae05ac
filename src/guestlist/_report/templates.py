"""Templates of pages, filled with everything escaped, and templates of sentences."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from markupsafe import Markup, escape

from guestlist._report.charts import Chart, draw_chart, swatch
from guestlist._report.wording import and_joined, attack_title, counted, file_holder_attack, headline_attack, plural
from guestlist._util import (
    compact,
    count,
    decimal,
    duration,
    interval,
    interval_in_people,
    people_base,
    percent,
    single_line,
    with_interval,
)
from guestlist.metrics import Estimate

AUC_MEANS = "Probability that a random member scores above a random non-member: 0.5 is guessing, 1 is certain."


def render(template: str, **content) -> str:
    """Fill a template of this package; content is escaped, and a missing name is an error."""
    return _environment().get_template(template).render(**content)


def sentences(name: str, *arguments, **keywords) -> list[str]:
    """Call a macro of ``text/``; every line that it writes is one entry.

    Args:
        name: File and macro: ``baseline.gain`` is the macro ``gain`` of ``text/baseline.txt``.
        arguments: Arguments of the macro.
        keywords: Keyword arguments of the macro.
    """
    file, macro = name.split(".")
    text = getattr(_environment().get_template(f"{file}.txt").module, macro)(*arguments, **keywords)
    return [line.strip() for line in text.split("\n") if line.strip()]


def prose(name: str, *arguments, **keywords) -> str:
    """Return the lines of a macro of ``text/`` as one paragraph; see :func:`sentences`."""
    return " ".join(sentences(name, *arguments, **keywords))


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


def with_terms(text: str) -> Markup:
    """Return text in which the first AUC is explained on hover, everything escaped.

    >>> with_terms("AUC < 1").startswith('<abbr title="Probability')
    True
    """
    term = Markup('<abbr title="{}">AUC</abbr>').format(AUC_MEANS)
    return Markup(re.sub(r"\bAUC\b", lambda match: term, str(escape(text)), count=1))


def plain(text: str) -> str:
    """Escape text for Markdown: text of users must not become markup, a link or a table cell."""
    return re.sub(r"([\\`*_{}\[\]<>#|~!&])", r"\\\1", text)


def plain_with_code(text: str) -> str:
    r"""Escape text for Markdown, except for code between backticks, which has no other markup.

    >>> plain_with_code("a_b: `gl.play_many`")
    'a\\_b: `gl.play_many`'
    """
    parts = text.split("`")
    if len(parts) % 2 == 0:  # a backtick has no pair
        return plain(text)
    return "`".join(part if number % 2 else plain(part) for number, part in enumerate(parts))


@lru_cache(maxsize=1)
def _environment():
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=ChoiceLoader(
            [PackageLoader("guestlist", f"_report/{folder}") for folder in ("html", "html/sections", "text")]
        ),
        autoescape=lambda name: name is not None and name.endswith(".html"),
        undefined=StrictUndefined,
        auto_reload=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters = (
        count,
        percent,
        decimal,
        compact,
        duration,
        interval,
        with_interval,
        single_line,
        counted,
        plural,
        and_joined,
    )
    markup = (draw_chart, swatch, with_code, with_terms, plain, plain_with_code)
    environment.filters |= {function.__name__: function for function in (*filters, *markup)}
    environment.tests["nan"] = math.isnan
    functions = (
        decimal,
        percent,
        whisker,
        people_base,
        interval_in_people,
        headline_attack,
        file_holder_attack,
        attack_title,
    )
    environment.globals |= {function.__name__: function for function in functions} | {"auc_means": AUC_MEANS}
    return environment


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
    """Fill a template of a part of a page; content is escaped."""
    return Markup(render(template, **content))


def fill_section(
    id: str,
    title: str,
    template: str,
    *,
    charts: Mapping[str, Chart] | None = None,
    css_class: str = "",
    appendix: bool = False,
    **content,
) -> Section:
    """Fill the template of a section with its charts and its content, which is escaped.

    Args:
        id, title, charts, css_class, appendix: As for :class:`Section`.
        template: Template of the body.
        content: Values of the template.
    """
    charts = charts or {}
    body = fill_template(template, charts=charts, **content)
    return Section(id, title, body, charts=charts, css_class=css_class, appendix=appendix)
