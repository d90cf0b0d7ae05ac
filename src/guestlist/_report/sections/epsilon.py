"""Claimed epsilon: what it allows any attack, and what the scores of this model show."""

from typing import NamedTuple

from guestlist._findings import REFUSED, Epsilon, Results
from guestlist._report import Section, fill_template, wording
from guestlist._util import compact, count, decimal, percent, with_interval
from guestlist.privacy import Claim, EpsilonBound

EXCHANGEABLE = (
    "This bound applies if members and non-members were drawn from one pool at random. If they differ in other ways, an attack "
    "may separate them by that difference and exceed the bound."
)
NOT_EXCHANGEABLE = (
    "This bound does not apply in this game, which draws members and non-members from different sources. An attack may separate "
    "them by that difference and exceed the bound, although the claim holds."
)


def section(results: Results) -> Section | None:
    """Render the test of a claimed epsilon; None where none is claimed."""
    result = results.epsilon
    if result is None or result.claimed is None:
        return None
    body = fill_template("epsilon.html", sentences=claim_sentences(results))
    return Section("epsilon", f"Does the claimed ε of {compact(result.claimed.epsilon)} hold?", body)


def claim_sentences(results: Results) -> tuple[str, ...]:
    """Report whether a claim holds, what it allows and when that binds attacks; empty without a claim."""
    result = results.epsilon
    if result is None or result.claimed is None:
        return ()
    return (
        epsilon_verdict(result),
        _allowed_advantage(results, result),
        NOT_EXCHANGEABLE if result.not_exchangeable else EXCHANGEABLE,
    )


class BoundTexts(NamedTuple):
    """Texts of a lower bound on epsilon: as a proof or as a credible bound."""

    contradicted: str
    too_few: str
    not_contradicted: str
    no_bound: str
    bound: str
    perfect: str
    other_noise: str


PROOF = BoundTexts(
    contradicted="No: the claim of {claim} is contradicted.",
    too_few="The claim of {claim} could not be tested: with this few {things}, even perfect scores cannot contradict it.",
    not_contradicted="The claim of {claim} is not contradicted, which does not show that it holds.",
    no_bound="With {share} confidence, the scores of {whose} prove no ε above 0{adjacency}, at δ = {delta:.3g}.",
    bound="With {share} confidence, the scores of {whose} prove that ε is at least {epsilon}{adjacency}, at δ = {delta:.3g}.",
    perfect="{scores} would have proved {epsilon}{advice}.",
    other_noise="The bound assumes Gaussian noise. The claim of {claim} does not, so it is not contradicted.",
)
BELIEF = BoundTexts(
    contradicted="The claim of {claim} is not credible.",
    too_few="The claim of {claim} could not be tested: with this few {things}, it stays credible even after perfect scores.",
    not_contradicted="The claim of {claim} is still credible, which does not show that it holds.",
    no_bound="Given the scores of {whose}, ε = 0 is still credible{adjacency}, at δ = {delta:.3g}.",
    bound="Given the scores of {whose}, ε is at least {epsilon}{adjacency} with a posterior probability of {share}, at "
    "δ = {delta:.3g}. This is a credible bound from Jeffreys' prior, not a proof: its error rate over audits is not guaranteed.",
    perfect="{scores} would have given {epsilon}{advice}.",
    other_noise="",  # a credible bound assumes no kind of noise
)
REPLACE_ONE = "under replace-one adjacency"


def epsilon_verdict(result: Epsilon) -> str:
    """Report the lower bound on epsilon and whether it contradicts the claim."""
    claim = result.claimed
    bound = result.bound
    texts = BELIEF if result.bayesian else PROOF
    if bound is None:
        claimed = "an ε" if claim is None else f"the claimed {claim_text(claim)}"
        return f"Whether {claimed} holds was not tested: {REFUSED[result.refused or 'own split']}."
    power = texts.perfect.format(
        scores=_perfect_scores(result, bound), epsilon=decimal(bound.provable), advice=_design_advice(result)
    )
    evidence = _bound_text(result, bound, texts)
    if claim is None or result.allowed is None:
        return f"{evidence} {power}"
    verdict = texts.not_contradicted
    if result.contradicted:
        verdict = texts.contradicted
    elif result.about_other_noise:
        verdict = texts.other_noise
    elif bound.provable <= result.allowed.epsilon:
        verdict = texts.too_few
    verdict = verdict.format(claim=claim_text(claim), things="runs" if result.runs else "records")
    if result.replaced:
        verdict += f" It allows {claim_text(result.allowed)} {REPLACE_ONE}."
    return f"{verdict} {evidence} {power}"


def _bound_text(result: Epsilon, bound: EpsilonBound, texts: BoundTexts) -> str:
    text = (texts.bound if bound.epsilon else texts.no_bound).format(
        whose=wording.counted(bound.members + bound.nonmembers, "run") if result.runs else result.attack,
        adjacency=wording.only_if(result.replaced, f" {REPLACE_ONE}"),
        epsilon=decimal(bound.epsilon),
        share=percent(bound.confidence),
        delta=bound.delta,
    )
    if result.gaussian:
        text += " The bound assumes Gaussian noise: another mechanism may allow the same scores with a smaller ε."
    return text


def _perfect_scores(result: Epsilon, bound: EpsilonBound) -> str:
    if result.runs:
        sides = f"{count(bound.members)} with the record, {count(bound.nonmembers)} without"
        return f"Perfect scores of these {wording.counted(bound.members + bound.nonmembers, 'run')} ({sides})"
    sides = f"{wording.counted(bound.members, 'member')} and {wording.counted(bound.nonmembers, 'non-member')}"
    return f"Perfect scores of these {sides}"


def claim_text(claim: Claim) -> str:
    """Return a claim as text: ``ε = 2 at δ = 1e-05``."""
    noise = wording.only_if(claim.gaussian, "Gaussian noise with ")
    return f"{noise}ε = {compact(claim.epsilon)} at δ = {claim.delta:.3g}"


def exchangeability_clause(result: Epsilon) -> str:
    """Return the condition under which a drawn bound holds."""
    if result.not_exchangeable:
        return " where members and non-members are exchangeable, which they are not in this game"
    return ", if members and non-members are exchangeable"


def person_claim_text(result: Epsilon) -> str:
    """Return the claim, also for all records of a person where a person has several."""
    assert result.claimed is not None
    if result.records_per_person == 1 or result.allowed is None:
        return claim_text(result.claimed)
    several = f"a person with up to {wording.counted(result.records_per_person, 'record')}"
    return f"{claim_text(result.claimed)} for one record ({claim_text(result.allowed)} for {several})"


def _design_advice(result: Epsilon) -> str:
    return wording.only_if(
        result.fixed_size, "; an independent draw of every record, gl.games.Bernoulli(0.5), would prove more"
    )


def _allowed_advantage(results: Results, result: Epsilon) -> str:
    """Compare the advantage that the claim allows with that of the headline attack."""
    if result.advantage is None or result.claimed is None:
        return ""
    allowed = (
        f"Under {person_claim_text(result)} no attack has an advantage above {decimal(result.advantage)} on average"
    )
    attack = wording.headline_attack(results)
    if attack is None:
        return f"{allowed}."
    return f"{allowed}; {attack.name} has {with_interval(attack.advantage)} on these records."
