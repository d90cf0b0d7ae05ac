"""Selection of the attack on stand-in targets.

Taking the best of many attacks on the target itself reports the luckiest one. The references can be attacked too, and
there the truth is known: each takes its turn as a mock target, the attack that does best on them is chosen, and it is
then reported once, on the real target.

The target takes no part in the choice, not even as a reference of the mock targets: everything here is computed
from the references alone (rows 1 and up), so what is reported about the target stays as if the attack had been
fixed beforehand.

What is reported about the mock targets themselves must not be the luckiest attack either. So they are halved: the attack
that does best on one half, with no reference from outside it, is reported on the other, and the other way round. (If mock
targets of one half had references in the other, an attack that learns from references would do well on both by the same luck:
in 900 worlds where nothing leaks, AUCs of .503 on average and intervals above .5 in 4.1 %.)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from guestlist.arrays.columns import take_columns
from guestlist.arrays.ranks import aucs
from guestlist.attacks import ATTACKS, Attack, score_every_target
from guestlist.errors import InputError, NotCollectedError
from guestlist.evaluate import Resolution, resolution, threshold_at_fpr
from guestlist.views.signals import Rotation

FPR = 0.01
AT_RATE = f"tpr@{FPR:g}"
TARGET = 0
ENOUGH = 1000  # records on which halves of the mock targets are tried, where there are more


@dataclass(frozen=True)
class Choice:
    """The attack that does best on mock targets.

    Args:
        name: of the attack.
        measure: what was compared: ``tpr@0.01``, or ``auc`` where the records cannot resolve that rate.
        means: attack to its mean over mock targets, best first.
        stand_ins: how many stand-in targets there were.
        scores: (mock targets, asked records) of the chosen attack.
        crossed: (mock targets, asked records) of the attack that was chosen on the half to which a mock target does not
            belong.
        crossed_names: (mock targets,) which attack that is.
    """

    name: str
    measure: str
    means: Mapping[str, float]
    stand_ins: int
    scores: np.ndarray = field(compare=False, repr=False)
    crossed: np.ndarray = field(compare=False, repr=False)
    crossed_names: tuple[str, ...]


def choose(mocks: Rotation, attacks: Mapping[str, Attack] = ATTACKS, asked: np.ndarray | None = None) -> Choice:
    """The attack with the largest mean TPR at 1 % FPR over mock targets; the first in ``attacks`` among equals.

    The AUC decides where fewer than ten non-members are expected beyond that rate, on the mock target that has
    fewest. A record without a score counts as the least likely member: an attack must not win by leaving out
    what is hard.

    Args:
        mocks: the references alone, each in turn as a target of the others.
        attacks: name to attack; those that need more references than a mock target has are passed over.
        asked: (records,) true for the records that count; by default all.
    """
    asked = np.ones(len(mocks.labels), dtype=bool) if asked is None else asked
    second = halves(mocks.blocks)
    measure = _measure(mocks, asked)
    # Any rule that looks at one half alone may choose for the other. An attack that learns takes seconds for every model;
    # and of many records some will do.
    quick = {name: attack for name, attack in attacks.items() if not attack.learns}
    subset = some_of(len(asked))
    fewer, asked_of_fewer = (mocks, asked) if subset is None else (mocks.take_records(subset), asked[subset])
    on_first, on_second = (
        _tried(fewer.take(np.flatnonzero(half)), quick, asked_of_fewer, measure) for half in (~second, second)
    )
    trial = _tried(mocks, attacks, asked, measure, keep=(on_first.best, on_second.best))
    if not trial.means:
        raise InputError(f"None of the attacks can be chosen with {len(mocks.member)} references; give more of them.")
    # Where a half is too small to try any attack on, the first one serves: it, too, was not chosen by its luck.
    fixed = next(iter(trial.means))
    first, late = (half.best if half.best in trial.means else fixed for half in (on_first, on_second))
    ranked = dict(sorted(trial.means.items(), key=lambda item: -item[1]))  # stable: the first among equals stays first
    return Choice(
        name=trial.best,
        measure=measure,
        means=ranked,
        stand_ins=len(mocks.member),
        scores=trial.scores[trial.best],
        crossed=np.where(second[:, None], trial.scores[first], trial.scores[late]),
        crossed_names=tuple(first if in_second else late for in_second in second),
    )


def halves(blocks: np.ndarray) -> np.ndarray:
    """(models,) true for those of the second half; models that are left out together stay together."""
    return np.unique(blocks, return_inverse=True)[1] % 2 == 1


def some_of(records: int) -> np.ndarray | None:
    """Half of the records, drawn at random; None, where there are too few for that."""
    if records < 2 * ENOUGH:
        return None
    return np.sort(np.random.default_rng(0).permutation(records)[: records // 2])


def _measure(mocks: Rotation, asked: np.ndarray) -> str:
    """What is compared: a rate, where the mock target with the fewest non-members can resolve it."""
    fewest = int((~take_columns(mocks.member, asked)).sum(axis=1).min(initial=asked.sum()))
    return AT_RATE if resolution(FPR, fewest) is Resolution.GOOD else "auc"


@dataclass(frozen=True)
class _Trial:
    """Attack to its mean over mock targets; the best one; the scores of that, of the first and of those that were to be kept."""

    means: Mapping[str, float]
    best: str
    scores: Mapping[str, np.ndarray]


def _tried(
    mocks: Rotation, attacks: Mapping[str, Attack], asked: np.ndarray, measure: str, keep: tuple[str, ...] = ()
) -> _Trial:
    """Every attack that can on every mock target."""
    member = take_columns(mocks.member, asked)
    mean = mean_tpr if measure == AT_RATE else mean_auc
    references = len(mocks.others(0)) if len(member) else 0
    means: dict[str, float] = {}
    kept_scores: dict[str, np.ndarray] = {}
    best = ""
    for name, attack in attacks.items() if references else ():
        if _can(attack, mocks, references):
            scores = take_columns(score_every_target(attack, mocks), asked)
            means[name] = mean(scores, member)
            best = name if not best or means[name] > means[best] else best
            wanted = (next(iter(means)), best, *keep)  # the others' are let go: there may be many attacks
            kept_scores = {
                kept_name: values for kept_name, values in {**kept_scores, name: scores}.items() if kept_name in wanted
            }
    return _Trial(means, best, kept_scores)


def _can(attack: Attack, mocks: Rotation, references: int) -> bool:
    has_evidence = not attack.evidence or mocks.evidence(0).get(attack.evidence) is not None
    eligible = attack.references <= references and attack.on_stand_ins and not attack.oracle and has_evidence
    return eligible and (not attack.custom or _runs(attack, mocks))


def _runs(attack: Attack, mocks: Rotation) -> bool:
    """Whether a user's own attack does without evidence, which mock targets do not have."""
    try:
        attack.score(mocks.facing(0))
    except NotCollectedError:
        return False
    return True


def stand_in_targets(rotation: Rotation) -> Rotation:
    """The references alone, each in turn as a target of the others."""
    models = np.flatnonzero(np.arange(len(rotation.member)) != TARGET)
    if len(models) < 2:
        raise InputError(f"Mock targets are references of each other, so at least 2 are needed; found {len(models)}.")
    return rotation.take(models)


def mean_auc(scores: np.ndarray, member: np.ndarray) -> float:
    """Mean AUC over targets; a record without a score counts as the least likely member."""
    return float(aucs(np.where(np.isnan(scores), -np.inf, scores), member).mean())


def mean_tpr(scores: np.ndarray, member: np.ndarray, fpr: float = FPR) -> float:
    """Mean TPR at ``fpr`` over targets; a record without a score is never called."""
    scores = np.where(np.isnan(scores), -np.inf, scores)
    rates = [
        (row[truth] >= threshold_at_fpr(row[~truth], fpr)).mean() for row, truth in zip(scores, member, strict=True)
    ]
    return float(np.mean(rates))
