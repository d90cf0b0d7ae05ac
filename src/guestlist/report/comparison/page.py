"""The page of a comparison: like the report, one file that works offline, and a function of the facts alone."""

from __future__ import annotations

from markupsafe import Markup

from guestlist.comparing import LEVELS, AuditMetrics, Comparison, Comparisons
from guestlist.evaluate import Estimate
from guestlist.report.charts import DASHES, MARKS, Axis, Chart, Series, interval_ends
from guestlist.report.comparison import wording
from guestlist.report.format import decimal, percent
from guestlist.report.legible import sanitize_value
from guestlist.report.page import render_page
from guestlist.report.section import Section
from guestlist.report.templates import render
from guestlist.report.training import privacy_guarantee

MOST_IDS = 100  # of one list on the page; the facts hold all
SHADES = ("ink", "member", "nonmember", "other")


def page(found: Comparisons) -> str:
    """The whole comparison as one self-contained HTML page."""
    found = sanitize_value(type(found), found)
    sections = (
        _answer(found),
        _audits(found),
        _trade(found),
        _pairs(found),
        _risks(found),
        _risen(found),
        _reading(found),
    )
    names = ", ".join(audit.name for audit in found.audits)
    return render_page(
        "Membership privacy compared:",
        names,
        [one for one in sections if one],
        made_from="the results of these audits",
        cover=found.cover,
        what="Models",
    )


def _filled(template: str, **content) -> Markup:
    return Markup(render(f"comparison/{template}", **content))


def _answer(found: Comparisons) -> Section:
    lines = [wording.difference_sentence(pair) for pair in found.pairs]
    return Section("answer", "What is different?", _filled("answer.html", lines=lines), css_class="answer")


def _audits(found: Comparisons) -> Section:
    rows = [(audit, _attacker(audit), privacy_guarantee(audit.training)) for audit in found.audits]
    body = _filled("audits.html", rows=rows, fpr=found.fpr)
    return Section("audits", "Each model by itself", body)


def _attacker(audit: AuditMetrics) -> str:
    return "not recorded" if audit.training is None else audit.training.attacker


def _trade(found: Comparisons) -> Section | None:
    """Accuracy against what is given away, one point per audit."""
    placed = [audit for audit in found.audits if audit.accuracy is not None]
    if len(placed) < 2:
        return None
    drawn = {
        "trade-auc": _points(placed, "auc", "AUC of the headline attack"),
        "trade-tpr": _points(placed, "tpr", f"members found at {percent(found.fpr)} false alarms"),
    }
    told = "; ".join(
        f"{one.name}: accuracy {decimal(_value(one.accuracy))}, AUC {decimal(one.auc.value)}, TPR {decimal(one.tpr.value)}"
        for one in placed
    )
    return Section("trade", "Privacy against usefulness", _filled("trade.html", told=told, charts=drawn), drawn)


def _points(audits: list[AuditMetrics], figure: str, title: str) -> Chart:
    marks, found = tuple(MARKS), []
    for i, audit in enumerate(audits):
        y, x = getattr(audit, figure), audit.accuracy
        assert x is not None
        place = (x.value,), (y.value,), SHADES[i % len(SHADES)]
        mark = marks[i % len(marks)]
        found.append(Series(audit.name, *place, mark=mark, x_ends=interval_ends([x]), y_ends=interval_ends([y])))
    return Chart(Axis("accuracy on non-members"), Axis(title), tuple(found))


def _value(estimate: Estimate | None) -> float:
    return float("nan") if estimate is None else estimate.value


def _pairs(found: Comparisons) -> Section:
    tables = []
    for pair in found.pairs:
        rows = [
            (wording.metric_name(pair, row), wording.difference_cells(pair, row), wording.verdict(row))
            for row in pair.differences
        ]
        missing = (
            ""
            if _calibrated(pair)
            else "Calibration error was not recorded in one of the audits, or there are no classes."
        )
        tables.append((pair, rows, wording.exposed_sentence(pair), missing))
    body = _filled("pairs.html", tables=tables, together=wording.TOGETHER)
    return Section("pairs", "Pair by pair", body)


def _calibrated(pair: Comparison) -> bool:
    return any(row.what == "calibration_error" for row in pair.differences)


def _risks(found: Comparisons) -> Section | None:
    """Distribution over members of each risk that at least two audits have."""
    names = dict.fromkeys(name for audit in found.audits for name, at in audit.risks.items() if at)
    shown = {name: [audit for audit in found.audits if audit.risks.get(name)] for name in names}
    shown = {name: audits for name, audits in shown.items() if len(audits) > 1}
    if not shown:
        return None
    drawn = {f"risk-{i}": _spread(name, found.audits) for i, name in enumerate(shown)}
    figures = [(f"risk-{i}", name, _told(name, audits)) for i, (name, audits) in enumerate(shown.items())]
    body = _filled("risks.html", figures=figures, charts=drawn)
    return Section("risks", "How risk is spread, before and after", body, drawn)


def _told(risk: str, audits: list[AuditMetrics]) -> str:
    middle = LEVELS.index(0.5)
    medians = "; ".join(f"{audit.name}: {decimal(audit.risks[risk][middle])}" for audit in audits)
    return f"Shares of members whose {risk} is larger. Medians: {medians}."


def _spread(risk: str, audits: tuple[AuditMetrics, ...]) -> Chart:
    """Share of members with a larger risk, on a logarithmic axis, so that the few most exposed are seen."""
    dashes, above = tuple(DASHES), tuple(1 - level for level in LEVELS)
    lines = tuple(
        Series(
            audit.name,
            tuple(audit.risks[risk]),
            above,
            SHADES[i % len(SHADES)],
            line=2,
            dash=dashes[i % len(dashes)],
        )
        for i, audit in enumerate(audits)
        if audit.risks.get(risk)
    )
    return Chart(
        Axis("risk: higher means more exposed"), Axis("members above", log=True, form="percent"), lines, height=300
    )


def _risen(found: Comparisons) -> Section:
    parts = [
        (pair, wording.risk_changes_sentence(pair), pair.moved.rose[:MOST_IDS] if pair.moved else ())
        for pair in found.pairs
    ]
    named = any(ids for *_, ids in parts)
    return Section("risen", "Whose risk rose", _filled("risen.html", parts=parts, named=named, most=MOST_IDS))


def _reading(found: Comparisons) -> Section:
    return Section("reading", "How to read this", _filled("reading.html", first=found.audits[0].name))
