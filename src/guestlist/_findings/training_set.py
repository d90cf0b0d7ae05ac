"""Diagnostics of the target: similarity to its references, and doubt about its training set."""

from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata, t

from guestlist._case import Case
from guestlist._findings import headline, tried
from guestlist._kernels import take_columns
from guestlist._views import Rotation
from guestlist.metrics import auc

FEWEST_MODELS = 4  # minimum number of references to estimate the variation between models
FEWEST_RECORDS = 20


@dataclass(frozen=True)
class ReferenceSimilarity:
    """Difference of the target from its references, on records that no compared model trained on.

    Args:
        margin_shift: mean rank difference: above 0 if the target's margins are larger than those of references.
        margin_slope: above 0 if the target is more confident on easy records and less confident on hard ones.
        margin_dispersion: difference in the mean squared deviation from the median rank.
        p_value: p-value of the hypothesis that the target was trained like its references.
        references: number of references in the comparison.
    """

    margin_shift: float
    margin_slope: float
    margin_dispersion: float
    p_value: float
    references: int


def find_reference_similarity(case: Case) -> ReferenceSimilarity | None:
    """Compare the target with its references; return None with too few references or non-members."""
    view = case.view
    # Models are compared on a sample if there are very many records.
    evaluated = np.flatnonzero(case.truth.evaluated)[tried(case)]
    member = case.truth.member[evaluated]
    if view.references < FEWEST_MODELS or (~member).sum() < FEWEST_RECORDS:
        return None
    margin = np.vstack([view.target("margin")[evaluated], view.reference("margin", evaluated)])
    return reference_similarity(margin, np.vstack([member, take_columns(view.reference_member, evaluated)]))


def reference_similarity(margin: np.ndarray, member: np.ndarray) -> ReferenceSimilarity | None:
    """Compare the first model with the others; both arguments are (models, records), NaN without an output."""
    rotation = Rotation({"margin": margin}, member, np.zeros(margin.shape[1], dtype=np.int64))
    outside = _as_many(~member & ~np.isnan(margin))
    others = rotation.outside("margin")
    with np.errstate(invalid="ignore"):
        # Mid-rank among the other models: -1/2 if all of them have larger margins, 1/2 if none has.
        rank = 0.5 - (rotation.share_above("margin") * others.count + 0.5) / (others.count + 1)
    outside &= others.count > 0
    if (outside.sum(axis=1) == 0).any():
        return None
    records = outside.sum(axis=1)
    rank = np.where(outside, rank, 0.0)
    # Rank from the hardest record to the easiest; excluded records come last.
    easy = (rankdata(np.where(outside, others.mean, np.inf), axis=1) - 0.5) / records[:, None] - 0.5
    surer = rank.sum(axis=1) / records
    steeper = (rank * easy).sum(axis=1) / records
    farther = np.square(rank).sum(axis=1) / records
    # A more confident model also deviates more from the median rank, so a few such models give the dispersion a long
    # upper tail, which Student's t does not have. Around a model's own mean the upper tail is short, but the lower tail
    # is long.
    doubts = (
        2 * min(_above(surer), _above(-surer)),
        2 * min(_above(steeper), _above(-steeper)),
        2 * min(_above(farther - np.square(surer)), _above(-farther)),
    )
    return ReferenceSimilarity(
        margin_shift=_away(surer),
        margin_slope=_away(steeper),
        margin_dispersion=_away(farther),
        p_value=min(1.0, len(doubts) * min(doubts)),  # Bonferroni correction over the three statistics
        references=len(records) - 1,
    )


def _as_many(outside: np.ndarray) -> np.ndarray:
    """Restrict each model to at most the number of records of the first: a mean over more records varies less."""
    n_first = int(outside[0].sum())
    chance = np.random.default_rng(0).random(outside.shape)
    order = np.argsort(np.where(outside, chance, np.inf), axis=1)
    chosen = np.zeros_like(outside)
    np.put_along_axis(chosen, order[:, :n_first], True, axis=1)
    return chosen & outside


def _away(values: np.ndarray) -> float:
    """Return the distance of the first value from the mean of the others."""
    return float(values[0] - values[1:].mean())


def _above(values: np.ndarray) -> float:
    """Return the probability of a first value as large, if it is exchangeable with the others: Student's t."""
    others = len(values) - 1
    deviation = values[1:].std(ddof=1) * np.sqrt(1 + 1 / others)
    if deviation == 0:
        return float(_away(values) <= 0)
    return float(t.sf(_away(values) / deviation, others - 1))


CODE = "GL129"
LEVEL = 0.01  # largest p-value of the AUC, for a model trained on its members, that raises a doubt
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
        p_value: Probability of an AUC at most this low for one more model trained like the reference models.
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


def find_training_set_doubt(case: Case) -> TrainingSetDoubt | None:
    """Compare the target's AUC with that of its reference models.

    Return None if there are too few reference models, or if they train on clearly fewer or more records than the target, which
    changes how much they leak.
    """
    recipe = case.of(headline.find).same_recipe
    if recipe is None or case.setting.drawn or other_size(case):
        return None
    member = case.truth.member_evaluated
    target_auc = auc(
        case.evaluated_scores[case.of(headline.find).name], member, clusters=case.persons, confidence=COMPATIBLE
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
    doubt = case.of(find_training_set_doubt)
    return doubt is not None and doubt.doubted and CODE not in case.ignore


def other_size(case: Case) -> bool:
    """Return whether the reference models train on clearly fewer or more records than the target."""
    return bool(abs(case.view.reference_member.sum(axis=1).mean() / case.truth.member.sum() - 1) >= OTHER_SIZE)
