"""Simulations with known ground truth, cases and oracles for tests of your own attack or risk.

No model is trained: margins are drawn, and members' margins are larger by a known amount. A simulation gives an attack all
that it would see of real models::

    from guestlist.testing import auc_by_pairs, gaussian_simulation, target_of

    signals, member = target_of(gaussian_simulation(shift=1.0, records=500, models=17))
    assert auc_by_pairs(my_attack(signals), member) > 0.6
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from guestlist._audit import audit
from guestlist._audit.evaluate import evaluate
from guestlist._case import Case, Check, Setting, Truth, score
from guestlist._findings import Results, stand_in_targets
from guestlist._views import Evidence, FullOutputsView, Rotation, Signals
from guestlist.attacks import ATTACKS
from guestlist.metrics import Estimate
from guestlist.selfcheck.simulations import (
    DESIGNS,
    bernoulli,
    complementary_pairs,
    exactly_half,
    gaussian_simulation,
    memorising_simulation,
    noise_simulation,
    outputs_of_margin,
    signals_of_margin,
    unbalanced_references,
)

__all__ = [
    "DESIGNS",
    "Case",
    "Check",
    "Evidence",
    "Rotation",
    "Signals",
    "auc_by_pairs",
    "awkward_simulation",
    "bernoulli",
    "case_of",
    "complementary_pairs",
    "evaluate_case",
    "exactly_half",
    "gaussian_simulation",
    "interval_coverage",
    "leaking_case",
    "memorising_simulation",
    "noise_simulation",
    "outputs_of_margin",
    "signals_of_margin",
    "small_audit",
    "small_model",
    "target_of",
    "unbalanced_references",
]

DEFAULT_ATTACKS = ("loss", "entropy", "lira_bayes")


def target_of(simulation: Rotation, model: int = 0) -> tuple[Signals, np.ndarray]:
    """Return the adversary's view of one model of a simulation, and the true membership.

    Args:
        simulation: Simulated models.
        model: Number of the model that is the target.

    Returns:
        The view, and (records,) membership.

    Examples:
        >>> signals, member = gl.testing.target_of(gl.testing.gaussian_simulation(1.0, records=100, models=5))
        >>> signals.references, member.shape
        (4, (100,))
    """
    return simulation.facing(model), simulation.member[model]


def awkward_simulation(*, records: int = 60, models: int = 9, seed: int = 0, design=bernoulli) -> Rotation:
    """Simulate the difficult inputs of an attack.

    There are ties, saturated records, missing signals, and records that are members of all, none or one of the models.

    Args:
        records: Number of records; at least 8.
        models: Number of models.
        seed: Random seed.
        design: Function that draws membership; one of ``DESIGNS``, or a function like them.

    Returns:
        The simulated models.
    """
    simulation = gaussian_simulation(
        1.0, records=records, models=models, seed=seed, log_deviation_sd=0.5, design=design
    )
    rng = np.random.default_rng([seed, 1])
    margin = np.round(simulation.values["margin"], 1)
    margin[:, :5] = 30.0 + 0.1 * np.arange(5)  # All models agree, at a value without an exact float.
    margin[0, 3] = -2.0  # One model does not.
    values = signals_of_margin(margin)
    missing = np.less(rng.random(margin.shape), 0.05)
    values = {name: np.where(missing, np.nan, matrix) for name, matrix in values.items()}
    log_p = np.where(missing[..., None], np.nan, outputs_of_margin(margin, simulation.labels))
    member = simulation.member.copy()
    if simulation.together is None:
        member[:, 5], member[:, 6] = True, False
        member[:, 7] = np.arange(models) == 2  # If this model is the target, no reference has the record as a member.

    def evidence(model: int) -> Evidence:
        others = simulation.others(model)
        plain = simulation.evidence(model)
        white_box = plain.need("white_box")
        white_box = replace(
            white_box, features=values["margin"][model][:, None], member=member[model] & white_box.known
        )
        full_outputs = plain.with_part("full_outputs", FullOutputsView(log_p[others], member[others]))
        return full_outputs.with_part("white_box", white_box)

    return replace(simulation, values=values, member=member, evidence=evidence, outputs=lambda model: log_p[model])


def case_of(simulation: Rotation, names: Sequence[str] = DEFAULT_ATTACKS, population: int = 0, **changes) -> Case:
    """Return the case in which the first model of a simulation is the target.

    Args:
        simulation: Simulated models.
        names: Attacks to run.
        population: Number of last records that are a population: not evaluated.
        changes: Fields of the case to replace.

    Returns:
        The case, with the scores of its attacks.
    """
    records = len(simulation.labels)
    table = pd.DataFrame(
        {
            "id": [f"r{i}" for i in range(records)],
            "label": simulation.labels.astype(str),
            "class": simulation.labels,
            "group_half": np.where(np.arange(records) < records / 2, "first", "second"),
        }
    )
    case = Case(
        view=simulation.facing(0),
        truth=Truth(simulation.member[0].copy(), np.arange(records) < records - population),
        records=table,
        stand_ins=stand_in_targets(simulation) if len(simulation.member) > 2 else None,
        attacks={name: ATTACKS[name] for name in names},
        setting=Setting("a model", 2, "logits", fingerprints={"data": "d", "seed": "0"}),
    )
    return replace(case, **changes).scored()


def evaluate_case(case: Case) -> Results:
    """Run the attacks of a case and evaluate their scores.

    Args:
        case: Case to evaluate.

    Returns:
        The results.

    Examples:
        >>> gl.testing.evaluate_case(gl.testing.leaking_case()).headline.name
        'lira_bayes'
    """
    return evaluate(case, score(case.view, case.attacks))


def leaking_case(records: int = 400, models: int = 11, **changes) -> Case:
    """Return a case in which members' margins are 1.5 standard deviations larger.

    Args:
        records: Number of records.
        models: Number of models, the target included.
        changes: Options of :func:`case_of`, or fields of the case to replace.

    Returns:
        The case.
    """
    return case_of(gaussian_simulation(1.5, records=records, models=models, seed=1), **changes)


def small_model() -> tuple[Any, tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """Train a decision tree on 200 of 400 simulated records, for examples and quick tests.

    Returns:
        The fitted tree; its members and the non-members, each as ``(x, y)`` with 200 records and 20 features.

    Examples:
        >>> model, members, nonmembers = gl.testing.small_model()
        >>> members[0].shape, members[1].shape
        ((200, 20), (200,))
        >>> bool(model.score(*members) > model.score(*nonmembers))
        True
    """
    from sklearn.datasets import make_classification
    from sklearn.tree import DecisionTreeClassifier

    x, y = make_classification(400, flip_y=0.2, random_state=0)
    members, nonmembers = (x[:200], y[:200]), (x[200:], y[200:])
    return DecisionTreeClassifier(max_depth=4, random_state=0).fit(*members), members, nonmembers


def small_audit(*, folder: str | Path | None = None) -> Results:
    """Audit :func:`small_model` with 8 reference models and the attacks loss and LiRA, in about a second.

    Args:
        folder: Audit folder; by default a temporary one that is removed.

    Returns:
        The results of the audit.

    Examples:
        >>> results = gl.testing.small_audit()
        >>> [outcome.name for outcome in results.outcomes]
        ['loss', 'lira']
    """
    model, members, nonmembers = small_model()
    return audit(
        model,
        members,
        nonmembers,
        references=8,
        attacks=["loss", "lira"],
        baseline=False,
        folder=folder,
        jobs=1,
        progress=False,
    )


def interval_coverage(
    interval_and_truth: Callable[[np.random.Generator], tuple[Estimate, float]], *, simulations: int, seed: int = 0
) -> float:
    """Return the share of simulations in which the interval contains the truth.

    Args:
        interval_and_truth: Function from a random generator to an interval and the truth.
        simulations: Number of simulations.
        seed: Random seed.

    Returns:
        The share, in [0, 1].

    Examples:
        >>> def one(rng):
        ...     return gl.metrics.proportion(int(rng.binomial(50, 0.3)), 50), 0.3
        >>> gl.testing.interval_coverage(one, simulations=200) > 0.9
        True
    """
    covered = 0
    for number in range(simulations):
        interval, truth = interval_and_truth(np.random.default_rng([seed, number]))
        covered += interval.low - 1e-12 <= truth <= interval.high + 1e-12
    return covered / simulations


def auc_by_pairs(scores: Sequence[float] | np.ndarray, member: Sequence[bool] | np.ndarray) -> float:
    """Return the share of pairs of a member and a non-member in the right order, ties counted as 0.5.

    This is the slow and obvious version of :func:`guestlist.metrics.auc`. Records without a score are omitted.

    Args:
        scores: (records,) Higher means likelier member.
        member: (records,) True for members.

    Returns:
        The AUC; NaN without scored members or non-members.

    Examples:
        >>> gl.testing.auc_by_pairs([0.9, 0.4, 0.6], [True, True, False])
        0.5
    """
    pairs = [
        (inside, outside)
        for inside, is_member in zip(scores, member, strict=True)
        for outside, is_other in zip(scores, member, strict=True)
        if is_member and not is_other and not math.isnan(inside) and not math.isnan(outside)
    ]
    if not pairs:
        return math.nan
    return sum(1.0 if inside > outside else 0.5 if inside == outside else 0.0 for inside, outside in pairs) / len(pairs)
