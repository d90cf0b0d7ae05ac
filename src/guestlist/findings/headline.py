"""Which attack the answer rests on, and whether it is this model or its recipe.

The headline is never the attack that did best on the target: with enough references it is the one that did best on
*them*, each in turn as a mock target; with fewer, one that was fixed beforehand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from guestlist.attacks import Attack, scores_of_all
from guestlist.errors import InputError
from guestlist.evaluate import pooled_auc
from guestlist.findings.choosing import choose, mock_targets, standing
from guestlist.findings.results import Recipe
from guestlist.views.signals import Rotation

# With fewer references than this, mock targets have too few of their own to tell attacks apart.
FEWEST_MOCKS = 8
# Fixed beforehand, best first.
PREFERRED = ("lira_bayes", "loss")
MEASURES = {"auc": "AUC", "tpr@0.01": "TPR at 1 % FPR"}


@dataclass(frozen=True)
class Headline:
    """The attack's name, how it came to be the headline, and how it does on other models of the recipe."""

    name: str
    how: str
    recipe: Recipe | None


def choose_headline(rotation: Rotation, attacks: Mapping[str, Attack], asked: np.ndarray) -> Headline:
    """The attack that does best on mock targets; where there are too few, one that was fixed before the audit.

    It is never one that knows the truth.
    """
    attacks = {name: attack for name, attack in attacks.items() if not attack.oracle}
    references = len(rotation.member) - 1
    if references < FEWEST_MOCKS:
        return _fixed(attacks)
    try:
        choice = choose(rotation, attacks, asked)
    except InputError:  # none of them can be tried on mock targets
        return _fixed(attacks)
    how = f"chosen by its {MEASURES[choice.measure]} on the {choice.mocks} references, each in turn as a mock target"
    return Headline(choice.name, how, recipe_of(rotation, choice.name, attacks, asked))


def _fixed(attacks: Mapping[str, Attack]) -> Headline:
    """The first that is preferred; else the first that could have been chosen, or the first."""
    able = [name for name, attack in attacks.items() if attack.on_mocks]
    name = next((name for name in (*PREFERRED, *able) if name in attacks), next(iter(attacks)))
    return Headline(name, "fixed before the audit", None)


def recipe_of(rotation: Rotation, name: str, attacks: Mapping[str, Attack], asked: np.ndarray) -> Recipe:
    """How an attack does on the references as mock targets, and where the target stands among them."""
    mocks, place = mock_targets(rotation), standing(rotation, name, asked, attacks)
    scores = scores_of_all(attacks[name], mocks)[:, asked]
    return Recipe(pooled_auc(scores, mocks.member[:, asked]), place.mocks, place.share_larger)
