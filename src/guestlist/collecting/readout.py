"""Train and ask one model, with one thread and its own random stream."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from threadpoolctl import ThreadpoolController

from guestlist.errors import AuditError
from guestlist.randomness import global_generators
from guestlist.targets.target import Predict, Scale, answers, signals_of


@dataclass(frozen=True)
class Question:
    """How a model is asked about the records of the pool, and what is kept of its answers.

    Args:
        labels: (records,) positions of the true classes.
        classes: how many there are.
        scale: of the answers.
        smallest: the probability that an answer of 0 stands for; the target's, for all models.
    """

    labels: np.ndarray
    classes: int
    scale: Scale
    smallest: float

    def answers(self, name: str, train: Callable[[], Predict], x, rng: np.random.Generator) -> np.ndarray:
        """(records, classes) what the model that ``train`` makes says about ``x``.

        Args:
            name: of the model, for messages.
            rng: also seeds the generators that some libraries read behind our back.
        """
        # What the recipe has to warn of, the user heard when the target was trained.
        with _one_thread(), global_generators(rng), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return answers(train(), x, self.classes, self.scale)
            except AuditError as error:
                raise AuditError(f"{name}: {error}") from error
            except Exception as error:
                raise AuditError(
                    f"{name} could not be trained or asked ({type(error).__name__}: {error}). What was collected before "
                    "it is kept."
                ) from error

    def take(self, records: np.ndarray) -> Question:
        """The same about some of the records."""
        return replace(self, labels=self.labels[records])

    def signals(self, answers: np.ndarray) -> dict[str, np.ndarray]:
        """Name to (records,) signals of answers about all the records that are asked about."""
        return signals_of(answers, self.labels, self.scale, self.smallest)


@contextmanager
def _one_thread():
    torch = sys.modules.get("torch")
    before = torch and torch.get_num_threads()
    if torch:
        torch.set_num_threads(1)
    try:
        with _libraries(len(sys.modules)).limit(limits=1):
            yield
    finally:
        if torch:
            torch.set_num_threads(before)


@lru_cache(maxsize=1)
def _libraries(_modules: int) -> ThreadpoolController:
    """The libraries with threads. To look for them takes milliseconds: done anew only where modules have been loaded since."""
    return ThreadpoolController()
