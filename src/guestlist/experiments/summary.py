"""Means over the repeats of an experiment, with intervals, and what dependent records add."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import t

from guestlist.cover import Cover
from guestlist.evaluate import WITHHELD, Estimate
from guestlist.experiments.measures import ACCURACIES, ATTACKS
from guestlist.experiments.setting import TARGET, ExperimentSetting
from guestlist.store.files import write_text

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Run:
    """Measures of one model.

    Args:
        arm: ``apart``, the game; ``iid``, its counterpart.
        figures: advantages by attack, and accuracies by whose they are.
    """

    arm: str
    epsilon: float
    repeat: int
    figures: Mapping[str, float]


@dataclass(frozen=True)
class Point:
    """The mean of one figure over the repeats, with a 95 % interval.

    Args:
        figure: an attack, whose advantage it is; or ``members``, ``nonmembers``, ``validation``, whose accuracy it is.
    """

    arm: str
    epsilon: float
    figure: str
    mean: Estimate


@dataclass(frozen=True)
class Gap:
    """Advantage of an attack in the game minus that in the i.i.d. control, over paired repeats.

    Args:
        difference: with an interval that holds together with those of all other gaps of the experiment, at 95 %.
    """

    epsilon: float
    attack: str
    difference: Estimate


@dataclass(frozen=True)
class Experiment:
    """A game and its counterpart, for every epsilon.

    Args:
        game: its name and options.
        points: means of every figure.
        gaps: what dependent records add to each attack.
        cover: what stands on its cover, as its owner says it; None: nothing.
        average_of: whose average training loss ``average_threshold`` took: ``target`` or ``shadows``.
    """

    game: Mapping[str, Any]
    epsilons: tuple[float, ...]
    delta: float
    repeats: int
    points: tuple[Point, ...]
    gaps: tuple[Gap, ...]
    cover: Cover | None = None
    average_of: str = TARGET

    def mean(self, figure: str, epsilon: float, arm: str = "apart") -> Estimate:
        """Return the mean of one metric."""
        for point in self.points:
            if (point.arm, point.epsilon, point.figure) == (arm, epsilon, figure):
                return point.mean
        raise KeyError(f"There is no {figure!r} at epsilon {epsilon} of {arm!r}.")

    @property
    def table(self) -> pd.DataFrame:
        """One row per figure, epsilon and arm."""
        rows = [{"arm": p.arm, "epsilon": p.epsilon, "figure": p.figure, **p.mean._asdict()} for p in self.points]
        return pd.DataFrame(rows)

    def to_html(self, path: str | Path) -> Path:
        """Write the experiment as one self-contained page and return its path."""
        from guestlist.report.experiment.page import page

        write_text(Path(path), page(self))
        return Path(path)

    def to_dict(self) -> dict[str, Any]:
        """Return the content of experiment.json."""

        def plain(value):
            if isinstance(value, Estimate):
                return {name: plain(item) for name, item in value._asdict().items()}
            if isinstance(value, Mapping):
                return {name: plain(item) for name, item in value.items()}
            if isinstance(value, (list, tuple)):
                return [plain(item) for item in value]
            if isinstance(value, float) and not math.isfinite(value):
                return None if math.isnan(value) else "inf"
            return value

        rows = {
            "points": [vars(point) for point in self.points],
            "gaps": [vars(item) for item in self.gaps],
            **({} if self.cover is None else {"cover": self.cover.entries()}),
        }
        return plain(
            {
                "game": self.game,
                "epsilons": self.epsilons,
                "delta": self.delta,
                "repeats": self.repeats,
                "average_of": self.average_of,
                **rows,
            }
        )


def summarise_runs(game: Mapping[str, Any], setting: ExperimentSetting, runs: Sequence[Run]) -> Experiment:
    """Average the runs over repeats, without metrics that were not measured."""
    points = []
    apart = []
    for epsilon in setting.epsilons:
        by_arm = {
            arm: [run.figures for run in runs if (run.arm, run.epsilon) == (arm, epsilon)] for arm in ("apart", "iid")
        }
        for metric in (*ATTACKS, *ACCURACIES):
            for arm, values in by_arm.items():
                mean = mean_of([measures[metric] for measures in values], -1.0 if metric in ATTACKS else 0.0)
                if not math.isnan(mean.value):
                    points.append(Point(arm, epsilon, metric, mean))
        for attack in ATTACKS:
            differences = [a[attack] - b[attack] for a, b in zip(*by_arm.values(), strict=True)]
            if not np.isnan(differences).any():
                apart.append((epsilon, attack, differences))
    confidence = 1 - (1 - CONFIDENCE) / max(1, len(apart))  # Bonferroni: the page tells of the largest of them
    gaps = [Gap(epsilon, attack, mean_of(values, -2.0, 2.0, confidence)) for epsilon, attack, values in apart]
    return Experiment(
        game=game,
        epsilons=setting.epsilons,
        delta=setting.delta,
        repeats=setting.repeats,
        points=tuple(points),
        gaps=tuple(gaps),
        average_of=setting.average_of,
    )


def mean_of(
    values: Iterable[float], lowest: float = -1.0, highest: float = 1.0, confidence: float = CONFIDENCE
) -> Estimate:
    """The mean with Student's interval: repeats are independent, and means of many records are near normal."""
    sample = np.array(list(values))
    if len(sample) < 2 or np.isnan(sample).any():
        return WITHHELD
    half = float(t.ppf((1 + confidence) / 2, len(sample) - 1) * sample.std(ddof=1)) / math.sqrt(len(sample))
    mean = float(sample.mean())
    return Estimate(mean, max(mean - half, lowest), min(mean + half, highest))
