"""Assessment: results mapped to guidance and standards, one row per requirement.

Each row is measured by the audit, declared by the model owner, or not tested. The questions paraphrase the documents;
the documents themselves are authoritative. To add a requirement, add an entry to ``REQUIREMENTS``; answers are
macros of ``text/answers.txt``.
"""

from typing import Literal, NamedTuple

from guestlist._findings import Results
from guestlist._report import Section, fill_section, prose

State = Literal["measured", "declared", "not tested"]
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


class Requirement(NamedTuple):
    """One question that a document asks.

    Args:
        standard: Name of the document.
        clause: Number in it and topic; only a heading where the document has no numbers.
        question: Requirement, paraphrased.
        answers: Names in ``ANSWERS``, of which the first that the results have counts; none if guestlist does not test this.
    """

    standard: str
    clause: str
    question: str
    answers: tuple[str, ...] = ()


class AssessmentRow(NamedTuple):
    """A requirement with its answer for one audit.

    Args:
        standard, clause, question: Of the requirement.
        state: ``measured`` by the audit, ``declared`` by the model owner, or ``not tested``.
        value: Result; empty if there is none.
        where: Place in the audit: a finding of results.json.
    """

    standard: str
    clause: str
    question: str
    state: State
    value: str
    where: str


def assessment_rows(results: Results) -> tuple[AssessmentRow, ...]:
    """Answer every requirement from the results of one audit."""
    return tuple(_answered(results, requirement) for requirement in REQUIREMENTS)


def _answered(results: Results, requirement: Requirement) -> AssessmentRow:
    for name in requirement.answers:
        value = prose(f"answers.{name}", results)
        if value:
            return AssessmentRow(*requirement[:3], ANSWERS[name].state, value, ANSWERS[name].where)
    return AssessmentRow(*requirement[:3], "not tested", "", "")


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


class Answer(NamedTuple):
    """A type of answer: its state if the results have it, and the finding that it is taken from."""

    state: State
    where: str


# The macros of text/answers.txt.
ANSWERS: dict[str, Answer] = {
    "identification": Answer("measured", "headline"),
    "file_holder": Answer("measured", "file_holder"),
    "attack_effort": Answer("measured", "outcomes"),
    "individuals": Answer("measured", "exposed, exposure_summary"),
    "detection_limit": Answer("measured", "outcomes"),
    "fit": Answer("measured", "subject"),
    "claimed_privacy": Answer("declared", "epsilon"),
    "privacy_of_training": Answer("declared", "training"),
    "epsilon_bound": Answer("measured", "epsilon"),
    "limits": Answer("measured", "gate"),
    "record": Answer("measured", "provenance"),
    "purpose": Answer("declared", "cover"),
}
PRIVACY = ("claimed_privacy", "privacy_of_training")


REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement(
        EDPB, "para. 43(ii) (queries)", "Do queries reveal personal data, here membership?", ("identification",)
    ),
    Requirement(
        EDPB, "para. 43(i) (extraction)", "Does the model file reveal personal data, here membership?", ("file_holder",)
    ),
    Requirement(EDPB, "para. 43 (each person)", "Is the likelihood insignificant for every person?", ("individuals",)),
    Requirement(EDPB, "para. 55(i) (membership inference)", "Was membership inference tested?", ("attack_effort",)),
    Requirement(
        EDPB,
        "para. 55 (other attacks)",
        "Were attribute inference, exfiltration, regurgitation, inversion and reconstruction tested?",
    ),
    Requirement(EDPB, "3.2.2 (model design)", "Is training privacy-preserving?", PRIVACY),
    Requirement(EDPB, "paras. 56-58 (documentation)", "Are the tests documented?", ("record",)),
    Requirement(ICO, ICO_ATTACKS, "Is the membership inference risk assessed?", ("identification",)),
    Requirement(ICO, ICO_ATTACKS, "Is the white-box risk assessed?", ("file_holder",)),
    Requirement(ICO, "Security and data minimisation", "Does the model overfit?", ("fit",)),
    Requirement(CNIL, CNIL_STATUS, "Was re-identification tested by attacks?", ("attack_effort",)),
    Requirement(CNIL, CNIL_STATUS, "How likely is re-identification?", ("identification",)),
    Requirement(NIST_AML, "2.4.2 (membership inference)", "How well do attacks separate members?", ("identification",)),
    Requirement(NIST_AML, "2.4.1 (reconstruction)", "Can training data be reconstructed?"),
    Requirement(NIST_AML, "2.4.5 (mitigations)", "Is a mitigation with a guarantee in place?", PRIVACY),
    Requirement(NIST_AML, "2.4.5 (mitigations)", "Do attacks contradict the claimed guarantee?", ("epsilon_bound",)),
    Requirement(NIST_DP, "2.2 and 2.3 (ε, δ)", "Which ε and δ are claimed?", PRIVACY),
    Requirement(AISVS, "11.2.5", "Are attack simulations no better than guessing?", ("identification",)),
    Requirement(AISVS, "11.2.4", "Is training differentially private?", PRIVACY),
    Requirement(AISVS, "C11.2 (inversion)", "Is model inversion prevented?"),
    Requirement(SATRE, "3.3.06", "Is there a statistical basis for the release?", ("identification",)),
    Requirement(SATRE, "3.3.07", "Are models tested, since no one can check them by hand?", ("attack_effort",)),
    Requirement(SATRE, "3.3.08", "Are checks partly automated, with limits?", ("limits",)),
    Requirement(SATRE, "3.3.09", "Is there a machine-readable record of the checks?", ("record",)),
    Requirement(AI_ACT, "Article 15(5)", "Is resistance to confidentiality attacks tested?", ("attack_effort",)),
    Requirement(AI_ACT, "Article 15(3)", "Is the accuracy declared?", ("fit",)),
    Requirement(AI_ACT, "Annex IV 1(a) and 2(d)", "Are purpose and training data described?", ("purpose",)),
    Requirement(AI_ACT, "Annex IV 2(g)", "Are tests and metrics described?", ("identification",)),
    Requirement(AI_ACT, "Annex IV 4", "Are the metrics appropriate: what do they detect?", ("detection_limit",)),
)
