"""The first screen of a report: the verdict, its severity, cause, limits and next steps, for every output format."""

import math
from dataclasses import dataclass
from pathlib import Path

from guestlist._diagnostics.table import undermines_verdict
from guestlist._findings import Rate, Results
from guestlist._report import diagnostics, wording
from guestlist._report.next_steps import FOLDER_PLACEHOLDER, next_steps
from guestlist._report.sections.answer import file_holder_sentences, verdict_sentences
from guestlist._report.sections.baseline import drawn_at_random
from guestlist._report.severity import (
    CANNOT_TELL,
    LEAKS,
    RULES,
    AttackerRow,
    attacker_rows,
    audit_severity,
    displayed_rate,
    identifying_rate,
)
from guestlist._report.templates import Section, fill_template
from guestlist._util import compact, decimal, interval, interval_in_people, percent

QUESTION = "Can training records be identified?"
IDENTIFIED_MEANS = "Identified: recognised as training data by someone with the record."
NOT_BETTER = "not clearly better than guessing"
WEAK_TEST = 0.65  # AUC; a baseline that may miss larger differences is weak evidence about the cause
# Checks for which the leak is larger than measured, not smaller.
UNDERESTIMATES = frozenset({"GL101", "GL115", "GL116", "GL117"})
PEOPLE = 100
ROW = 25  # icons in a row of text
SYMBOLS = {"full": "●", "half": "◐", "empty": "○"}
# Attackers and leaks that an audit may not test, as the end of "Not tested: …".
UNTESTED_SHORT = {
    "references": "attacks with reference models",
    "parameters": "attackers with the model file",
    "labels_only": "attackers who see only classes",
    "sources": "whether the two sets differ without the model",
    "other_leakage": "other types of leakage",
    "logits": "logits",
}
# One of these is named on the first screen; the section on untested topics lists all.
UNTESTED_ORDER = ("references", "sources", "parameters", "labels_only", "other_leakage")


