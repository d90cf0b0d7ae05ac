"""Facts about exports: the command line and the docs read this table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from guestlist.exports import markdown, model_card
from guestlist.findings.results import Results


@dataclass(frozen=True, kw_only=True)
class Export:
    """One form of results for another tool.

    Args:
        text: results to the content of a file; it names no member.
        suffix: of that file.
        summary: for people.
    """

    text: Callable[[Results], str]
    suffix: str
    summary: str


EXPORTS: dict[str, Export] = {
    "markdown": Export(
        text=markdown.markdown,
        suffix=".md",
        summary="the answer, the attacks and the checks in Markdown, for a pull request or a wiki",
    ),
    "model_card": Export(
        text=model_card.model_card,
        suffix=".md",
        summary="a section on membership privacy for a model card",
    ),
}
