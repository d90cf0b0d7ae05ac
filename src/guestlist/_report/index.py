"""The page over a folder of audits: every model with its latest verdict, its metrics, its gate and its trend."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote

from markupsafe import Markup

from guestlist._findings import read_results
from guestlist._report import (
    ORDER,
    Section,
    attacker_rows,
    displayed_rate,
    fill_section,
    fill_template,
    render_page,
    sanitize_results,
    wording,
)
from guestlist._report.first_screen import first_screen
from guestlist._util import reason, single_line, with_interval
from guestlist.errors import AuditError, InputError
from guestlist.metrics import Estimate

MARKER = "Made by guestlist"  # text at the foot of every page
UNKNOWN_DATE = "date unknown"
NO_GATE = "not run"


@dataclass(frozen=True)
class AuditEntry:
    """One audit on the page.

    Attributes:
        folder: Audit folder, relative to the folder of the page.
        name: Title on the cover, or the name of the model.
        date: Date on which the audit folder was created, as YYYY-MM-DD; empty if it is not known.
        severity: Worst severity among the attackers that were tested.
        verdict: Short answer about the attacker with this severity.
        attack: Display name of that attacker's attack; empty if no attack was evaluated.
        auc: AUC of the attack; None if it is withheld.
        tpr: True positive rate of the attack; None if it is withheld.
        fpr: False positive rate at which ``tpr`` is reported.
        gate: ``passed``, ``failed`` or ``not run``.
        has_report: Whether the folder has a report.html.
    """

    folder: str
    name: str
    date: str
    severity: str
    verdict: str
    attack: str = ""
    auc: Estimate | None = None
    tpr: Estimate | None = None
    fpr: float = math.nan
    gate: str = NO_GATE
    has_report: bool = False

    @property
    def link(self) -> str:
        """Relative address of the report; empty if there is none."""
        if not self.has_report:
            return ""
        return quote(f"./{self.folder}/report.html")


@dataclass(frozen=True)
class BrokenFolder:
    """An audit folder whose results cannot be shown, and the reason."""

    folder: str
    error: str


@dataclass(frozen=True)
class AuditIndex:
    """Audits below a folder.

    Attributes:
        name: Name of the folder.
        audits: Audits by name, the newest of each name first.
        broken: Folders that cannot be read.
    """

    name: str
    audits: tuple[AuditEntry, ...]
    broken: tuple[BrokenFolder, ...]

    @property
    def models(self) -> tuple[tuple[AuditEntry, ...], ...]:
        """The audits of each model name, the newest first; models with the worst latest severity first."""
        by_name: dict[str, list[AuditEntry]] = {}
        for audit in self.audits:
            by_name.setdefault(audit.name, []).append(audit)
        return tuple(sorted(map(tuple, by_name.values()), key=lambda audits: -ORDER.index(audits[0].severity)))


def read_index(folder: str | Path) -> AuditIndex:
    """Read every audit below a folder; a folder that cannot be read is listed with its error.

    Args:
        folder: Folder with audit folders, at any depth.

    Raises:
        InputError: If there is no such folder, or no audit below it.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(f"There is no folder {folder}. Pass the folder that holds your audit folders.")
    folders = {path.parent for name in ("results.json", "manifest.json") for path in folder.rglob(name)}
    audits = []
    broken = []
    for path in sorted(folders):
        relative = path.relative_to(folder).as_posix()
        try:
            audits.append(_entry(relative, path))
        except Exception as error:  # one damaged folder must not hide the others, for any error
            broken.append(BrokenFolder(single_line(relative), single_line(_message(error, path))))
    if not folders:
        raise InputError(f"There is no audit below {folder}. Pass the folder that holds your audit folders.")
    audits.sort(key=lambda audit: audit.date, reverse=True)
    audits.sort(key=lambda audit: audit.name)
    return AuditIndex(name=single_line(folder.resolve().name), audits=tuple(audits), broken=tuple(broken))


