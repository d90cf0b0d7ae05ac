"""Assessment: results mapped to guidance and standards, one row per requirement.

Each row is measured by the audit, declared by the model owner, or not tested. The questions paraphrase the documents;
the documents themselves are authoritative. To add a requirement, add an entry to ``REQUIREMENTS``.
"""

from collections.abc import Callable
from typing import Literal, NamedTuple

from guestlist._findings import AttackResult, Results
from guestlist._report import Section, file_holder_attack, fill_section, headline_attack
from guestlist._util import count, decimal, percent, with_interval

State = Literal["measured", "declared", "not tested"]
REPORTED_FPR = 0.01
EDPB = "EDPB Opinion 28/2024"
ICO = "ICO guidance on AI and data protection"
CNIL = "CNIL recommendations on AI"
NIST_AML = "NIST AI 100-2 E2025"
NIST_DP = "NIST SP 800-226"
AISVS = "OWASP AISVS 1.0"
SATRE = "SATRE 2.0"
AI_ACT = "EU AI Act (2024/1689)"
ICO_ATTACKS = "Security (types of privacy attacks)"
CNIL_STATUS = "sheet 13 (status of a model)"


class Answer(NamedTuple):
    """Answer of an audit to one question.

    Args:
        state: ``measured`` by the audit, ``declared`` by the model owner, or ``not tested``.
        value: Result; empty if there is none.
        where: Place in the audit: a finding of results.json.
    """

    state: State
    value: str = ""
    where: str = ""


class Requirement(NamedTuple):
    """One question that a document asks.

    Args:
        standard: Name of the document.
        clause: Number in it and topic; only a heading where the document has no numbers.
        question: Requirement, paraphrased.
        answer: Function from results to the answer.
    """

    standard: str
    clause: str
    question: str
    answer: Callable[[Results], Answer]


class AssessmentRow(NamedTuple):
    """A requirement with its answer for one audit."""

    standard: str
    clause: str
    question: str
    state: State
    value: str
    where: str


def assessment_rows(results: Results) -> tuple[AssessmentRow, ...]:
    """Answer every requirement from the results of one audit."""
    return tuple(AssessmentRow(*requirement[:3], *requirement.answer(results)) for requirement in REQUIREMENTS)


STATES: tuple[State, ...] = ("measured", "declared", "not tested")


def assessment_section(results: Results) -> Section:
    """Render the findings that answer each document, by state, and a block to sign."""
    rows: dict[str, dict[str, list[str]]] = {}
    for row in assessment_rows(results):
        clauses = rows.setdefault(row.standard, {state: [] for state in STATES})
        entry = row.where or row.clause
        if entry not in clauses[row.state]:
            clauses[row.state].append(entry)
    return fill_section("assessment", "Assessment and sign-off", "assessment.html", rows=rows, states=STATES)


NOT_TESTED = Answer("not tested")


def _identification(results: Results) -> Answer:
    """Report the headline attack of someone who can query the model."""
    return _attack(headline_attack(results), "headline")


def _file_holder(results: Results) -> Answer:
    """Report the headline attack of someone who holds the model file."""
    return _attack(file_holder_attack(results), "file_holder")


def _attack(attack: AttackResult | None, where: str) -> Answer:
    if attack is None:
        return NOT_TESTED
    rates = [
        f"TPR {with_interval(rate.tpr, percent)} at {percent(rate.fpr)} FPR"
        for rate in attack.rates
        if rate.fpr == REPORTED_FPR and rate.tpr.value == rate.tpr.value
    ]
    value = "; ".join([f"AUC {with_interval(attack.auc)}", *rates])
    return Answer("measured", f"{attack.name}: {value} (95% CI)", where)


def _attack_effort(results: Results) -> Answer:
    """Report the number of attacks and reference models."""
    if not results.outcomes:
        return NOT_TESTED
    references = 0 if results.references is None else results.references.count
    return Answer(
        "measured", f"{count(len(results.outcomes))} attacks, {count(references)} reference models", "outcomes"
    )


def _individuals(results: Results) -> Answer:
    """Report the number of members with a small p-value."""
    summary = results.exposure_summary
    if summary is None:
        return NOT_TESTED
    value = f"{count(summary.small)} of {count(summary.members)} members with p at most {summary.alpha:g}"
    return Answer("measured", value, "exposed, exposure_summary")


def _detection_limit(results: Results) -> Answer:
    """Report the smallest AUC that this audit detects with 80% power."""
    attack = headline_attack(results)
    if attack is None or attack.detectable_auc != attack.detectable_auc:
        return NOT_TESTED
    return Answer("measured", f"80% power to detect an AUC of {decimal(attack.detectable_auc)}", "outcomes")


def _fit(results: Results) -> Answer:
    """Report the accuracy on members and on non-members."""
    subject = results.subject
    if subject is None:
        return NOT_TESTED
    for name, inside, outside, form in (
        ("accuracy", subject.accuracy_members, subject.accuracy_nonmembers, percent),
        ("R²", subject.r2_members, subject.r2_nonmembers, decimal),
    ):
        if inside is not None and outside is not None:
            return Answer("measured", f"{name} {form(inside)} on members, {form(outside)} on non-members", "subject")
    return NOT_TESTED


