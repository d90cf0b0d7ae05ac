"""Settings, measures and summary of an experiment."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import t

from guestlist._case import Cover
from guestlist._collect import Progress
from guestlist._store import write_text
from guestlist._util import choice, integer, number
from guestlist.defences import L2, Fit, Recipe, dp_sgd_for, module_outputs, tensor
from guestlist.metrics import WITHHELD, Estimate
from guestlist.privacy import NOISE_FOR

TARGET, SHADOWS = AVERAGE_OF = ("target", "shadows")
PRIVATE, PLAIN = SHADOW_TRAINING = ("private", "plain")


@dataclass(frozen=True)
class ExperimentSetting:
    """Models of an experiment, and its number of repeats.

    Attributes:
        epsilons: Guarantees of the training, one model each; ``math.inf`` trains without differential privacy.
        repeats: Number of repeats of the draw of members, the training and the attacks; at least 2, for intervals.
        delta: Delta of the guarantees.
        hidden: Number of units of each hidden layer.
        epochs: Number of training epochs.
        batch_size: Number of records per batch; its expectation if batches are drawn for differential privacy.
        learning_rate: Step size of the optimiser.
        l2: Weight of the sum of squared parameters in the loss.
        clip: Largest L2 norm of one record's gradient.
        shadows: Number of shadow models on which an attack is fitted, trained on records that are not evaluated; 0 runs no such
            attack.
        validation: Number of records, drawn like members, on which accuracy is measured.
        average_of: Model with the average training loss that is the threshold of ``average_threshold``: the ``target``, if
            its owner publishes the loss, or the ``shadows``, if the adversary does not know it.
        shadow_training: ``private`` trains shadow models with the epsilon of the target; ``plain`` trains them without
            differential privacy and uses the same ones for every epsilon, as Humphries et al. (2023) do.

    Raises:
        ValueError: If a number or a choice is out of range, epsilons repeat, or ``average_of="shadows"`` without shadow models.

    Examples:
        >>> setting = gl.ExperimentSetting(epsilons=(1.0, np.inf), repeats=5)
        >>> setting.batch_size, setting.hidden
        (200, (256, 256))
    """

    epsilons: tuple[float, ...] = (0.1, 1.0, 10.0, 100.0, math.inf)
    repeats: int = 10
    delta: float = 1e-5
    hidden: tuple[int, ...] = (256, 256)
    epochs: int = 100
    batch_size: int = 200
    learning_rate: float = 0.01
    l2: float = 1e-5
    clip: float = 1.0
    shadows: int = 0
    validation: int = 2500
    average_of: str = TARGET
    shadow_training: str = PRIVATE

    def __post_init__(self):
        low, high = NOISE_FOR
        if not self.epsilons or any(not (low <= epsilon <= high or epsilon == math.inf) for epsilon in self.epsilons):
            raise ValueError(
                f"Expected epsilons={self.epsilons} in [{low:g}, {high:g}]; math.inf trains without differential privacy."
            )
        if len(set(self.epsilons)) < len(self.epsilons):
            raise ValueError(f"Expected epsilons={self.epsilons} without repeats. List each value once.")
        integer("repeats", self.repeats, 2)  # confidence intervals need repeats
        number("delta", self.delta, 0, 1)
        integer("shadows", self.shadows)
        integer("validation", self.validation)
        choice("average_of", self.average_of, AVERAGE_OF)
        choice("shadow_training", self.shadow_training, SHADOW_TRAINING)
        if self.average_of == SHADOWS and not self.shadows:
            raise ValueError(
                f"Expected shadows={self.shadows} to be 1 or more: average_of='shadows' averages their training loss."
            )

    def recipe(self, epsilon: float, records: int, progress: Progress | None = None) -> Recipe:
        """Return the training recipe with this epsilon; ``progress`` shows the search for its noise."""
        if math.isinf(epsilon):
            return Fit(
                epochs=self.epochs,
                batch_size=self.batch_size,
                learning_rate=self.learning_rate,
                objective=L2(self.l2),
            )
        return dp_sgd_for(
            epsilon,
            delta=self.delta,
            progress=progress,
            clip=self.clip,
            rate=min(1.0, self.batch_size / records),
            epochs=self.epochs,
            learning_rate=self.learning_rate,
            weight_decay=2 * self.l2,  # the gradient of the penalty
            optimizer="adam",
        )


ATTACKS = ("average_threshold", "optimal_threshold", "shadow")
ACCURACIES = ("members", "nonmembers", "validation")


def measures(
    log_p: np.ndarray,
    labels: np.ndarray,
    member: np.ndarray,
    nonmember: np.ndarray,
    unseen: np.ndarray,
    shadow_calls: np.ndarray | None = None,
    average_loss: float | None = None,
) -> Mapping[str, float]:
    """Return advantages of attacks, and accuracies; NaN without records.

    Args:
        log_p: (records, classes) log-probabilities that the model outputs.
        labels: (records,) positions of the classes.
        member, nonmember, unseen: (records,) masks; unseen records are drawn like members.
        shadow_calls: (records,) membership predictions of the attack that is fitted on shadow models.
        average_loss: threshold of ``average_threshold``; by default the target's average loss on its members.
    """
    loss = -log_p[np.arange(len(labels)), labels]
    right = log_p.argmax(axis=1) == labels
    # The target's own average training loss, which its owner may publish (Yeom et al. 2018).
    if average_loss is None:
        average_loss = loss[member].mean()
    results = dict.fromkeys((*ATTACKS, *ACCURACIES), np.nan)
    results["optimal_threshold"] = best_gap(loss, member, nonmember)
    if not np.isnan(average_loss):
        results["average_threshold"] = gap(loss <= average_loss, member, nonmember)
    if shadow_calls is not None:
        results["shadow"] = gap(shadow_calls, member, nonmember)
    for name, part in zip(ACCURACIES, (member, nonmember, unseen), strict=True):
        if part.any():
            results[name] = float(right[part].mean())
    return results


def gap(called: np.ndarray, member: np.ndarray, nonmember: np.ndarray) -> float:
    """Return the share of members that are flagged minus the share of non-members."""
    return float(called[member].mean() - called[nonmember].mean())


def best_gap(loss: np.ndarray, member: np.ndarray, nonmember: np.ndarray) -> float:
    """Return the largest advantage of any threshold, chosen with the truth: an upper bound, above 0 even without leakage."""
    levels = np.unique(loss[member])
    below = [np.searchsorted(np.sort(loss[part]), levels, side="right") / part.sum() for part in (member, nonmember)]
    return float(max(0.0, (below[0] - below[1]).max()))


def log_probabilities(module, x) -> np.ndarray:
    """Return (records, classes) log-probabilities of a torch module with logit outputs."""
    return module_outputs(module, tensor(x, module)).cpu().double().log_softmax(dim=1).numpy()


CONFIDENCE = 0.95


@dataclass(frozen=True)
class Run:
    """Measures of one model.

    Args:
        arm: ``apart``, the game; ``iid``, its i.i.d. control.
        values: advantage of every attack, and accuracy on every set of records.
    """

    arm: str
    epsilon: float
    repeat: int
    values: Mapping[str, float]


@dataclass(frozen=True)
class Point:
    """Mean of one metric over the repeats, with a 95 % interval.

    Args:
        metric: name of an attack, for its advantage; or ``members``, ``nonmembers``, ``validation``, for the accuracy.
    """

    arm: str
    epsilon: float
    metric: str
    mean: Estimate


@dataclass(frozen=True)
class Gap:
    """Advantage of an attack in the game minus that in the i.i.d. control, over paired repeats.

    Args:
        difference: difference, with a 95% interval corrected for all gaps of the experiment.
    """

    epsilon: float
    attack: str
    difference: Estimate


@dataclass(frozen=True)
class Experiment:
    """A game and its i.i.d. control, for every epsilon.

    Attributes:
        game: Name and options of the game.
        epsilons: Guarantees of the training; infinite without differential privacy.
        delta: Delta of the guarantees.
        repeats: Number of repeats.
        points: Mean of every metric over the repeats, for each arm: ``apart`` is the game, ``iid`` its control.
        gaps: Increase of each attack's advantage due to dependent records, with intervals corrected for all gaps.
        cover: Cover of the page; None if it is empty.
        average_of: Model with the average training loss of ``average_threshold``: ``target`` or ``shadows``.

    Examples:
        >>> _, (x, y), _ = gl.testing.small_model()
        >>> setting = gl.ExperimentSetting(epsilons=(np.inf,), repeats=2, hidden=(4,), epochs=1, validation=10)
        >>> outcome = gl.experiment(gl.games.Clusters(30, 30), (x, y), setting, jobs=1, progress=False)
        >>> outcome.repeats, outcome.epsilons
        (2, (inf,))
        >>> mean = outcome.mean("members", np.inf)  # accuracy on members, with a 95% interval
        >>> bool(mean.low <= mean.value <= mean.high)
        True
    """

    game: Mapping[str, Any]
    epsilons: tuple[float, ...]
    delta: float
    repeats: int
    points: tuple[Point, ...]
    gaps: tuple[Gap, ...]
    cover: Cover | None = None
    average_of: str = TARGET

    def mean(self, metric: str, epsilon: float, arm: str = "apart") -> Estimate:
        """Return the mean of one metric."""
        for point in self.points:
            if (point.arm, point.epsilon, point.metric) == (arm, epsilon, metric):
                return point.mean
        raise KeyError(
            f"There is no {metric!r} at epsilon {epsilon} for {arm!r}. List what was measured with experiment.table."
        )

    @property
    def table(self) -> pd.DataFrame:
        """One row per metric, epsilon and arm."""
        return pd.DataFrame(
            [{"arm": p.arm, "epsilon": p.epsilon, "metric": p.metric, **p.mean._asdict()} for p in self.points]
        )

    def to_html(self, path: str | Path) -> Path:
        """Write the experiment as one self-contained page and return its path."""
        from guestlist._report import experiment_page

        write_text(Path(path), experiment_page(self))
        return Path(path)

    def to_dict(self) -> dict[str, Any]:
        """Return the content of experiment.json."""
        content = {**vars(self), "points": list(map(vars, self.points)), "gaps": list(map(vars, self.gaps))}
        del content["cover"]
        if self.cover is not None:
            content["cover"] = self.cover.entries()
        return json_values(content)


def json_values(value: Any) -> Any:
    """Convert nested values to JSON: an infinite number becomes text, and NaN null."""
    if isinstance(value, Estimate):
        value = value._asdict()
    if isinstance(value, Mapping):
        return {name: json_values(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [json_values(item) for item in value]
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, float) and math.isinf(value):
        return "inf"
    return value


def summarise_runs(game: Mapping[str, Any], setting: ExperimentSetting, runs: Sequence[Run]) -> Experiment:
    """Average the runs over repeats, without metrics that were not measured."""
    points = []
    apart = []
    for epsilon in setting.epsilons:
        by_arm = {
            arm: [run.values for run in runs if (run.arm, run.epsilon) == (arm, epsilon)] for arm in ("apart", "iid")
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
    confidence = 1 - (1 - CONFIDENCE) / max(1, len(apart))  # Bonferroni, because the page reports the largest
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
    """Return the mean with Student's interval: repeats are independent, and means of many records are nearly normal."""
    sample = np.array(list(values))
    if len(sample) < 2 or np.isnan(sample).any():
        return WITHHELD
    half = float(t.ppf((1 + confidence) / 2, len(sample) - 1) * sample.std(ddof=1)) / math.sqrt(len(sample))
    mean = float(sample.mean())
    return Estimate(mean, max(mean - half, lowest), min(mean + half, highest))
