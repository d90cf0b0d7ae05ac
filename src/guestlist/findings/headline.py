"""Which attack the answer rests on, and whether it is this model or its recipe.

The headline is never the attack that did best on the target: with enough references it is the one that did best on
*them*, each in turn as a mock target; with fewer, one that was fixed beforehand. It is never one that knows the truth.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from guestlist.arrays.ranks import aucs
from guestlist.attacks import Attack
from guestlist.case import Case
from guestlist.collecting.until import FEWEST_MOCKS
from guestlist.errors import InputError
from guestlist.evaluate import Estimate, pooled_auc
from guestlist.findings.choosing import choose

# Fixed beforehand, best first.
PREFERRED = ("lira_bayes", "loss")
FIXED = "fixed"


@dataclass(frozen=True)
class SameRecipe:
    """The headline attack on other models of the same recipe: is this model unlucky, or is it the recipe?

    ``auc`` is the mean over models, with the interval for a fresh model on fresh records; ``share_larger`` the share
    of them with a larger AUC than the target's, equals counting one half.
    """

    auc: Estimate
    aucs: tuple[float, ...]
    share_larger: float


@dataclass(frozen=True)
class Headline:
    """The attack that the answer rests on.

    ``measure`` is what was compared on ``mocks`` mock targets, ``tpr@0.01`` or ``auc``; ``fixed`` where the attack was fixed
    before the audit. ``same_recipe`` is how it does on the mock targets, where it was chosen on some.
    """

    name: str
    measure: str
    mocks: int
    same_recipe: SameRecipe | None


def find(case: Case) -> Headline:
    """The attack that does best on mock targets; where there are too few, one that was fixed before the audit."""
    attacks = {name: attack for name, attack in case.attacks.items() if not attack.oracle}
    mocks, asked = case.mocks, case.truth.asked
    if mocks is None or len(mocks.member) < FEWEST_MOCKS:
        return _fixed(attacks)
    try:
        choice = choose(mocks, attacks, asked)
    except InputError:  # none of them can be tried on mock targets
        return _fixed(attacks)
    own = case.scores[choice.name][asked]
    place = same_recipe(choice.scores, mocks.member[:, asked], own, case.truth.of_asked)
    return Headline(choice.name, choice.measure, choice.mocks, place)


def same_recipe(scores: np.ndarray, member: np.ndarray, own: np.ndarray, own_member: np.ndarray) -> SameRecipe:
    """Where the target stands among models of the same recipe.

    Mock targets have one reference fewer than the target, since the target is not a reference of theirs.

    Args:
        scores, member: (models, records) of mock targets.
        own, own_member: (records,) of the target.
    """
    found, auc = aucs(scores, member), float(aucs(own[None], own_member[None])[0])
    larger = float((found > auc).sum() + 0.5 * (found == auc).sum())
    return SameRecipe(pooled_auc(scores, member), tuple(map(float, found)), larger / len(found))


def _fixed(attacks: Mapping[str, Attack]) -> Headline:
    """The first that is preferred; else the first that could have been chosen, or the first."""
    able = [name for name, attack in attacks.items() if attack.on_mocks]
    name = next((name for name in (*PREFERRED, *able) if name in attacks), next(iter(attacks)))
    return Headline(name, FIXED, 0, None)
