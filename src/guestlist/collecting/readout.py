"""Training and querying of one model, with one thread and its own random stream."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from guestlist.arrays.threads import one_thread
from guestlist.calling import model_code
from guestlist.errors import AuditError
from guestlist.lines import reason
from guestlist.randomness import global_generators
from guestlist.targets.scales import Scale
from guestlist.targets.target import Predict, answers


@dataclass(frozen=True)
class SignalExtractor:
    """Conversion of a model's outputs for the pool to signals.

    Args:
        labels: (records,) positions of the true classes, or true values.
        columns: Number of columns of the outputs.
        scale: Scale of the outputs, with parameters estimated from the target's.
    """

    labels: np.ndarray
    columns: int
    scale: Scale

    def train_and_query(
        self,
        name: str,
        train: Callable[[], Predict],
        x,
        rng: np.random.Generator,
        details: Callable[[], str] = str,
    ) -> np.ndarray:
        """Train a model and return its (records, columns) outputs for ``x``.

        Args:
            name: Name of the model, for messages.
            train: Returns the fitted model's prediction function.
            x: Features.
            rng: Random stream of the model; also seeds the global generators that some libraries use.
            details: Returns more text for messages.
        """
        # Warnings of the recipe appeared when the target was trained.
        with one_thread(), global_generators(rng), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                with model_code():
                    predict = train()
                return answers(predict, x, self.columns, self.scale)
            except AuditError as error:
                raise AuditError(f"{name}{details()}: {error}") from error
            except Exception as error:
                raise AuditError(
                    f"{name}{details()} could not be trained or asked ({reason(error)}).{_remedy(error)} What was "
                    "collected before it is kept."
                ) from error

    def take(self, records: np.ndarray) -> SignalExtractor:
        """Select records."""
        return replace(self, labels=self.labels[records])

    def signals(self, answers: np.ndarray) -> dict[str, np.ndarray]:
        """Return (records,) signals by name from outputs for all the records."""
        return self.scale.signals(answers, self.labels)


def is_unknown_category(error: Exception) -> bool:
    """Return whether an encoder of scikit-learn met an unknown category."""
    return isinstance(error, ValueError) and "unknown categories" in str(error)


def _remedy(error: Exception) -> str:
    if not is_unknown_category(error):
        return ""
    return (
        " Its encoder refuses a category that none of its records has. Give the encoder handle_unknown='ignore' (an "
        "OrdinalEncoder 'use_encoded_value'), by model.set_params without a new fit; or train no references: references=0 "
        "(--references 0)."
    )