@dataclass(frozen=True)
class People:
    """Numbers among 100 people: an estimate with the ends of its 95% confidence interval."""

    number: int
    low: int
    high: int

    @property
    def icons(self) -> tuple[str, ...]:
        """The icons of 100 people: ``full`` up to the low end, ``half`` up to the high end, ``empty`` beyond."""
        return ("full",) * self.low + ("half",) * (self.high - self.low) + ("empty",) * (PEOPLE - self.high)

    @property
    def row(self) -> str:
        """The icons as one row of text: the first 25 people, or one icon for every 4 people if more are shown."""
        symbols = "".join(SYMBOLS[icon] for icon in self.icons)
        if self.high <= ROW:
            return f"{symbols[:ROW]}…"
        return symbols[PEOPLE // ROW // 2 :: PEOPLE // ROW]

    @property
    def caption(self) -> str:
        """The ends of the interval, as the icons show them: ``5 (filled) to 11 (half-filled) identified``."""
        if self.low == self.high:
            return f"{self.low} of {PEOPLE} identified"
        return f"{self.low} (filled) to {self.high} (half-filled) identified"

    @property
    def text(self) -> str:
        """The number with its interval: ``8 (5 to 11)``."""
        if self.low == self.number == self.high:
            return f"{self.number}"
        return f"{self.number} ({self.low} to {self.high})"


@dataclass(frozen=True)
class Attacker:
    """One attacker: who, the verdict, and the shares among 100 people.

    Attributes:
        who: Description of the attacker.
        attack: Display name of the attack.
        verdict: Short answer.
        evidence: One or two sentences with numbers.
        severity: Severity of the leak to this attacker.
        identified: Members identified, among 100; None where that is not estimated.
        flagged: Non-members wrongly flagged, among 100.
        auc: AUC of the attack, as text.
        beats_guessing: Evidence that more members are identified at this rate than by guessing, for any cause.
    """

    who: str
    attack: str
    verdict: str
    evidence: str
    severity: str
    identified: People | None
    flagged: People | None
    auc: str = ""
    beats_guessing: bool = False

    @property
    def caption(self) -> str:
        """Caption of the picture of members."""
        if self.identified is None:
            return ""
        if self.beats_guessing:
            return self.identified.caption
        return f"Up to {self.identified.high} of {PEOPLE} identified; {NOT_BETTER}"

    @property
    def identified_text(self) -> str:
        """Members identified among 100 with their interval, if there is evidence of any."""
        if self.identified is not None and self.beats_guessing:
            return self.identified.text
        if self.severity in LEAKS:
            return f"no single record; AUC {self.auc}"
        return "no evidence"


@dataclass(frozen=True)
class FirstScreen:
    """Everything that the first screen shows, as text and numbers.

    Attributes:
        question: The question of every audit.
        severity: The worst severity among the attackers.
        rule: The rule by which that severity was given.
        attackers: The attackers that were tested, the one who can query the model first.
        facts: Short paragraphs by their heading, such as ``Cause``.
        caveats: Open checks that change the verdict.
        steps: At most three next steps; commands are between backticks.
    """

    question: str
    severity: str
    rule: str
    attackers: tuple[Attacker, ...]
    facts: dict[str, str]
    caveats: tuple[diagnostics.CheckLine, ...]
    steps: tuple[str, ...]

    @property
    def caveat_heading(self) -> str:
        """Introduction of the open checks: the direction in which they change the result, if it is known."""
        if all(line.code in UNDERESTIMATES for line in self.caveats):
            return "Maybe underestimated"
        return "Provisional"

    @property
    def picture(self) -> tuple[str, ...]:
        """The two icon arrays as lines of text; none where no share is estimated."""
        worst = self.worst
        if worst.identified is None or worst.flagged is None:
            return ()
        return (
            f"{worst.identified.row} {worst.identified.text} of {PEOPLE} identified",
            f"{worst.flagged.row} {worst.flagged.text} of {PEOPLE} others flagged",
        )

    @property
    def worst(self) -> Attacker:
        """The attacker with the worst severity, who the picture shows."""
        worst = [attacker for attacker in self.attackers if attacker.severity == self.severity]
        return max(worst, key=lambda attacker: attacker.identified.low if attacker.identified else 0)

    @property
    def evidence(self) -> str:
        """The evidence on the worst attacker; it names this attacker where two were tested."""
        text = self.worst.evidence
        if len(self.attackers) == 1:
            return text
        who = self.worst.who.replace("Someone", "attacker")
        return text.replace("An attacker", f"An {who}").replace("an attacker", f"an {who}")


def first_screen(results: Results, folder: Path | str | None = FOLDER_PLACEHOLDER) -> FirstScreen:
    """Collect the first screen.

    Args:
        results: Results of an audit.
        folder: Audit folder, for commands that can be pasted; None if the audit has none.
    """
    severity = audit_severity(results)
    return FirstScreen(
        question=QUESTION,
        severity=severity,
        rule=_rule(results, severity),
        attackers=_attackers(results),
        facts=_facts(results),
        caveats=diagnostics.caveats(results),
        steps=next_steps(results, folder),
    )


def _rule(results: Results, severity: str) -> str:
    """Return the rule of a severity; if it is unclear, the reason that applies."""
    if severity != CANNOT_TELL:
        return RULES[severity]
    if results.baseline is not None and results.baseline.significant:
        return "the two sets differ without the model"
    attack = wording.headline_attack(results)
    if attack is None or math.isnan(attack.auc.value):
        return "no attack could be measured"
    if attack.ranks_below:
        return "members have lower scores than other records"
    if any(undermines_verdict(check) for check in results.checks or ()):
        return "an open check undermines the verdict"
    return "too few records"


def first_screen_section(results: Results) -> Section:
    """Render the first screen of the page."""
    folder: Path | str = FOLDER_PLACEHOLDER
    if results.folder is not None:
        folder = results.folder
    screen = first_screen(results, folder)
    body = fill_template("answer.html", screen=screen, identified_means=IDENTIFIED_MEANS)
    return Section("question", QUESTION, body, css_class="answer")


def _attackers(results: Results) -> tuple[Attacker, ...]:
    rows = attacker_rows(results)
    if not rows:
        verdict, *evidence = verdict_sentences(results)
        unknown = Attacker(
            who=wording.QUERIER,
            attack="",
            verdict=verdict,
            evidence=evidence[0],
            severity=CANNOT_TELL,
            identified=None,
            flagged=None,
        )
        return (unknown,)
    return tuple(_attacker(results, row) for row in rows)


def _attacker(results: Results, row: AttackerRow) -> Attacker:
    sentences = verdict_sentences(results)
    if row.attacker == wording.FILE_HOLDER:
        sentences = file_holder_sentences(results, row.attack)
    rate = displayed_rate(row.attack)
    identified = None
    flagged = None
    if rate is not None:
        identified = _people(rate)
        others = round(rate.fpr * PEOPLE)
        flagged = People(others, others, others)
    return Attacker(
        who=row.attacker,
        attack=wording.attack_title(row.attack),
        verdict=sentences[0],
        evidence=sentences[1],
        severity=row.severity,
        identified=identified,
        flagged=flagged,
        auc=decimal(row.attack.auc.value),
        beats_guessing=rate is not None and rate.beats_guessing,
    )


def _people(rate: Rate) -> People:
    low, high = interval_in_people(rate.tpr, PEOPLE)
    return People(round(rate.tpr.value * PEOPLE), low, high)


def _facts(results: Results) -> dict[str, str]:
    facts = {
        "If a record is flagged": _flagged_fact(results),
        "Cause": _cause(results),
        "Same recipe": _same_recipe(results),
        "Limits": _limits(results),
    }
    return {heading: text for heading, text in facts.items() if text}


def _flagged_fact(results: Results) -> str:
    """Report the positive predictive value; empty where no single records are identified."""
    attack = wording.headline_attack(results)
    if attack is None or results.file_holder is not None:  # with two attackers there would be two shares
        return ""
    rate = identifying_rate(attack)
    if rate is None or math.isnan(rate.ppv.value):
        return ""
    half = f"{percent(rate.prior)} of those tested are"
    if rate.prior == 0.5:
        half = "half of those tested are"
    return f"{percent(rate.ppv.value)} ({interval(rate.ppv, percent)}) are members, if {half}."


def _cause(results: Results) -> str:
    baseline = results.baseline
    if baseline is None and drawn_at_random(results):
        return "Members were drawn at random, so the sets differ only by chance."
    if baseline is None:
        return "Not tested. The sets may differ without the model."
    if baseline.significant:
        return (
            f"The two sets differ without the model (AUC {decimal(baseline.auc)}, p = {compact(baseline.p_value)}). Compare "
            "members and non-members from one source."
        )
    if audit_severity(results) not in LEAKS:
        return ""
    if baseline.detectable_auc > WEAK_TEST:
        return "Unclear: a weak test found no other difference between the sets."
    return "Likely the model: members and others look alike without it."


def _same_recipe(results: Results) -> str:
    """Compare this model with models trained the same way."""
    headline = results.headline
    attack = wording.headline_attack(results)
    if headline is None or attack is None or audit_severity(results) not in LEAKS:
        return ""
    if results.file_holder is not None:  # with two attackers there would be two answers
        return ""
    for code in ("GL129", "GL118", "GL105"):
        check = results.check(code)
        if check is not None and check.state == "issue":
            return f"Unclear whether this model is typical: see check {code}."
    prediction = None
    if headline.same_recipe is not None:
        prediction = headline.same_recipe.prediction_interval
    if prediction is None or math.isnan(attack.auc.value):
        return "Not tested: too few reference models."
    expected = f"AUC {decimal(prediction.low)} to {decimal(prediction.high)}"
    if attack.auc.value > prediction.high:
        return f"Models trained the same way on other members leak less ({expected}; this model {decimal(attack.auc.value)})."
    if attack.auc.value < prediction.low:
        return f"Models trained the same way on other members leak more ({expected}; this model {decimal(attack.auc.value)})."
    return f"Models trained alike leak about as much ({expected})."


def _limits(results: Results) -> str:
    codes = set(results.untested or ())
    if results.file_holder is not None:
        codes -= {"parameters"}
    untested = [UNTESTED_SHORT[code] for code in UNTESTED_ORDER if code in codes]
    return wording.paragraph(
        "Other attacks may find more.",
        wording.only_if(untested, f"Not tested: {untested[0] if untested else ''}."),
    )
