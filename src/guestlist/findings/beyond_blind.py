"""By how much the headline attack tells members better than a classifier that never asks the model."""

from __future__ import annotations

from dataclasses import dataclass

from guestlist.case import Case
from guestlist.evaluate import Estimate, auc_beyond
from guestlist.findings import headline


@dataclass(frozen=True)
class BeyondBlind:
    """AUC of the headline attack minus that of the blind classifier, on the same records and pairs within a fold.

    The interval is DeLong's for pairs, by persons where they are known, and wider by what cross-fitting adds.
    """

    attack: str
    gain: Estimate
    members: int
    nonmembers: int


def find(case: Case) -> BeyondBlind | None:
    """None where nobody looked without the model, or what was said of each record was not kept."""
    if case.blind is None or case.unasked is None:
        return None
    name, asked = case.of(headline.find).name, case.truth.asked
    seen = case.unasked.seen[asked]
    member = case.truth.of_asked[seen]
    gain = auc_beyond(
        case.scores[name][asked][seen],
        case.unasked.score[asked][seen],
        member,
        case.unasked.fold[asked][seen],
        spread=case.blind.spread,
        persons=None if case.persons is None else case.persons[seen],
    )
    return BeyondBlind(name, gain, int(member.sum()), int((~member).sum()))
