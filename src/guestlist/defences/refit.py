"""Training an estimator as it is: no defence. ``clone(model).fit`` on other records."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from guestlist.data import Data
from guestlist.errors import InputError
from guestlist.fingerprints import SEEDS, THREADS, described, last


@dataclass(frozen=True)
class Refit:
    """Train a clone on other records, with fresh seeds and one thread.

    Fresh seeds, even where the user fixed one: an attacker does not know the target's. One thread, because
    models are trained side by side, and so that the bits do not depend on how many there are.
    """

    def __call__(self, model, data: Data, rng: np.random.Generator):
        return self._fitted(model, data, rng)

    def weighted(self, model, data: Data, weight: np.ndarray, rng: np.random.Generator):
        """The same with a weight per record."""
        name = weight_parameter(model)
        if name is None:
            raise InputError(f"{type(model).__name__} takes no sample_weight in fit.")
        return self._fitted(model, data, rng, **{name: weight})

    def plain(self) -> Refit:
        """Itself: there is no defence in it."""
        return self

    def describe(self) -> str:
        return described(self)

    def _fitted(self, model, data: Data, rng: np.random.Generator, **more):
        from sklearn.base import clone

        model = clone(model)
        parameters = model.get_params(deep=True)
        fresh = {name: int(rng.integers(2**31 - 1)) for name in sorted(parameters) if last(name) in SEEDS}
        single = {name: 1 for name in parameters if last(name) in THREADS and not _single(model, parameters, name)}
        # CatBoost has two names for its seed and takes only one of them: set those that are listed.
        model.set_params(**fresh, **single)
        model.fit(data.x, data.y, **more)
        return model


def _single(model, parameters, name: str) -> bool:
    """Whether a number of threads that nobody set is one already, as in scikit-learn, which warns where it means nothing."""
    owner = parameters[name.rpartition("__")[0]] if "__" in name else model
    return parameters[name] is None and type(owner).__module__.partition(".")[0] == "sklearn"


def weight_parameter(model) -> str | None:
    """The name under which ``fit`` takes weights of records, through a pipeline if it is one; None if it takes none."""
    from sklearn.pipeline import Pipeline
    from sklearn.utils.validation import has_fit_parameter

    if isinstance(model, Pipeline):
        name, final = model.steps[-1]
        inner = weight_parameter(final)
        return inner and f"{name}__{inner}"
    return "sample_weight" if has_fit_parameter(model, "sample_weight") else None