def _privacy_guarantee(results: Results) -> Answer:
    """Report the differential privacy that the owner claims or the training recipe guarantees."""
    if results.epsilon is not None and results.epsilon.claimed is not None:
        claim = results.epsilon.claimed
        return Answer("declared", f"ε = {claim.epsilon:.3g}, δ = {claim.delta:.2g}", "epsilon")
    training = results.training
    if training is not None and training.epsilon is not None:
        return Answer("declared", f"ε = {training.epsilon:.3g}, δ = {training.delta or 0:.2g}", "training")
    return NOT_TESTED


def _epsilon_bound(results: Results) -> Answer:
    """Report the lower bound on epsilon from the attacks."""
    if results.epsilon is None or results.epsilon.bound is None:
        return NOT_TESTED
    bound = results.epsilon.bound
    return Answer("measured", f"ε at least {bound.epsilon:.3g} ({percent(bound.confidence)} confidence)", "epsilon")


def _limits(results: Results) -> Answer:
    """Report whether the model meets the limits of a policy."""
    if results.gate is None:
        return NOT_TESTED
    return Answer("measured", f"policy {'passed' if results.gate.passed else 'not passed'}", "gate")


def _record(results: Results) -> Answer:
    """Report that versions and fingerprints are recorded."""
    if results.provenance is None:
        return NOT_TESTED
    version = results.provenance.versions.get("guestlist", "")
    return Answer("measured", f"versions and fingerprints recorded; guestlist {version}".rstrip(), "provenance")


def _purpose(results: Results) -> Answer:
    """Report the purpose, the data and the owner on the cover."""
    entries = {} if results.cover is None else results.cover.entries()
    stated = [f"{name}: {entries[name]}" for name in ("purpose", "dataset", "owner") if name in entries]
    if not stated:
        return NOT_TESTED
    return Answer("declared", "; ".join(stated), "cover")


def _outside_scope(results: Results) -> Answer:
    """Report that guestlist does not test this."""
    return NOT_TESTED


REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement(EDPB, "para. 43(ii) (queries)", "Do queries reveal personal data, here membership?", _identification),
    Requirement(
        EDPB, "para. 43(i) (extraction)", "Does the model file reveal personal data, here membership?", _file_holder
    ),
    Requirement(EDPB, "para. 43 (each person)", "Is the likelihood insignificant for every person?", _individuals),
    Requirement(EDPB, "para. 55(i) (membership inference)", "Was membership inference tested?", _attack_effort),
    Requirement(
        EDPB,
        "para. 55 (other attacks)",
        "Were attribute inference, exfiltration, regurgitation, inversion and reconstruction tested?",
        _outside_scope,
    ),
    Requirement(EDPB, "3.2.2 (model design)", "Is training privacy-preserving?", _privacy_guarantee),
    Requirement(EDPB, "paras. 56-58 (documentation)", "Are the tests documented?", _record),
    Requirement(ICO, ICO_ATTACKS, "Is the membership inference risk assessed?", _identification),
    Requirement(ICO, ICO_ATTACKS, "Is the white-box risk assessed?", _file_holder),
    Requirement(ICO, "Security and data minimisation", "Does the model overfit?", _fit),
    Requirement(CNIL, CNIL_STATUS, "Was re-identification tested by attacks?", _attack_effort),
    Requirement(CNIL, CNIL_STATUS, "How likely is re-identification?", _identification),
    Requirement(NIST_AML, "2.4.2 (membership inference)", "How well do attacks separate members?", _identification),
    Requirement(NIST_AML, "2.4.1 (reconstruction)", "Can training data be reconstructed?", _outside_scope),
    Requirement(NIST_AML, "2.4.5 (mitigations)", "Is a mitigation with a guarantee in place?", _privacy_guarantee),
    Requirement(NIST_AML, "2.4.5 (mitigations)", "Do attacks contradict the claimed guarantee?", _epsilon_bound),
    Requirement(NIST_DP, "2.2 and 2.3 (ε, δ)", "Which ε and δ are claimed?", _privacy_guarantee),
    Requirement(AISVS, "11.2.5", "Are attack simulations no better than guessing?", _identification),
    Requirement(AISVS, "11.2.4", "Is training differentially private?", _privacy_guarantee),
    Requirement(AISVS, "C11.2 (inversion)", "Is model inversion prevented?", _outside_scope),
    Requirement(SATRE, "3.3.06", "Is there a statistical basis for the release?", _identification),
    Requirement(SATRE, "3.3.07", "Are models tested, since no one can check them by hand?", _attack_effort),
    Requirement(SATRE, "3.3.08", "Are checks partly automated, with limits?", _limits),
    Requirement(SATRE, "3.3.09", "Is there a machine-readable record of the checks?", _record),
    Requirement(AI_ACT, "Article 15(5)", "Is resistance to confidentiality attacks tested?", _attack_effort),
    Requirement(AI_ACT, "Article 15(3)", "Is the accuracy declared?", _fit),
    Requirement(AI_ACT, "Annex IV 1(a) and 2(d)", "Are purpose and training data described?", _purpose),
    Requirement(AI_ACT, "Annex IV 2(g)", "Are tests and metrics described?", _identification),
    Requirement(AI_ACT, "Annex IV 4", "Are the metrics appropriate: what do they detect?", _detection_limit),
)
