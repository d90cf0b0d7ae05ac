"""Doubt that the given members are the training set of the model.

Reference models train on random halves of the same records. Their AUCs, with each reference model as a stand-in target, show
what the attack reaches on a model that did train on its members. A model that trained on other people has an AUC near 0.5
instead, far below that of its reference models. Without this check such a model would be called less leaky than expected.

A low AUC is not enough: one model in a hundred is that low by chance, and a model that was trained on its members may leak
less than its reference models. The check therefore asks for all three: the AUC is below the prediction interval, it is
compatible with 0.5, and the reference models are clearly above 0.5. Reference models that hardly leak raise no doubt.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from guestlist.case import Case
from guestlist.evaluate import auc
from guestlist.findings import headline

CODE = "GL129"
LEVEL = 0.01  # probability of so low an AUC for a model that did train on its members
GUESSING = 0.5
COMPATIBLE = 0.99  # confidence level at which the interval of the AUC includes 0.5; 95% would miss 1 in 40 such models
OTHER_SIZE = 0.1  # relative difference of the training sets' sizes from which models are not compared


@dataclass(frozen=True)
class TrainingSetDoubt:
    """The headline attack on this model, compared with its reference models as stand-in targets.

    Attributes:
        auc: AUC on this model.
        low: Lower end of the 99% confidence interval of that AUC.
        high: Upper end of it.
        expected: Mean AUC on the reference models.
        expected_low: Lower end of the 95% confidence interval of that mean.
        p_value: Probability of so low an AUC for one more model that is trained like the reference models.
        references: Number of reference models.
    """

    auc: float
    low: float
    high: float
    expected: float
    expected_low: float
    p_value: float
    references: int

    @property
    def doubted(self) -> bool:
        """True if these records may not be the training set of this model."""
        return self.p_value <= LEVEL and self.low <= GUESSING < self.expected_low


def find(case: Case) -> TrainingSetDoubt | None:
    """Compare the target's AUC with that of its reference models.

    Return None if there are too few reference models, or if they train on clearly fewer or more records than the target, which
    changes how much they leak.
    """
    recipe = case.of(headline.find).same_recipe
    if recipe is None or case.setting.drawn or other_size(case):
        return None
    member = case.truth.member_evaluated
    target_auc = auc(
        case.asked_scores[case.of(headline.find).name], member, clusters=case.persons, confidence=COMPATIBLE
    )
    if np.isnan(target_auc.value):
        return None
    return TrainingSetDoubt(
        auc=target_auc.value,
        low=target_auc.low,
        high=target_auc.high,
        expected=recipe.auc.value,
        expected_low=recipe.auc.low,
        p_value=recipe.chance_below(target_auc.value, records=int(member.sum())),
        references=len(recipe.aucs),
    )


def doubted(case: Case) -> bool:
    """Return whether these records may not be the training set, unless the user ignores the check."""
    doubt = case.of(find)
    return doubt is not None and doubt.doubted and CODE not in case.ignore


def other_size(case: Case) -> bool:
    """Return whether the reference models train on clearly fewer or more records than the target."""
    mean = float(case.view.reference_member.sum(axis=1).mean())
    return abs(mean / int(case.truth.member.sum()) - 1) >= OTHER_SIZE
