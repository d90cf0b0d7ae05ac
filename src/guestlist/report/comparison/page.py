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


def page(comparisons: Comparisons) -> str:
    """The whole comparison as one self-contained HTML page."""
    comparisons = sanitize_value(type(comparisons), comparisons)
    sections = (
        _answer(comparisons),
        _audits(comparisons),
        _trade(comparisons),
        _pairs(comparisons),
        _risks(comparisons),
        _risen(comparisons),
        _reading(comparisons),
    )
    names = ", ".join(audit.name for audit in comparisons.audits)
    return render_page(
        "Membership privacy compared:",
        names,
        [section for section in sections if section],
        made_from="the results of these audits",
        cover=comparisons.cover,
        what="Models",
    )


def _filled(template: str, **content) -> Markup:
    return Markup(render(f"comparison/{template}", **content))


def _answer(comparisons: Comparisons) -> Section:
    lines = [wording.difference_sentence(pair) for pair in comparisons.pairs]
    return Section("answer", "What is different?", _filled("answer.html", lines=lines), css_class="answer")


def _audits(comparisons: Comparisons) -> Section:
    rows = [(audit, _attacker(audit), privacy_guarantee(audit.training)) for audit in comparisons.audits]
    body = _filled("audits.html", rows=rows, fpr=comparisons.fpr)
    return Section("audits", "Each model by itself", body)


def _attacker(audit: AuditMetrics) -> str:
    return "not recorded" if audit.training is None else audit.training.attacker


def _trade(comparisons: Comparisons) -> Section | None:
    """Accuracy against what is given away, one point per audit."""
    placed = [audit for audit in comparisons.audits if audit.accuracy is not None]
    if len(placed) < 2:
        return None
    drawn = {
        "trade-auc": _points(placed, "auc", "AUC of the headline attack"),
        "trade-tpr": _points(placed, "tpr", f"members found at {percent(comparisons.fpr)} false alarms"),
    }
    caption = "; ".join(
        f"{audit.name}: accuracy {decimal(_value(audit.accuracy))}, AUC {decimal(audit.auc.value)}, "
        f"TPR {decimal(audit.tpr.value)}"
        for audit in placed
    )
    return Section("trade", "Privacy against usefulness", _filled("trade.html", told=caption, charts=drawn), drawn)


def _points(audits: list[AuditMetrics], metric: str, title: str) -> Chart:
    marks = tuple(MARKS)
    series = []
    for i, audit in enumerate(audits):
        y = getattr(audit, metric)
        x = audit.accuracy
        assert x is not None
        point = (x.value,), (y.value,), SHADES[i % len(SHADES)]
        mark = marks[i % len(marks)]
        series.append(Series(audit.name, *point, mark=mark, x_ends=interval_ends([x]), y_ends=interval_ends([y])))
    return Chart(Axis("accuracy on non-members"), Axis(title), tuple(series))


def _value(estimate: Estimate | None) -> float:
    return float("nan") if estimate is None else estimate.value


def _pairs(comparisons: Comparisons) -> Section:
    tables = []
    for pair in comparisons.pairs:
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


def _risks(comparisons: Comparisons) -> Section | None:
    """Distribution over members of each risk that at least two audits have."""
    names = dict.fromkeys(name for audit in comparisons.audits for name, at in audit.risks.items() if at)
    by_risk = {name: [audit for audit in comparisons.audits if audit.risks.get(name)] for name in names}
    by_risk = {name: audits for name, audits in by_risk.items() if len(audits) > 1}
    if not by_risk:
        return None
    drawn = {f"risk-{i}": _distribution(name, comparisons.audits) for i, name in enumerate(by_risk)}
    captions = [(f"risk-{i}", name, _risk_caption(name, audits)) for i, (name, audits) in enumerate(by_risk.items())]
    body = _filled("risks.html", figures=captions, charts=drawn)
    return Section("risks", "How risk is spread, before and after", body, drawn)


def _risk_caption(risk: str, audits: list[AuditMetrics]) -> str:
    middle = LEVELS.index(0.5)
    medians = "; ".join(f"{audit.name}: {decimal(audit.risks[risk][middle])}" for audit in audits)
    return f"Shares of members whose {risk} is larger. Medians: {medians}."


def _distribution(risk: str, audits: tuple[AuditMetrics, ...]) -> Chart:
    """Share of members with a larger risk, on a logarithmic axis, so that the few most exposed are seen."""
    dashes = tuple(DASHES)
    above = tuple(1 - level for level in LEVELS)
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


def _risen(comparisons: Comparisons) -> Section:
    parts = [
        (pair, wording.risk_changes_sentence(pair), pair.risk_changes.rose[:MOST_IDS] if pair.risk_changes else ())
        for pair in comparisons.pairs
    ]
    named = any(ids for *_, ids in parts)
    return Section("risen", "Whose risk rose", _filled("risen.html", parts=parts, named=named, most=MOST_IDS))


def _reading(comparisons: Comparisons) -> Section:
    return Section("reading", "How to read this", _filled("reading.html", first=comparisons.audits[0].name))
