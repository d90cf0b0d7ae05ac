"""Training options of an experiment, by default those of Humphries et al. (2023)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from guestlist.collecting.engines.engine import Progress
from guestlist.defences import L2, Fit, dp_sgd_for
from guestlist.defences.dp.accounting import NOISE_FOR
from guestlist.defences.recipe import Recipe

TARGET, SHADOWS = AVERAGE_OF = ("target", "shadows")


@dataclass(frozen=True)
class ExperimentSetting:
    """Models of an experiment, and how often it is repeated.

    Args:
        epsilons: promised by the training, one after the other; infinite: plain training, which promises nothing.
        repeats: of the draw of members, the training and the attacks.
        delta: of the promise.
        hidden: units of each hidden layer.
        batch_size: expected, where batches are drawn for differential privacy.
        l2: weight of the sum of squared parameters in the loss.
        clip: the largest norm of one record's gradient.
        shadows: models that teach an attack, trained on records that are not asked about; 0: no such attack.
        average_of: whose average training loss is the threshold of ``average_threshold``: the ``target``'s own, which its owner
            may publish, or that of the ``shadows``, for an adversary who was not told.
        validation: records, drawn as members are, that accuracy is measured on.
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

    def __post_init__(self):
        if not self.epsilons or any(not epsilon > 0 for epsilon in self.epsilons):
            raise ValueError(f"Expected epsilons={self.epsilons} to be above 0; math.inf for plain training.")
        low, high = NOISE_FOR
        if any(not low <= epsilon <= high for epsilon in self.epsilons if not math.isinf(epsilon)):
            raise ValueError(f"Expected epsilons={self.epsilons} in [{low:g}, {high:g}]; math.inf for plain training.")
        if len(set(self.epsilons)) < len(self.epsilons):
            raise ValueError(f"Expected epsilons={self.epsilons} to name each once.")
        if self.repeats < 2:
            raise ValueError(f"Expected repeats={self.repeats} to be 2 or more: intervals come from them.")
        if not 0 < self.delta < 1:
            raise ValueError(f"Expected delta={self.delta} in (0, 1).")
        if self.shadows < 0 or self.validation < 0:
            raise ValueError(f"Expected shadows={self.shadows} and validation={self.validation} to be 0 or more.")
        if self.average_of not in AVERAGE_OF:
            raise ValueError(f"Expected average_of={self.average_of!r} to be one of {', '.join(AVERAGE_OF)}.")
        if self.average_of == SHADOWS and not self.shadows:
            raise ValueError(
                f"Expected shadows={self.shadows} to be 1 or more: their average training loss is asked for."
            )

    def recipe(self, epsilon: float, records: int, progress: Progress | None = None) -> Recipe:
        """The training that promises ``epsilon`` about each of so many records; ``progress`` shows the search for its noise."""
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
