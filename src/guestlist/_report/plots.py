"""Plots of results with matplotlib, an optional package: each draws on an Axes and returns it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from guestlist._findings import Results
from guestlist._report.wording import headline_names, sanitize_results
from guestlist._util import extra
from guestlist.errors import InputError
from guestlist.metrics import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CHANCE: dict[str, Any] = {"color": "0.6", "linewidth": 1, "linestyle": "--"}
BINS = 40
SMALLEST_RATE = 1e-4  # left end of the logarithmic axis of a ROC curve


@dataclass(frozen=True)
class Plots:
    """Plots of one audit; ``results.plot`` returns it.

    Args:
        results: Results of the audit.
    """

    results: Results

    def roc(self, ax: Axes | None = None, *, attacks: tuple[str, ...] | None = None) -> Axes:
        """Draw ROC curves on logarithmic axes, with the pointwise 95% band of each curve.

        Args:
            ax: Axes to draw on; by default new ones.
            attacks: Names of the attacks; by default the headline attacks.

        Returns:
            The Axes.
        """
        results = sanitize_results(self.results)
        ax = _axes(ax, "results.plot.roc")
        for name in attacks or headline_names(results):
            curve = results.attack(name).curve
            (line,) = ax.step(curve.fpr, curve.tpr, where="post", label=_text(name))
            ax.fill_between(
                curve.band_fpr, curve.band_low, curve.band_high, step="post", alpha=0.2, color=line.get_color()
            )
        ax.plot([SMALLEST_RATE, 1], [SMALLEST_RATE, 1], label="guessing", **CHANCE)
        ax.set(xscale="log", yscale="log", xlim=(SMALLEST_RATE, 1), ylim=(SMALLEST_RATE, 1))
        ax.set(xlabel="False positive rate", ylabel="True positive rate")
        ax.legend()
        return ax

    def exposure(self, ax: Axes | None = None) -> Axes:
        """Draw a histogram of the members' exposure, with flagged members marked.

        The exposure is the column ``gap`` of ``results.records``: the number of standard deviations by which the record scores
        above its scores under models that were not trained on it.

        Args:
            ax: Axes to draw on; by default new ones.

        Returns:
            The Axes.
        """
        records = self.results.records
        if records is None or "gap" not in records:
            raise InputError(
                "results.plot.exposure needs a table of records with reference models. Read the results of an audit folder with "
                "gl.read_results, or audit with references= (--references)."
            )
        ax = _axes(ax, "results.plot.exposure")
        members = records[records["member"].to_numpy(bool) & records["gap"].notna()]
        gaps = members["gap"].to_numpy(float)
        finite = gaps[np.isfinite(gaps)]
        if len(finite):  # an infinite gap is drawn in the last bin
            gaps = np.clip(gaps, finite.min(), finite.max())
        flagged = np.zeros(len(gaps), dtype=bool)
        if "flagged" in members:
            flagged = members["flagged"].to_numpy(bool)
        labels = [f"members ({(~flagged).sum()})", f"flagged members ({flagged.sum()})"]
        bars: Any = ax.hist([gaps[~flagged], gaps[flagged]], bins=BINS, stacked=True, label=labels)[2]
        for bar in bars[1]:
            bar.set_hatch("////")
        ax.set(xlabel="Exposure (standard deviations above models not trained on the record)", ylabel="Members")
        ax.legend()
        return ax

    def groups(self, ax: Axes | None = None) -> Axes:
        """Draw the AUC of the headline attack within each group, with 95% confidence intervals.

        Args:
            ax: Axes to draw on; by default new ones.

        Returns:
            The Axes.
        """
        results = sanitize_results(self.results)
        if not results.groups:
            raise InputError("results.plot.groups needs groups. Audit with group= (--group).")
        return _intervals(
            _axes(ax, "results.plot.groups"),
            [f"{row.group} = {row.value}" for row in results.groups],
            [row.auc for row in results.groups],
        )

    def comparison(self, ax: Axes | None = None) -> Axes:
        """Draw the AUC of every attack, with 95% confidence intervals.

        Args:
            ax: Axes to draw on; by default new ones.

        Returns:
            The Axes.
        """
        outcomes = sanitize_results(self.results).outcomes or ()
        return _intervals(
            _axes(ax, "results.plot.comparison"),
            [outcome.name for outcome in outcomes],
            [outcome.auc for outcome in outcomes],
        )


def _axes(ax: Axes | None, purpose: str) -> Any:
    """Return the Axes, or new ones; raise if matplotlib is missing."""
    pyplot = extra("matplotlib.pyplot", purpose)
    if ax is not None:
        return ax
    return pyplot.subplots()[1]


def _intervals(ax: Any, labels: list[str], estimates: list[Estimate]) -> Axes:
    """Draw a dot and an interval per label, the first at the top."""
    positions = np.arange(len(labels))
    values = np.array([estimate.value for estimate in estimates])
    below = values - [estimate.low for estimate in estimates]
    above = np.array([estimate.high for estimate in estimates]) - values
    ax.errorbar(values, positions, xerr=[below, above], fmt="o", capsize=3)
    ax.axvline(0.5, **CHANCE)
    ax.set_yticks(positions, labels=[_text(label) for label in labels])
    ax.invert_yaxis()
    ax.set_xlabel("AUC (95% confidence interval)")
    return ax


def _text(name: str) -> str:
    """Return a name in which matplotlib reads no formula, and which is not hidden from the legend."""
    return name.replace("$", r"\$").lstrip("_") or "unnamed"
