"""Whether a claimed epsilon holds: what it allows any attack, and what the scores of this model prove."""

from __future__ import annotations

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


def judged(found: Epsilon) -> str:
    """What was proved, in words."""
    claim, bound = found.claimed, found.bound
    if bound is None:
        return f"Whether it holds was not tested: {REFUSED[found.refused or 'own split']}."
    proved, could = (
        _proved(found, bound),
        f"{_perfect(found, bound)} would have proved {decimal(bound.provable)}{_paid(found)}.",
    )
    if claim is None or found.allowed is None:
        return f"{proved} {could}"
    allows = f" It allows {told(found.allowed)} of one record in the place of another." if found.replaced else ""
    if found.contradicted:
        return f"No: the claim of {told(claim)} is contradicted.{allows} {proved}"
    if bound.provable <= found.allowed.epsilon:
        few = "runs" if found.runs else "records"
        return (
            f"The claim of {told(claim)} could not have been contradicted with so few {few}.{allows} {proved} {could}"
        )
    return (
        f"The claim of {told(claim)} is not contradicted, which does not show that it holds.{allows} {proved} {could}"
    )


def _proved(found: Epsilon, bound: EpsilonBound) -> str:
    whose = words.things(bound.members + bound.nonmembers, "run") if found.runs else found.attack
    about = " of one record in the place of another" if found.replaced else ""
    sure = f"with {percent(bound.confidence)} confidence, at δ = {bound.delta:.3g}"
    if bound.epsilon == 0:
        said = f"The scores of {whose} prove no ε{about} above 0, {sure}."
    else:
        said = f"The scores of {whose} prove that ε{about} is at least {decimal(bound.epsilon)}, {sure}."
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
