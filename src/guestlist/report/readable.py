"""Results that can be read: in a terminal, as a page, in a notebook."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from guestlist.arguments import place
from guestlist.data import Data
from guestlist.findings import results as findings
from guestlist.store.files import write_text


@dataclass(frozen=True, repr=False)
class Results(findings.Results):
    """An audit's findings, with the words for them.

    ``attacks`` and ``records`` are DataFrames to work on; ``summary()`` and ``to_html(path)`` are to read.
    """

    def summary(self) -> str:
        """The answer in words and the table of attacks, for a terminal."""
        from guestlist.report.terminal import summary

        return summary(self)

    def to_html(self, path: str | Path, *, features: Data | None = None) -> Path:
        """Write the report, one self-contained page, and return where it is.

        Args:
            features: the members of the audit, with their ids, if the page is to show the features of the most exposed; an
                audit keeps none.
        """
        from guestlist.report.features import with_features
        from guestlist.report.page import page

        where = place("path", path)
        write_text(where, page(self if features is None else with_features(self, features)))
        return where

    def __repr__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        from guestlist.report.notebook import fragment

        return fragment(self)


def read_results(folder: str | Path) -> Results:
    """The results in an audit folder."""
    return findings.results_in(folder, Results)
