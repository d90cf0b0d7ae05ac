"""Is the target like its references? What it says about non-members, against models that did not train on them either.

Attacks that compare with references take them for models like the target. Whether they are can be seen on non-members: there
the target is one more model that did not train on the record. How it stands among those models, over all non-members, is
compared with how each reference stands on the non-members that it did not train on, with the target as one of the others. If
all are trained alike they are exchangeable, and what models have in common with themselves over many records (a lucky seed, a
few records more) is part of the spread between models that the target is held against.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata, t

from guestlist.arrays.columns import take_columns
from guestlist.case import Case
from guestlist.findings.sampling import tried
from guestlist.views.signals import Rotation

FEWEST_MODELS = 4  # references without which a spread between models is not known
FEWEST_RECORDS = 20


@dataclass(frozen=True)
class Likeness:
    """The target among its references, on records that none of them trained on: how it differs from a reference.

    Args:
        margin_shift: its margin is larger than those of others, in shares of models.
        margin_slope: it is surer of easy records and less sure of hard ones.
        margin_dispersion: it is away from the middle of them, to either side; mean square.
        p_value: of the hypothesis that the target is trained as they are.
        references: how many the target was compared with.
    """

    margin_shift: float
    margin_slope: float
    margin_dispersion: float
    p_value: float
    references: int


def find(case: Case) -> Likeness | None:
    """Compare the target with its references; return None with too few references or non-members."""
    view = case.view
    # Of very many records, those at which models are compared.
    asked = np.flatnonzero(case.truth.evaluated)[tried(case)]
    member = case.truth.member[asked]
    if view.references < FEWEST_MODELS or (~member).sum() < FEWEST_RECORDS:
        return None
    margin = np.vstack([view.target("margin")[asked], view.reference("margin", asked)])
    return likeness(margin, np.vstack([member, take_columns(view.reference_member, asked)]))


def likeness(margin: np.ndarray, member: np.ndarray) -> Likeness | None:
    """Compare the first model with the others; both arguments are (models, records), NaN without an output."""
    rotation = Rotation({"margin": margin}, member, np.zeros(margin.shape[1], dtype=np.int64))
    outside = _as_many(~member & ~np.isnan(margin))
    others = rotation.outside("margin")
    with np.errstate(invalid="ignore"):
        # Among the others: from -1/2 where all have larger margins to 1/2, each at the middle of its place.
        rank = 0.5 - (rotation.share_above("margin") * others.count + 0.5) / (others.count + 1)
    outside &= others.count > 0
    if (outside.sum(axis=1) == 0).any():
        return None
    records = outside.sum(axis=1)
    rank = np.where(outside, rank, 0.0)
    # From the hardest record to the easiest; those that do not count stand last.
    easy = (rankdata(np.where(outside, others.mean, np.inf), axis=1) - 0.5) / records[:, None] - 0.5
    surer = rank.sum(axis=1) / records
    steeper = (rank * easy).sum(axis=1) / records
    farther = np.square(rank).sum(axis=1) / records
    # A model that is surer than others is farther from their middle for that reason alone, so a few lucky models give the
    # distance a long upper tail, which Student's t does not have. Around a model's own mean it has none; but a long lower one.
    doubts = (
        2 * min(_above(surer), _above(-surer)),
        2 * min(_above(steeper), _above(-steeper)),
        2 * min(_above(farther - np.square(surer)), _above(-farther)),
    )
    return Likeness(
        margin_shift=_away(surer),
        margin_slope=_away(steeper),
        margin_dispersion=_away(farther),
        p_value=min(1.0, len(doubts) * min(doubts)),  # each way to be unlike has its part of the level
        references=len(records) - 1,
    )


def _as_many(outside: np.ndarray) -> np.ndarray:
    """The same for no more records than the first model has: a mean over more of them would be less in doubt."""
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
    """Chance that the first is as large, if it is one more draw of the others: Student's t for a new value."""
    others = len(values) - 1
    deviation = values[1:].std(ddof=1) * np.sqrt(1 + 1 / others)
    if deviation == 0:
        return float(_away(values) <= 0)
    return float(t.sf(_away(values) / deviation, others - 1))