def _message(error: Exception, path: Path) -> str:
    """Return the message of an error without the path of the folder, which the page lists next to it."""
    text = str(error) if isinstance(error, AuditError) else reason(error)
    return text.replace(f"{path}/", "").replace(str(path), "The folder")


def _entry(relative: str, path: Path) -> AuditEntry:
    results = sanitize_results(read_results(path))
    screen = first_screen(results, None)
    gate = NO_GATE
    if results.gate is not None:
        gate = "passed" if results.gate.passed else "failed"
    entry = AuditEntry(
        folder=relative,
        name=(results.cover and results.cover.title) or wording.model_name(results),
        date=str(getattr(results.provenance, "date", "") or "")[:10],
        severity=screen.severity,
        verdict=screen.worst.verdict,
        attack=screen.worst.attack,
        gate=gate,
        has_report=(path / "report.html").is_file(),
    )
    row = max(attacker_rows(results), key=lambda row: ORDER.index(row.severity), default=None)
    if row is None:
        return entry
    if not math.isnan(row.attack.auc.value):
        entry = replace(entry, auc=row.attack.auc)
    rate = displayed_rate(row.attack)
    if rate is not None:
        entry = replace(entry, tpr=rate.tpr, fpr=rate.fpr)
    return entry


def index_page(index: AuditIndex) -> str:
    """Render the index as one self-contained page."""
    sections = [_answer(index)]
    if index.audits:
        rows = [(audits[0], len(audits), trend_strip(audits)) for audits in index.models]
        sections += [
            fill_section("models", "Models", "index/models.html", rows=rows, unknown=UNKNOWN_DATE),
            fill_section("audits", "All audits", "index/audits.html", audits=index.audits, unknown=UNKNOWN_DATE),
        ]
    if index.broken:
        sections.append(fill_section("broken", "Folders that cannot be read", "index/broken.html", broken=index.broken))
    return render_page(
        "Membership privacy audits:", index.name, sections, made_from="the results.json of each audit", what="Folder"
    )


def _answer(index: AuditIndex) -> Section:
    severities = Counter(audits[0].severity for audits in index.models)
    return fill_section(
        "answer",
        "Which models reveal their training records?",
        "index/answer.html",
        css_class="answer",
        index=index,
        severities=[f"{severities[severity]} {severity}" for severity in reversed(ORDER) if severities[severity]],
        failed=sum(audits[0].gate == "failed" for audits in index.models),
    )


GUESSING = 0.5  # AUC
STEP, HEIGHT, PAD = 18, 44, 4  # pixels between two audits, height of the strip, and padding


def trend_strip(audits: Sequence[AuditEntry]) -> Markup:
    """Draw the AUC of several audits of one model with its intervals, the oldest first; empty for a single one.

    Args:
        audits: Audits of one model, the newest first.
    """
    known = [audit for audit in reversed(audits) if audit.auc is not None]
    if len(known) < 2:
        return Markup("")
    estimates = [audit.auc for audit in known if audit.auc is not None]
    low = min(GUESSING, *(auc.low for auc in estimates))
    high = max(GUESSING + 0.1, *(auc.high for auc in estimates))

    def height(value: float) -> str:
        return f"{HEIGHT - PAD - (value - low) / (high - low) * (HEIGHT - 2 * PAD):.1f}"

    marks = [
        {
            "x": PAD + STEP // 2 + STEP * position,
            "low": height(auc.low),
            "high": height(auc.high),
            "value": height(auc.value),
        }
        for position, auc in enumerate(estimates)
    ]
    aucs = "; ".join(
        f"{audit.date or UNKNOWN_DATE}: {with_interval(auc)}" for audit, auc in zip(known, estimates, strict=True)
    )
    return fill_template(
        "index/strip.html",
        width=2 * PAD + STEP * len(known),
        height=HEIGHT,
        guess=height(GUESSING),
        marks=marks,
        label=f"AUC by date. {aucs}",
    )
