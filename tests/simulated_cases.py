"""Scores with a known AUC, and cases for tests of metrics, findings and risks."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import norm

from guestlist.testing import Case, Rotation, case_of


@dataclass(frozen=True)
class ScoreSimulation:
    """Normal scores with a known AUC and known rates.

    Args:
        shift: Mean of members' scores; non-members' scores are standard normal.
        stretch: Standard deviation of members' scores.
        step: Distance of the values to which scores are rounded, to make ties; 0 for no rounding.
    """

    shift: float
    stretch: float = 1.0
    step: float = 0.0

    @classmethod
    def of_auc(cls, auc: float, stretch: float = 1.0, step: float = 0.0) -> "ScoreSimulation":
        """Return the simulation whose scores have this AUC before they are rounded."""
        return cls(float(norm.ppf(auc) * np.hypot(1, stretch)), stretch, step)

    def draw(self, rng: np.random.Generator, members: int, nonmembers: int) -> tuple[np.ndarray, np.ndarray]:
        """Draw scores and membership."""
        member = np.arange(members + nonmembers) < members
        scores = rng.normal(size=len(member)) * np.where(member, self.stretch, 1.0) + self.shift * member
        return self.on_lattice(scores), member

    def on_lattice(self, scores: np.ndarray) -> np.ndarray:
        """Round scores to multiples of ``step``."""
        return self.step * np.round(scores / self.step) if self.step else scores

    @property
    def auc(self) -> float:
        """True AUC, ties counted as 0.5."""
        if not self.step:
            return float(norm.cdf(self.shift / np.hypot(1, self.stretch)))
        edges = self.step * (np.arange(-200, 202) - 0.5)
        members, nonmembers = np.diff(norm.cdf(edges, self.shift, self.stretch)), np.diff(norm.cdf(edges))
        return float(members @ (np.cumsum(nonmembers) - nonmembers / 2))

    def tpr(self, fpr: float) -> float:
        """Return the true TPR at the smallest threshold that non-members exceed with probability ``fpr`` or less."""
        quantile = norm.isf(fpr)
        if self.step:  # A value j * step is exceeded by all that is rounded up from (j + 1/2) * step.
            quantile = (np.ceil(quantile / self.step - 0.5) + 0.5) * self.step
        return float(norm.sf(quantile, self.shift, self.stretch))

    def rates(self, threshold: float) -> tuple[float, float]:
        """Return the true TPR and FPR of flagging scores at the threshold or above."""
        if self.step:
            threshold = (np.ceil(threshold / self.step) - 0.5) * self.step
        return float(norm.sf(threshold, self.shift, self.stretch)), float(norm.sf(threshold))


def regression_case(records: int = 200) -> Case:
    """Return a case of a regression model whose residuals are half as large for members.

    Args:
        records: Number of records, half of them members.

    Returns:
        The case.
    """
    rng = np.random.default_rng(0)
    member, y = np.arange(records) < records // 2, rng.normal(10, 2, records)
    residual = rng.normal(size=(1, records)) * np.where(member, 0.5, 1.0)
    simulation = Rotation({"residual": residual, "loss": residual**2}, member[None], np.zeros(records, int))
    case = case_of(simulation, ("loss",))
    return replace(
        case, records=case.records.assign(label=y.astype(str)), setting=replace(case.setting, classes=0, scale="values")
    )


def with_signals(case: Case, **signals: np.ndarray) -> Case:
    """Return the same case with other signals of the target.

    Args:
        case: Case to change.
        signals: Name to (records,) values of the target.

    Returns:
        The changed case, with new scores.
    """
    values = {name: matrix.copy() for name, matrix in case.view.values.items()}
    for name, row in signals.items():
        values[name][0] = row
    return replace(case, view=replace(case.view, values=values)).scored()
