"""What the charts of the page share: plotly's JSON.

Colours are names of CSS variables, which the page's script looks up, so that the charts follow the page from
light to dark. Text that comes from a user goes through :func:`text`, because plotly reads some HTML.
"""

from __future__ import annotations

import html
import math


def text(words: str) -> str:
    """Text that plotly shows as it is: it reads a few tags and entities, and this leaves it none to read."""
    return html.escape(words, quote=False)


def guessing(floor: float) -> dict:
    """The diagonal, from ``floor`` where axes are logarithmic."""
    steps = geometric(floor) if floor else [0.0, 1.0]
    return {
        "type": "scatter",
        "mode": "lines",
        "name": "guessing",
        "x": [short(x) for x in steps],
        "y": [short(x) for x in steps],
        "line": {"color": "var(--quiet)", "width": 1, "dash": "dot"},
        "hoverinfo": "skip",
    }


def geometric(start: float, steps: int = 60) -> list[float]:
    """Points from ``start`` to 1, evenly spread on a logarithmic axis."""
    return [start ** (1 - i / steps) for i in range(steps + 1)]


def short(value: float) -> float | None:
    """A number to six digits, which no screen resolves further; null where JSON has none."""
    return float(f"{value:.6g}") if math.isfinite(value) else None


def title(words: str) -> dict:
    """Of an axis."""
    return {"text": words, "font": {"size": 13}}


def axis(**more) -> dict:
    """An axis in the page's look."""
    grid = {
        "gridcolor": "var(--grid)",
        "linecolor": "var(--rule)",
        "zeroline": False,
        "showline": True,
        "ticks": "outside",
        "tickcolor": "var(--rule)",
    }
    return {**grid, "fixedrange": True, "automargin": True, **more}


def layout(**more) -> dict:
    """A layout in the page's look."""
    return {
        "font": {"family": "system-ui, sans-serif", "size": 12, "color": "var(--ink)"},
        "paper_bgcolor": "var(--none)",
        "plot_bgcolor": "var(--none)",
        "hoverlabel": {
            "bgcolor": "var(--paper)",
            "bordercolor": "var(--rule)",
            "font": {"color": "var(--ink)"},
            "namelength": -1,
        },
        "margin": {"l": 60, "r": 28, "t": 16, "b": 56},
        "dragmode": False,
        **more,
    }
