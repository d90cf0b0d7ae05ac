"""Train and ask one model, with one thread and its own random stream."""

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
    """How a model is asked about the records of the pool, and what is kept of its answers.

    Args:
        labels: (records,) what answers are judged by: positions of the true classes, or true values.
        columns: of the answers.
        scale: of the answers, with what was learnt from the target's.
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
        """(records, columns) what the model that ``train`` makes says about ``x``.

        Args:
            name: of the model, for messages.
            rng: also seeds the generators that some libraries read behind our back.
            details: more to say of it in messages; asked for only then.
        """
        # What the recipe has to warn of, the user heard when the target was trained.
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
        """The same about some of the records."""
        return replace(self, labels=self.labels[records])

    def signals(self, answers: np.ndarray) -> dict[str, np.ndarray]:
        """Name to (records,) signals of answers about all the records that are asked about."""
        return self.scale.signals(answers, self.labels)


def is_unknown_category(error: Exception) -> bool:
    """Whether an encoder of scikit-learn met what it had not seen."""
    return isinstance(error, ValueError) and "unknown categories" in str(error)


def _remedy(error: Exception) -> str:
    if not is_unknown_category(error):
        return ""
    return (
        " Its encoder refuses a category that none of its records has. Give the encoder handle_unknown='ignore' (an "
        "OrdinalEncoder 'use_encoded_value'), by model.set_params without a new fit; or train no references: references=0 "
        "(--references 0)."
    )
