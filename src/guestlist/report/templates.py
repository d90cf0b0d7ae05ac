"""Templates filled with everything escaped."""

from __future__ import annotations

from guestlist.report.format import count, decimal, interval, percent, tiny


def render(template: str, **content) -> str:
    """A template that lies beside this file, filled; content is escaped, and a missing name is an error."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("guestlist", "report")
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    forms = (count, percent, decimal, tiny, interval)
    environment.filters |= {form.__name__: form for form in forms}
    return environment.get_template(template).render(**content)
