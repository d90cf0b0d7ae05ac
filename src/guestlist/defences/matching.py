"""Baselines of the same accuracy as a defence, and removal of the most exposed members."""

import copy
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd

from guestlist._util import DescribedRecipe, integer, names_ending, number
from guestlist.data import Data, as_data, copied
from guestlist.defences.dp_sgd import DpSgd
from guestlist.defences.estimators import Refit
from guestlist.defences.recipe import Searched, unfitted
from guestlist.defences.torch_training import Fit, goodness
from guestlist.errors import InputError
from guestlist.models.frameworks import FRAMEWORKS

# Parameters that count training rounds in scikit-learn, XGBoost, LightGBM and CatBoost.
ROUNDS = ("n_estimators", "max_iter", "iterations", "num_iterations")
LEAST_NOISE = 1e-3  # below it, the search tries no noise
MOST_TRIES = 20  # trainings of an estimator


@dataclass(frozen=True)
class Matched:
    """Training whose accuracy is nearest to a requested accuracy.

    Args:
        model: Trained model.
        recipe: Recipe that trains it, and references.
        accuracy: Its accuracy on the held-out records.
        wanted: The requested accuracy.
        tried: All trials: (epochs, rounds or noise, accuracy).
    """

    model: Any = field(repr=False)
    recipe: Any
    accuracy: float
    wanted: float
    tried: tuple[tuple[float, float], ...] = field(repr=False)


def stopped_at(accuracy: float, model: Any, members, held_out, *, recipe: Fit | None = None, seed: int = 0) -> Matched:
    """Train the plain model, stopped where its accuracy on held-out records is nearest to ``accuracy``.

    A torch module is trained once, and stopped after the nearest epoch (the first of ties). Its recipe is ``Fit`` with that
    number of epochs, which also stops references there. An estimator that trains in rounds is trained about a dozen times with
    fewer rounds, and is its own recipe.

    Args:
        accuracy: Requested accuracy.
        model: Torch module, or estimator with ``n_estimators`` or ``max_iter``, such as boosted trees.
        members: Records to train on, ``(x, y)`` or ``Data``; labels for a torch module are positions of classes.
        held_out: Records to measure accuracy on.
        recipe: Plain training of a torch module, whose ``epochs`` are the maximum.
        seed: Random seed of a torch module's training.

    Returns:
        The trained model, its recipe and its accuracy.

    Raises:
        InputError: If the model is neither a torch module nor an estimator that trains in rounds.
        ValueError: If ``accuracy`` is out of range.
    """
    wanted, members, held_out = _checked(accuracy, members, held_out)
    if FRAMEWORKS["torch"].recognises(model):
        return _stopped_module(wanted, model, members, held_out, recipe or Fit(), seed)
    if not hasattr(model, "get_params"):
        raise InputError(
            f"Early stopping needs a torch module or an estimator; found {type(model).__name__}. Pass one of these."
        )
    return _stopped_estimator(wanted, model, members, held_out)


def dp_at(
    accuracy: float, module: Any, members, held_out, *, recipe: DpSgd | None = None, tries: int = 8, seed: int = 0
) -> Matched:
    """Train with the noise at which accuracy on held-out records is nearest to ``accuracy``.

    The result is the baseline for a defence without a guarantee, even if its own guarantee is vacuous. The recipe guarantees
    ``privacy()`` for one training, and records the number of trials: the search is not accounted for.

    Args:
        accuracy: Requested accuracy.
        module: Torch module.
        members: Records to train on, ``(x, y)`` or ``Data``, with positions of classes as labels.
        held_out: Records to measure accuracy on.
        recipe: Training without its noise, which is where the search starts.
        tries: Maximum number of trainings.
        seed: Random seed of every training.

    Returns:
        The trained module, its recipe and its accuracy.

    Raises:
        InputError: If ``module`` is not a torch module, or the labels are not positions of classes.
        ValueError: If ``tries`` or ``accuracy`` is out of range.
    """
    wanted, members, held_out = _checked(accuracy, members, held_out)
    recipe = recipe or DpSgd()
    integer("tries", tries, 1)
    if not FRAMEWORKS["torch"].recognises(module):
        raise InputError(
            f"DP-SGD needs a torch module; found {type(module).__name__}. Pass a module such as gl.defences.mlp(…)."
        )
    _check_classifier(recipe, members, held_out)

    def train(noise: float) -> _Try:
        trained = replace(recipe, noise=noise)(module, members, np.random.default_rng(seed))
        return _Try(noise, goodness(trained, held_out.x, held_out.y), trained)

    trials = islice(_noises(wanted, recipe.noise or 1.0, train), tries)
    return _nearest(wanted, trials, lambda noise, tried: Searched(replace(recipe, noise=noise), tried))


@dataclass(frozen=True)
class _Try:
    """One trial: the noise, rounds or epochs, the accuracy and the model."""

    at: float
    accuracy: float
    model: Any


def _nearest(wanted: float, trials: Iterable[_Try], recipe_of: Callable[[float, int], Any]) -> Matched:
    """Return the nearest trial, the first of ties.

    Args:
        recipe_of: Function from the noise, rounds or epochs of a trial, and the number of trials, to the recipe.
    """
    best = None
    tried = []
    for trial in trials:
        tried.append((trial.at, trial.accuracy))
        if best is None or abs(trial.accuracy - wanted) < abs(best.accuracy - wanted):
            best = trial
    assert best is not None, "there is one trial or more"
    return Matched(
        model=best.model,
        recipe=recipe_of(best.at, len(tried)),
        accuracy=best.accuracy,
        wanted=wanted,
        tried=tuple(tried),
    )


