"""Whether a claimed epsilon holds: what it allows any attack, and what the scores of this model prove."""

from __future__ import annotations

from typing import NamedTuple

from guestlist.findings.epsilon import REFUSED, Epsilon
from guestlist.findings.results import Results
from guestlist.privacy import Claim, EpsilonBound
from guestlist.report import words
from guestlist.report.format import count, decimal, percent, tiny, with_interval
from guestlist.report.section import Section, filled

HOLDS = (
    "What it allows holds where members and non-members were drawn from one pool by chance. Where they are different kinds of "
    "people, an attack may tell them by that alone, and find more."
)


def section(results: Results) -> Section | None:
    found = results.epsilon
    if found is None or found.claimed is None:
        return None
    body = filled("epsilon.html", said=(judged(found), _allowed(results, found), HOLDS))
    return Section("epsilon", f"Does the claimed ε of {tiny(found.claimed.epsilon)} hold?", body)


class Verdict(NamedTuple):
    """How it is put what scores show: as a proof, or as a belief."""

    contradicted: str
    too_few: str
    kept: str
    nothing: str
    shown: str
    perfect: str


PROOF = Verdict(
    contradicted="No: the claim of {claim} is contradicted.",
    too_few="The claim of {claim} could not have been contradicted with so few {things}.",
    kept="The claim of {claim} is not contradicted, which does not show that it holds.",
    nothing="The scores of {whose} prove no ε{about} above 0, with {share} confidence, at δ = {delta:.3g}.",
    shown="The scores of {whose} prove that ε{about} is at least {epsilon}, with {share} confidence, at δ = {delta:.3g}.",
    perfect="{scores} would have proved {epsilon}{paid}.",
)
BELIEF = Verdict(
    contradicted="The claim of {claim} is hardly to be believed.",
    too_few="The claim of {claim} could still be believed whatever the scores of so few {things}.",
    kept="The claim of {claim} can still be believed, which does not show that it holds.",
    nothing="After the scores of {whose} it can still be believed that ε{about} is 0, at δ = {delta:.3g}.",
    shown="After the scores of {whose} the belief that ε{about} is at least {epsilon}, at δ = {delta:.3g}, has a probability of "
    "{share}. That is a credible bound, from Jeffreys' prior, and no proof: it is not promised that no more than one audit in "
    "so many is wrong.",
    perfect="After {scores} the same would be believed of {epsilon}{paid}.",
)


def judged(found: Epsilon) -> str:
    """What was proved, or is believed, in words."""
    claim, bound, put = found.claimed, found.bound, BELIEF if found.believed else PROOF
    if bound is None:
        return f"Whether it holds was not tested: {REFUSED[found.refused or 'own split']}."
    scores = _perfect(found, bound)
    scores = scores[0].lower() + scores[1:] if found.believed else scores
    could = put.perfect.format(scores=scores, epsilon=decimal(bound.provable), paid=_paid(found))
    shown = _shown(found, bound, put)
    if claim is None or found.allowed is None:
        return f"{shown} {could}"
    allows = f" It allows {told(found.allowed)} of one record in the place of another." if found.replaced else ""
    if found.contradicted:
        return f"{put.contradicted.format(claim=told(claim))}{allows} {shown}"
    so_few = bound.provable <= found.allowed.epsilon
    said = (put.too_few if so_few else put.kept).format(claim=told(claim), things="runs" if found.runs else "records")
    return f"{said}{allows} {shown} {could}"


def _shown(found: Epsilon, bound: EpsilonBound, put: Verdict) -> str:
    said = (put.shown if bound.epsilon else put.nothing).format(
        whose=words.things(bound.members + bound.nonmembers, "run") if found.runs else found.attack,
        about=" of one record in the place of another" if found.replaced else "",
        epsilon=decimal(bound.epsilon),
        share=percent(bound.confidence),
        delta=bound.delta,
    )
    if found.gaussian:
        said += " That is about Gaussian noise: a mechanism of another kind may do as well with a smaller one."
    return said


def _perfect(found: Epsilon, bound: EpsilonBound) -> str:
    if found.runs:
        return f"Perfect scores of so many runs, {count(bound.members)} with the record and {count(bound.nonmembers)} without,"
    sides = f"{words.things(bound.members, 'member')} and {words.things(bound.nonmembers, 'non-member')}"
    return f"Perfect scores of these {sides}"


def told(claim: Claim) -> str:
    return f"ε = {tiny(claim.epsilon)} at δ = {claim.delta:.3g}"


def _paid(found: Epsilon) -> str:
    return "; coins for every record, gl.Bernoulli(0.5), would prove more" if found.fixed_size else ""


def _allowed(results: Results, found: Epsilon) -> str:
    """What the claim allows, beside what the headline reaches."""
    if found.advantage is None or found.claimed is None:
        return ""
    allowed = f"Under {told(found.claimed)} no attack has an advantage above {decimal(found.advantage)} on average"
    attack = words.headline(results)
    if attack is None:
        return f"{allowed}."
    return f"{allowed}; {attack.name} has {with_interval(attack.advantage)} on these records."
