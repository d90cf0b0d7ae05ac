"""The headline attack, and whether its result is due to this model or to the training recipe.

The headline is never the attack that did best on the target. With enough references it is the attack that did best on *them*,
each in turn as a stand-in target; with fewer, one that was fixed beforehand. It is never one that knows the truth.

There are two rows. The headline is for someone who can query the model. Attacks on evidence that takes the model file, such as
the leaves of trees, have a separate row, chosen in the same way among themselves.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import stdtr, stdtrit

from guestlist._case import Case
from guestlist._collect import MIN_STAND_INS
from guestlist._findings.selection import (
    Choice,
    choose,
    evaluated_in_sample,
    sample,
    sampled_stand_ins,
    scores_part_by_part,
    tried,
)
from guestlist._kernels import aucs, optional_take
from guestlist.attacks import Attack
from guestlist.errors import InputError
from guestlist.evidence import MODEL_FILE, QUERIES, Access, access_of
from guestlist.metrics import Estimate, pooled_auc

# Fixed before the audit where there are too few references to choose on: the first of these that was run. From 2 references
# on lira_bayes has the largest mean TPR at 1 % FPR over six datasets for each of four types of model. With one reference base
# is closest to the best attack on average (benchmarks/attacks/strength.json).
PREFERRED = ("lira_bayes", "base", "loss")
FIXED = "fixed"


@dataclass(frozen=True)
class SameRecipe:
    """Models trained by the same recipe on other halves of these records.

    The rank of the target among them is too coarse to call it unusual: one model in 33 is the first of 33.
    ``prediction_interval`` is finer. It compares with other members *and* other seeds. Models with the target's members and
    other seeds are not among them, so it does not predict the effect of training again on the same members
    (``benchmarks/honesty/typical.py``).

    ``auc`` is the mean over models, with the interval for a fresh model on fresh records; ``share_larger`` the share
    of them with a larger AUC than the target's, equals counting one half. ``attacks`` are the attacks that were run, one for
    each model: chosen on models of the other half, as the headline was chosen on models other than the target.
    """

    auc: Estimate
    aucs: tuple[float, ...]
    share_larger: float
    attacks: tuple[str, ...] = ()

    @property
    def prediction_interval(self) -> Estimate | None:
        """Mean AUC of these models with a 95% prediction interval for one more of them.

        Student's prediction interval on the arcsine scale, on which AUCs near 1 vary as much as others. Models that share
        records resemble each other; the interval holds all the same, because the target shares as many with each of them.
        None with fewer than three models, or if they do not differ.
        """
        if len(self.aucs) < 3 or not np.ptp(self.aucs) > 0:
            return None
        mean, deviation, dof = self._angles()
        half = stdtrit(dof, 0.975) * deviation
        low, high = np.sin(np.clip(mean + np.array([-half, half]), 0, np.pi / 2)) ** 2
        return Estimate(float(np.mean(self.aucs)), float(low), float(high))

    def chance_below(self, auc: float, *, records: int) -> float:
        """Probability that one more of these models has an AUC of at most ``auc``, by the same prediction interval.

        Args:
            auc: AUC on the target.
            records: Number of members. If these models do not differ, their standard deviation is taken to be that of a share
                of this number.
        """
        mean, deviation, dof = self._angles()
        if not deviation > 0:
            deviation = 0.5 / np.sqrt(records)
        return float(stdtr(dof, (np.arcsin(np.sqrt(auc)) - mean) / deviation))

    def _angles(self) -> tuple[float, float, int]:
        """Mean AUC on the arcsine scale, standard deviation of one more AUC around it, and degrees of freedom."""
        angles = np.arcsin(np.sqrt(self.aucs))
        models = len(angles)
        return float(angles.mean()), float(angles.std(ddof=1) * np.sqrt(1 + 1 / models)), models - 1


@dataclass(frozen=True)
class Headline:
    """The attack that the answer rests on, for one of the two attackers.

    Attributes:
        name: Name of the attack.
        measure: Metric that was compared on stand-in targets, ``tpr@0.01`` or ``auc``; ``fixed`` if the attack was fixed
            before the audit.
        stand_ins: Number of stand-in targets.
        same_recipe: Results on the stand-in targets, if the attack was chosen on some.
    """

    name: str
    measure: str
    stand_ins: int
    same_recipe: SameRecipe | None


def find(case: Case) -> Headline:
    """Choose the attack that does best on stand-in targets; with too few, one that was fixed before the audit."""
    choice = case.of(chosen)
    if choice is None:
        return _fixed(_candidates(case))
    stand_ins = case.of(sampled_stand_ins)
    assert stand_ins is not None  # there was something to choose on
    sampled = tried(case)
    recipe = same_recipe(
        choice.crossed,
        stand_ins.member[:, evaluated_in_sample(case)],
        case.scores[choice.name][case.truth.evaluated][sampled],
        case.truth.member_evaluated[sampled],
        optional_take(case.persons, sampled),
    )
    return Headline(choice.name, choice.measure, choice.stand_ins, replace(recipe, attacks=choice.crossed_names))


def find_file_holder(case: Case) -> Headline | None:
    """Choose an attack for someone who holds the model file; None if no attack takes it, or no other was run."""
    attacks = {name: attack for name, attack in _of_access(case, MODEL_FILE).items() if name not in _candidates(case)}
    if not attacks:
        return None
    choice = None
    if all(attack.on_stand_ins for attack in attacks.values()):
        choice = _choose(case, attacks)
    if choice is None:
        return Headline(next(iter(attacks)), FIXED, 0, None)
    return Headline(choice.name, choice.measure, choice.stand_ins, None)


def headline_rows(case: Case) -> tuple[str, ...]:
    """Return the attacks of the headline rows: the headline, and that of the file holder if there is one."""
    first = case.of(find).name
    second = case.of(find_file_holder)
    if second is None:
        return (first,)
    return (first, second.name)


def chosen(case: Case) -> Choice | None:
    """Return the choice on stand-in targets; None with too few, or if no attack can be tried on them."""
    return _choose(case, _candidates(case))


def _choose(case: Case, attacks: Mapping[str, Attack]) -> Choice | None:
    stand_ins = case.of(sampled_stand_ins)
    if stand_ins is None or len(stand_ins.member) < MIN_STAND_INS:
        return None
    try:
        return choose(stand_ins, attacks, evaluated_in_sample(case))
    except InputError:  # none of them can be tried on stand-in targets
        return None


def stand_in_scores(case: Case) -> np.ndarray | None:
    """(stand-in targets, evaluated records) scores of the headline; None if it was not tried on any."""
    choice = case.of(chosen)
    if choice is None:
        return None
    if case.of(sample) is None:
        return choice.scores
    return scores_part_by_part(case, case.attacks[choice.name])


def same_recipe(
    scores: np.ndarray,
    member: np.ndarray,
    target_scores: np.ndarray,
    target_member: np.ndarray,
    persons: np.ndarray | None = None,
) -> SameRecipe:
    """Compare the target with models of the same recipe.

    Stand-in targets have one reference fewer than the target, since the target is not a reference of theirs.

    Args:
        scores: (models, records) scores of stand-in targets.
        member: (models, records) true for their members.
        target_scores: (records,) scores of the target.
        target_member: (records,) true for its members.
        persons: (records,) person of each record.
    """
    model_aucs = aucs(scores, member)
    target_auc = float(aucs(target_scores[None], target_member[None])[0])
    larger = float((model_aucs > target_auc).sum() + 0.5 * (model_aucs == target_auc).sum())
    return SameRecipe(
        auc=pooled_auc(scores, member, clusters=persons),
        aucs=tuple(map(float, model_aucs)),
        share_larger=larger / len(model_aucs),
    )


def _candidates(case: Case) -> dict[str, Attack]:
    """Return the attacks by queries; if there are none, those that take the model file."""
    return _of_access(case, QUERIES) or _of_access(case, MODEL_FILE)


def _of_access(case: Case, access: Access) -> dict[str, Attack]:
    return {
        name: attack
        for name, attack in case.attacks.items()
        if not attack.oracle and access_of(attack.evidence) == access
    }


def _fixed(attacks: Mapping[str, Attack]) -> Headline:
    """Take the first preferred attack; else the first that could have been chosen, or the first."""
    able = [name for name, attack in attacks.items() if attack.on_stand_ins]
    name = next((name for name in (*PREFERRED, *able) if name in attacks), next(iter(attacks)))
    return Headline(name, FIXED, 0, None)
