"""The first screen of a report: the verdict, its severity, cause, limits and next steps, for every output format."""

from dataclasses import dataclass
from pathlib import Path

from guestlist._diagnostics.table import undermines_verdict
from guestlist._findings import Results
from guestlist._report import (
    CANNOT_TELL,
    LEAKS,
    RULES,
    AttackerRow,
    Section,
    attacker_rows,
    audit_severity,
    diagnostics,
    displayed_rate,
    drawn_at_random,
    file_holder_sentences,
    fill_section,
    identifying_rate,
    prose,
    verdict_sentences,
    wording,
)
from guestlist._report.next_steps import FOLDER_PLACEHOLDER, next_steps
from guestlist._util import decimal, interval_in_people

QUESTION = "Can training records be identified?"
WEAK_TEST = 0.65  # AUC; a baseline that may miss larger differences is weak evidence about the cause
# Checks for which the leak is larger than measured, not smaller.
UNDERESTIMATES = frozenset({"GL101", "GL115", "GL116", "GL117"})
PEOPLE = 100
ROW = 25  # icons in a row of text
SYMBOLS = {"full": "●", "half": "◐", "empty": "○"}


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
    identified: People | None = None
    flagged: People | None = None
    auc: str = ""
    beats_guessing: bool = False


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


def first_screen(results: Results, folder: Path | str | None = FOLDER_PLACEHOLDER) -> FirstScreen:
    """Collect the first screen.

    Args:
        results: Results of an audit.
        folder: Audit folder, for commands that can be pasted; None if the audit has none.
    """
    severity = audit_severity(results)
    rule = RULES[severity]
    if severity == CANNOT_TELL:
        rule = prose("first_screen.unclear", results, any(map(undermines_verdict, results.checks or ())))
    attackers = tuple(_attacker(results, row) for row in attacker_rows(results))
    if not attackers:
        verdict, evidence, *_ = verdict_sentences(results)
        attackers = (Attacker(wording.QUERIER, attack="", verdict=verdict, evidence=evidence, severity=CANNOT_TELL),)
    return FirstScreen(
        question=QUESTION,
        severity=severity,
        rule=rule,
        attackers=attackers,
        facts=_facts(results, leaks=severity in LEAKS),
        caveats=diagnostics.caveats(results),
        steps=next_steps(results, folder),
    )


def first_screen_section(results: Results) -> Section:
    """Render the first screen of the page."""
    screen = first_screen(results, results.folder or FOLDER_PLACEHOLDER)
    return fill_section(
        "question",
        QUESTION,
        "answer.html",
        css_class="answer",
        screen=screen,
        underestimated=all(line.code in UNDERESTIMATES for line in screen.caveats),
        leaks=LEAKS,
    )


def _attacker(results: Results, row: AttackerRow) -> Attacker:
    sentences = verdict_sentences(results)
    if row.attacker == wording.FILE_HOLDER:
        sentences = file_holder_sentences(results, row.attack)
    rate = displayed_rate(row.attack)
    identified = None
    flagged = None
    if rate is not None:
        identified = People(round(rate.tpr.value * PEOPLE), *interval_in_people(rate.tpr, PEOPLE))
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


def _facts(results: Results, *, leaks: bool) -> dict[str, str]:
    attack = wording.headline_attack(results)
    facts = {
        "If a record is flagged": prose("first_screen.flagged", results, attack and identifying_rate(attack)),
        "Cause": prose("first_screen.cause", results.baseline, leaks, drawn_at_random(results), WEAK_TEST),
        "Same recipe": prose("first_screen.recipe", results, leaks),
        "Limits": prose("first_screen.limits", results.untested or (), results.file_holder is not None),
    }
    return {heading: text for heading, text in facts.items() if text}