def _noises(wanted: float, noise: float, train: Callable[[float], _Try]) -> Iterator[_Try]:
    """Double or halve the noise until two trials enclose the accuracy, then bisect on a logarithmic scale."""
    low = high = 0.0  # largest noise known to be too small, smallest known to be too large; 0 if none
    while True:
        trial = train(noise)
        yield trial
        if trial.accuracy >= wanted:
            low = noise
        else:
            high = noise
        if noise == 0 or trial.accuracy == wanted:
            return
        if not high:
            noise = 2 * low
        elif not low:
            noise = high / 2 if high > LEAST_NOISE else 0.0
        else:
            noise = float(np.sqrt(low * high))


def _rounds(wanted: float, largest: int, train: Callable[[float], _Try]) -> Iterator[_Try]:
    """Try 1, 2, 4, … rounds, then bisect between the nearest trial and the trials next to it."""
    known: dict[int, float] = {}
    untried = sorted({*(2**k for k in range(largest.bit_length())), largest})
    while untried:
        for rounds in untried:
            trial = train(rounds)
            yield trial
            known[rounds] = trial.accuracy
        tried = sorted(known)
        at = min(range(len(tried)), key=lambda k: abs(known[tried[k]] - wanted))
        if known[tried[at]] == wanted:
            return
        around = [(tried[k], tried[k + 1]) for k in (at - 1, at) if 0 <= k < len(tried) - 1]
        untried = [(a + b) // 2 for a, b in around if b - a > 1]


def _stopped_module(wanted: float, module, members: Data, held_out: Data, fit: Fit, seed: int) -> Matched:
    if not hasattr(fit, "epochs_of"):
        raise InputError(
            f"Early stopping of a module needs recipe=gl.defences.Fit(…); found {type(fit).__name__}. Pass it."
        )
    _check_classifier(fit, members, held_out)
    trials = (
        _Try(epoch, goodness(trained, held_out.x, held_out.y), copy.deepcopy(trained).eval())
        for epoch, trained in enumerate(fit.epochs_of(module, members, np.random.default_rng(seed)), start=1)
    )
    return _nearest(wanted, trials, lambda epochs, _tried: replace(fit, epochs=int(epochs)))


def _stopped_estimator(wanted: float, model, members: Data, held_out: Data) -> Matched:
    parameters = model.get_params(deep=True)
    names = [name for name in names_ending(parameters, ROUNDS) if isinstance(parameters[name], int)]
    if not names:
        raise InputError(
            f"{type(model).__name__} is not trained in rounds: it has none of the parameters {', '.join(ROUNDS)}. Use "
            "another model."
        )
    name = min(names, key=len)

    def train(rounds: float) -> _Try:
        trained = unfitted(model).set_params(**{name: int(rounds)}).fit(copied(members.x), members.y)
        return _Try(rounds, float(np.mean(trained.predict(copied(held_out.x)) == held_out.y)), trained)

    trials = islice(_rounds(wanted, parameters[name], train), MOST_TRIES)
    return _nearest(wanted, trials, lambda *_: Refit())


def _checked(accuracy: float, members, held_out) -> tuple[float, Data, Data]:
    return (
        number("accuracy", accuracy, 0, 1, ends="[]"),
        as_data(members, side="members"),
        as_data(held_out, side="held_out"),
    )


def _check_classifier(recipe, *training_sets: Data) -> None:
    if recipe.loss != "cross_entropy":
        raise InputError(
            f"Accuracy is defined for classifiers, but {type(recipe).__name__} minimises loss={recipe.loss!r}. Use "
            "loss='cross_entropy'."
        )
    for data in training_sets:
        if data.y.dtype.kind not in "iubf":
            raise InputError(
                f"The labels of a torch module must be positions of classes (0, 1, …); found {data.y[0]!r}. Encode them."
            )


@dataclass(frozen=True)
class Removal(DescribedRecipe):
    """Train without the members that have the largest risk. Records of one person are removed together.

    Args:
        share: Share of the members to remove; 0 is plain training.
        risk: Name of a column ``risk_<name>`` in an audit's table of records, also of a custom risk.

    Raises:
        ValueError: If the share is not in [0, 1).
    """

    share: float = 0.1
    risk: str = "mu"

    def __post_init__(self):
        number("share", self.share, 0, 1, ends="[)")

    def leaving(self, records: pd.DataFrame) -> np.ndarray:
        """Return the ids of the members to remove, from an audit's table of records; ties are in the order of ids."""
        column = f"risk_{self.risk}"
        if column not in records:
            names = [
                name.removeprefix("risk_")
                for name in map(str, records)
                if name.startswith("risk_") and not name.endswith(("_low", "_high"))
            ]
            raise InputError(f"The audit has no risk {self.risk!r}. Available risks: {', '.join(names) or 'none'}.")
        members = records[records["member"].to_numpy(dtype=bool)]
        risk = members[column].to_numpy(dtype=float)
        who = members["person" if "person" in members else "id"].astype(str)
        # A person has the largest risk of their records. A record without a risk is never removed for it.
        worst = pd.Series(np.where(np.isnan(risk), -np.inf, risk)).groupby(who.to_numpy()).max()
        order = worst.sort_index().sort_values(ascending=False, kind="stable")
        sizes = who.value_counts()[order.index].to_numpy()
        allowed = (np.cumsum(sizes) <= self.share * len(members) + 1e-9) & np.isfinite(order.to_numpy())
        return members["id"][who.isin(order.index[allowed])].to_numpy()
