"""A comparison that can be read, and the function that makes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from guestlist import comparing
from guestlist.cover import Cover
from guestlist.findings.results import Results
from guestlist.store.files import write_json, write_text
from guestlist.store.jsonable import to_json


@dataclass(frozen=True)
class Comparisons(comparing.Comparisons):
    """Audits of the same records, each by itself and in pairs, with the words for them.

    ``table`` is one row per audit; iterated, it gives the pairs, each with a ``table`` of its own. ``to_html(path)`` is to read.
    """

    def to_html(self, path: str | Path) -> Path:
        """Write the comparison as one self-contained page, and return where it is."""
        from guestlist.report.comparison.page import page

        write_text(Path(path), page(self))
        return Path(path)

    def to_json(self, path: str | Path) -> Path:
        """Write all figures as JSON, and return where they are."""
        write_json(Path(path), to_json(self))
        return Path(path)


def compare(
    audits: Mapping[str, Results],
    *,
    fpr: float = 0.05,
    beside: Mapping[str, Sequence[str]] | None = None,
    cover: Cover | None = None,
) -> Comparisons:
    """Every audit beside the first, figure by figure.

    Each is judged by its own headline attack: an attacker who knows the defence takes the attack that suits it.

    Args:
        audits: name to results of audits of the same members and non-members, the model without a defence first.
        fpr: at which members found are compared.
        beside: name of an audit to those that it is held against as well, such as ``{"AdvReg": ["stopped early", "DP"]}``:
            baselines of the same accuracy.
        cover: what stands on the cover of its page; where it says nothing, what the covers of all audits agree on.

    Returns:
        A :class:`Comparisons`: ``.audits`` and ``.table`` hold each audit's own figures, ``.pairs`` (and iteration) a
        ``Comparison`` of every audit with the first and of those beside each other, with differences, the most exposed members
        and those whose risk rose; ``.to_html(path)`` writes the page, ``.to_json(path)`` the figures.
    """
    return comparing.compare(audits, fpr=fpr, beside=beside, cover=cover, form=Comparisons)
