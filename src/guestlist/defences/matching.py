"""Baselines of the same accuracy as a defence: the plain model stopped early, and training with noise.

A defence that costs accuracy must be held against these: less training gives away less too.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Generator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from guestlist.data import Data, as_data, copied
from guestlist.defences.dp import DpSgd
from guestlist.defences.plain import Fit, goodness
from guestlist.defences.refit import Refit
from guestlist.defences.searched import Searched
from guestlist.defences.unfitted import unfitted
from guestlist.errors import InputError
from guestlist.fingerprints import last

# How many rounds an estimator trains for, in scikit-learn, XGBoost, LightGBM and CatBoost.
ROUNDS = ("n_estimators", "max_iter", "iterations", "num_iterations")
LEAST_NOISE = 1e-3  # below it, the next to be tried is none at all


@dataclass(frozen=True)
class Matched:
    """The nearest to an accuracy among what was tried.

    Args:
        model: trained.
        recipe: that trains it, and references.
        accuracy: that it reached on the held-out records.
        wanted: the accuracy that was asked for.
        tried: accuracy of everything that was tried: (epochs, rounds or noise, accuracy).
    """

    model: Any = field(repr=False)
    recipe: Any
    accuracy: float
    wanted: float
    tried: tuple[tuple[float, float], ...] = field(repr=False)


def stopped_at(accuracy: float, model: Any, members, held_out, *, recipe: Fit | None = None, seed: int = 0) -> Matched:
    """The plain model, stopped where its accuracy on held-out records is nearest to ``accuracy``.

    A torch module is trained once, and stopped after the epoch that is nearest; of equal ones, the first. Its recipe is ``Fit``
    with so many epochs, which stops references there too. An estimator that trains in rounds is trained anew with fewer of
    them, a dozen times or so, and is its own recipe.

    Args:
        model: a torch module, or an estimator with ``n_estimators`` or ``max_iter``, such as boosted trees.
        members: records to train on, ``(x, y)`` or ``Data``; labels of a torch module are positions of classes.
        held_out: records to measure accuracy on.
        recipe: of a torch module: plain training, whose ``epochs`` are the most there are.
        seed: of a torch module's training.
    """
    wanted, members, held_out = _checked(accuracy, members, held_out)
    if hasattr(model, "state_dict"):
        return _stopped_module(wanted, model, members, held_out, Fit() if recipe is None else recipe, seed)
    if not hasattr(model, "get_params"):
        raise InputError(f"Expected a torch module or an estimator, found {type(model).__name__}.")
    return _stopped_estimator(wanted, model, members, held_out)


def dp_at(
    accuracy: float, module: Any, members, held_out, *, recipe: DpSgd | None = None, tries: int = 8, seed: int = 0
) -> Matched:
    """Training with noise so large that accuracy on held-out records is nearest to ``accuracy``.

    Also where the promise is worth nothing: it is the baseline that a defence without a promise has to beat. The recipe promises
    what ``privacy()`` says for one training, and holds how many were tried: the search for it is counted nowhere.

    Args:
        module: a torch module.
        members: records to train on, ``(x, y)`` or ``Data``, with positions of classes as labels.
        held_out: records to measure accuracy on.
        recipe: all but the noise, which it begins with.
        tries: trainings in all.
        seed: of every training.
    """
    wanted, members, held_out = _checked(accuracy, members, held_out)
    recipe = DpSgd() if recipe is None else recipe
    if tries < 1:
        raise ValueError(f"Expected tries={tries} to be 1 or more.")
    _check_classes(recipe)
    if not hasattr(module, "state_dict"):
        raise InputError(f"Expected a torch module, found {type(module).__name__}: noise is added to its gradients.")
    _check_positions(members, held_out)

    def train(noise: float) -> tuple[Any, float]:
        trained = replace(recipe, noise=noise)(module, members, np.random.default_rng(seed))
        return trained, goodness(trained, held_out.x, held_out.y)

    best, tried = _nearest(wanted, train, _noises(wanted, recipe.noise or 1.0), tries)
    found = Searched(replace(recipe, noise=best.at), len(tried))
    return Matched(best.model, found, best.accuracy, wanted, tried)


@dataclass(frozen=True)
class _Try:
    at: float
    accuracy: float
    model: Any


# What to try next: it is sent the accuracy of what it asked for.
_Search = Generator[float, float, None]


def _nearest(
    wanted: float, train: Callable[[float], tuple[Any, float]], search: _Search, tries: int
) -> tuple[_Try, tuple[tuple[float, float], ...]]:
    """The try that came nearest, the first of equal ones, and all tries."""
    best, tried = None, []
    at = next(search)
    for _ in range(tries):
        model, reached = train(at)
        tried.append((at, reached))
        if best is None or abs(reached - wanted) < abs(best.accuracy - wanted):
            best = _Try(at, reached, model)
        try:
            at = search.send(reached)
        except StopIteration:
            break
    assert best is not None, "there is one try or more"
    return best, tuple(tried)


def _noises(wanted: float, noise: float) -> _Search:
    """Twice or half the noise until the accuracy lies between two, then the middle of these, on a logarithmic scale."""
    low = high = 0.0  # too little, and too much, as far as is known
    while True:
        reached = yield noise
        if reached >= wanted:
            low = noise
        else:
            high = noise
        if noise == 0 or reached == wanted:
            return
        if not high:
            noise = 2 * low
        elif not low:
            noise = high / 2 if high > LEAST_NOISE else 0.0
        else:
            noise = float(np.sqrt(low * high))


def _rounds(wanted: float, most: int) -> _Search:
    """1, 2, 4, … rounds, then halfway from the nearest to its neighbours, as long as there is something between."""
    known: dict[int, float] = {}
    for rounds in sorted({*(2**k for k in range(most.bit_length())), most}):
        known[rounds] = yield rounds
    while True:
        places = sorted(known)
        at = min(range(len(places)), key=lambda k: abs(known[places[k]] - wanted))
        around = [(places[k], places[k + 1]) for k in (at - 1, at) if 0 <= k < len(places) - 1]
        between = [(a + b) // 2 for a, b in around if b - a > 1]
        if not between or known[places[at]] == wanted:
            return
        for rounds in between:
            known[rounds] = yield rounds


def _stopped_module(wanted: float, module, members: Data, held_out: Data, fit: Fit, seed: int) -> Matched:
    if not hasattr(fit, "epochs_of"):
        raise InputError(f"Expected recipe=gl.Fit(…), whose epochs can be looked at, found {type(fit).__name__}.")
    _check_classes(fit)
    _check_positions(members, held_out)
    best, tried = None, []
    for epoch, trained in enumerate(fit.epochs_of(module, members, np.random.default_rng(seed)), start=1):
        reached = goodness(trained, held_out.x, held_out.y)
        tried.append((epoch, reached))
        if best is None or abs(reached - wanted) < abs(best.accuracy - wanted):
            best = _Try(epoch, reached, copy.deepcopy(trained).eval())
    assert best is not None, "there is one epoch or more"
    return Matched(best.model, replace(fit, epochs=int(best.at)), best.accuracy, wanted, tuple(tried))


def _stopped_estimator(wanted: float, model, members: Data, held_out: Data, tries: int = 20) -> Matched:
    parameters = model.get_params(deep=True)
    names = [name for name in parameters if last(name) in ROUNDS and isinstance(parameters[name], int)]
    if not names:
        raise InputError(
            f"{type(model).__name__} does not train in rounds that could be fewer: none of {', '.join(ROUNDS)}."
        )
    name = min(names, key=len)

    def train(rounds: float) -> tuple[Any, float]:
        trained = unfitted(model).set_params(**{name: int(rounds)}).fit(copied(members.x), members.y)
        return trained, float(np.mean(trained.predict(copied(held_out.x)) == held_out.y))

    best, tried = _nearest(wanted, train, _rounds(wanted, parameters[name]), tries)
    return Matched(best.model, Refit(), best.accuracy, wanted, tried)


def _checked(accuracy: float, members, held_out) -> tuple[float, Data, Data]:
    if not 0 <= accuracy <= 1:
        raise ValueError(f"Expected accuracy={accuracy} in [0, 1].")
    found = [as_data(one, side=side) for one, side in ((members, "members"), (held_out, "held_out"))]
    return float(accuracy), *found  # type: ignore[return-value]


def _check_positions(*some: Data) -> None:
    for data in some:
        if data.y.dtype.kind not in "iubf":
            raise InputError(
                f"Expected positions of classes, 0, 1, …, as labels of a torch module, found {data.y[0]!r}."
            )


def _check_classes(recipe) -> None:
    if recipe.loss != "cross_entropy":
        raise InputError(f"Accuracy is that of classes, and {type(recipe).__name__} minimises loss={recipe.loss!r}.")
