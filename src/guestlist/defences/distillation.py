"""Distillation: a student learns from the outputs of teachers instead of the labels."""

from dataclasses import dataclass, field, replace

import numpy as np

from guestlist._util import DescribedRecipe, number
from guestlist.data import Data
from guestlist.defences.torch_training import Batch, BatchObjective, Fit, Start, probabilities
from guestlist.errors import InputError


@dataclass(frozen=True)
class Distillation(DescribedRecipe):
    """Train a student on a teacher's outputs for its own training records, at a temperature (Hinton et al. 2015).

    In training, teacher and student both use the temperature; afterwards the student uses 1. The teacher has memorised
    these records, and part of that reaches the student: :class:`Selena` avoids it.

    Attributes:
        teacher: Training of the teacher.
        student: Training of the student; it has no objective.
        temperature: Temperature of both in training; above 0.

    Raises:
        ValueError: If the temperature is not above 0, or the student has an objective.
    """

    teacher: Fit = field(default_factory=Fit)
    student: Fit = field(default_factory=Fit)
    temperature: float = 2.0

    def __post_init__(self):
        _check(self.teacher, self.student)
        number("temperature", self.temperature, 0)
        if self.student.objective is not None:
            raise ValueError("The student of a distillation has its own objective. Remove objective= from the student.")

    def __call__(self, module, data: Data, rng: np.random.Generator):
        teacher = self.teacher(module, data, rng)
        student = replace(self.student, objective=AtTemperature(self.temperature))
        return student.distil(module, data, probabilities(teacher, data.x, self.temperature), rng)

    def plain(self) -> Fit:
        """Return the student's training, on the labels."""
        return self.student.plain()


@dataclass(frozen=True)
class AtTemperature(BatchObjective):
    """Loss at a temperature, times the squared temperature, so that gradients keep their size."""

    temperature: float

    def loss(self, start: Start, outputs, batch: Batch):
        return self.temperature**2 * start.loss(outputs / self.temperature, batch)


@dataclass(frozen=True)
class Selena(DescribedRecipe):
    """Train a student on the mean output of the teachers that were not trained on the record (Tang et al. 2022).

    Each record is excluded by ``out`` of ``teachers`` models. The paper has 25 teachers, 10 of which exclude a record.

    Attributes:
        teachers: Number of teachers.
        out: Number of teachers that exclude each record.
        teacher: Training of the teachers.
        student: Training of the student.

    Raises:
        ValueError: If ``out`` is not in [1, teachers).
    """

    teachers: int = 10
    out: int = 4
    teacher: Fit = field(default_factory=Fit)
    student: Fit = field(default_factory=Fit)

    def __post_init__(self):
        _check(self.teacher, self.student)
        if not 1 <= self.out < self.teachers:
            raise ValueError(f"Expected out={self.out} in [1, teachers={self.teachers}).")

    def __call__(self, module, data: Data, rng: np.random.Generator):
        left_out = rng.permuted(np.tile(np.arange(self.teachers) < self.out, (len(data), 1)), axis=1).T
        outputs: list[np.ndarray] = []
        for outside in left_out:
            if outside.all():
                raise InputError(
                    f"{len(data)} records are too few for {self.teachers} teachers: one teacher would have none. Use "
                    "fewer teachers."
                )
            teacher = self.teacher(module, data.take(np.flatnonzero(~outside)), rng)
            outputs.append(probabilities(teacher, data.x) * outside[:, None])
        return self.student.distil(module, data, np.sum(outputs, axis=0) / self.out, rng)

    def plain(self) -> Fit:
        """Return the student's training, on the labels."""
        return self.student.plain()


def _check(*fits: Fit) -> None:
    if any(fit.loss != "cross_entropy" for fit in fits):
        raise ValueError("Distillation needs loss='cross_entropy': the student is fitted on probabilities of classes.")
