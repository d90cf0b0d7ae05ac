"""The page and sentences of a comparison of audits."""

from markupsafe import Markup

from guestlist._audit import LEVELS, AuditMetrics, Comparison, Comparisons, Difference
from guestlist._report import (
    DASHES,
    MARKS,
    Axis,
    Chart,
    Section,
    Series,
    interval_ends,
    prose,
    render,
    render_page,
    sanitize_value,
)
from guestlist._util import count, decimal, interval, percent
from guestlist.metrics import Estimate

METRICS = {
    "accuracy": "accuracy on {of}",
    "auc": "AUC of {of}",
    "tpr": "TPR at {fpr} FPR of {of}",
    "exposed_auc": "AUC of {of}, most exposed {share} of members",
    "exposed_tpr": "TPR at {fpr} FPR of {of}, most exposed {share} of members",
    "calibration_error": "calibration error on {of}",
}
TOGETHER = (
    "The intervals of one model's differences hold simultaneously at 95%. They are about these models; other models trained the "
    "same way would give different values."
)


def metric_name(pair: Comparison, row: Difference) -> str:
    """Return the name of the compared metric."""
    share = "" if pair.most_exposed is None else percent(pair.most_exposed.share)
    return METRICS[row.metric].format(of=row.scope, fpr=percent(pair.fpr), share=share)


def verdict(row: Difference) -> str:
    """Return the verdict that follows from the interval."""
    if row.difference.value != row.difference.value:
        return "withheld"
    if not row.differs:
        return "no evidence"
    if row.difference.value > 0:
        return "higher"
    return "lower"


def difference_cells(pair: Comparison, row: Difference) -> tuple[str, str, str, str]:
    """Return the first value, the second, their difference, and its interval."""
    values = (row.first.value, row.second.value, row.difference.value)
    return *(decimal(value) for value in values), interval(row.difference)  # type: ignore[return-value]


def difference_sentence(pair: Comparison) -> str:
    """Return the main difference of the second audit in one sentence."""
    rows = {(row.metric, row.scope): row for row in pair.differences}
    leaks = [row for row in rows.values() if row.metric in ("auc", "tpr", "exposed_auc", "exposed_tpr")]
    costs = [row for key, row in rows.items() if key == ("accuracy", "non-members")]
    changes = [_change(pair, row) for row in (*leaks, *costs) if row.differs]
    if not changes:
        return f"{pair.second} compared with {pair.first}: no evidence of a difference in leakage or accuracy."
    silent = ""
    if costs and not costs[0].differs:
        silent = "; no evidence of a difference in accuracy"
    return f"{pair.second} compared with {pair.first}: {'; '.join(changes)}{silent}."


def _change(pair: Comparison, row: Difference) -> str:
    by = decimal(abs(row.difference.value))
    low, high = sorted(abs(end) for end in (row.difference.low, row.difference.high))
    way = "higher" if row.difference.value > 0 else "lower"
    return f"{metric_name(pair, row)} is {way} by {by} ({decimal(low, -1)} to {decimal(high, 1)})"


def exposed_sentence(pair: Comparison) -> str:
    """Return the number of most exposed members and the detectable difference."""
    exposed = pair.most_exposed
    if exposed is None:
        return "The most exposed members are not compared: mu selects them, and one audit has too few reference models for it."
    few = f"{percent(exposed.share)} of {count(pair.members)} members are {count(exposed.members)}"
    chosen = "They are selected by mu, the larger of the two audits', which is computed from reference models only."
    if exposed.seen_from is None:
        return f"{few}, too few to detect any difference in TPR. {chosen}"
    fall = percent(exposed.seen_from)
    return f"{few}. If all of them were identified before, a decrease of {fall} or more would be detected. {chosen}"


def risk_changes_sentence(pair: Comparison) -> str:
    """Return the numbers of members whose risk rose and fell."""
    changes = pair.risk_changes
    if changes is None:
        return "Changes of risk are not reported: one of the audits has too few reference models for mu, or no error of it."
    rose, fell = (count(len(ids)) for ids in (changes.rose, changes.fell))
    return (
        f"Of {count(changes.tested)} members, there is evidence that the risk (mu) of {rose} rose and that of {fell} fell. The "
        f"false discovery rate of each list is controlled at {percent(changes.q)}."
    )


MOST_IDS = 100  # maximum length of a list on the page; the JSON file has all
SHADES = ("ink", "member", "nonmember", "other")


def comparison_page(comparisons: Comparisons) -> str:
    """Render the comparison as one self-contained HTML page."""
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
    lines = [difference_sentence(pair) for pair in comparisons.pairs]
    return Section("answer", "What changed?", _filled("answer.html", lines=lines), css_class="answer")


def _audits(comparisons: Comparisons) -> Section:
    rows = [(audit, _attacker(audit), prose("audit.guarantee", audit.training)) for audit in comparisons.audits]
    body = _filled("audits.html", rows=rows, fpr=comparisons.fpr)
    return Section("audits", "Each model by itself", body)


def _attacker(audit: AuditMetrics) -> str:
    if audit.training is None:
        return "not recorded"
    return audit.training.attacker


def _trade(comparisons: Comparisons) -> Section | None:
    """Draw accuracy against leakage, one point per audit."""
    placed = [audit for audit in comparisons.audits if audit.accuracy is not None]
    if len(placed) < 2:
        return None
    drawn = {
        "trade-auc": _points(placed, "auc", "AUC of the headline attack"),
        "trade-tpr": _points(placed, "tpr", f"TPR at {percent(comparisons.fpr)} FPR"),
    }
    caption = "; ".join(
        f"{audit.name}: accuracy {decimal(_value(audit.accuracy))}, AUC {decimal(audit.auc.value)}, "
        f"TPR {decimal(audit.tpr.value)}"
        for audit in placed
    )
    return Section(
        "trade", "Privacy against usefulness", _filled("trade.html", description=caption, charts=drawn), drawn
    )


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
    if estimate is None:
        return float("nan")
    return estimate.value


def _pairs(comparisons: Comparisons) -> Section:
    tables = []
    for pair in comparisons.pairs:
        rows = [(metric_name(pair, row), difference_cells(pair, row), verdict(row)) for row in pair.differences]
        missing = ""
        if not _calibrated(pair):
            missing = "Calibration error was not recorded in one of the audits, or there are no classes."
        tables.append((pair, rows, exposed_sentence(pair), missing))
    body = _filled("pairs.html", tables=tables, together=TOGETHER)
    return Section("pairs", "Pair by pair", body)


def _calibrated(pair: Comparison) -> bool:
    return any(row.metric == "calibration_error" for row in pair.differences)


def _risks(comparisons: Comparisons) -> Section | None:
    """Draw the distribution over members of each risk that at least two audits have."""
    names = dict.fromkeys(name for audit in comparisons.audits for name, at in audit.risks.items() if at)
    by_risk = {name: [audit for audit in comparisons.audits if audit.risks.get(name)] for name in names}
    by_risk = {name: audits for name, audits in by_risk.items() if len(audits) > 1}
    if not by_risk:
        return None
    drawn = {f"risk-{i}": _distribution(name, comparisons.audits) for i, name in enumerate(by_risk)}
    captions = [(f"risk-{i}", name, _risk_caption(name, audits)) for i, (name, audits) in enumerate(by_risk.items())]
    body = _filled("risks.html", captions=captions, charts=drawn)
    return Section("risks", "Distribution of risk, before and after", body, drawn)


def _risk_caption(risk: str, audits: list[AuditMetrics]) -> str:
    middle = LEVELS.index(0.5)
    medians = "; ".join(f"{audit.name}: {decimal(audit.risks[risk][middle])}" for audit in audits)
    return f"Shares of members whose {risk} is larger. Medians: {medians}."


def _distribution(risk: str, audits: tuple[AuditMetrics, ...]) -> Chart:
    """Draw the share of members with a larger risk, on a logarithmic axis, so that the few most exposed are visible."""
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
        (pair, risk_changes_sentence(pair), pair.risk_changes.rose[:MOST_IDS] if pair.risk_changes else ())
        for pair in comparisons.pairs
    ]
    named = any(ids for *_, ids in parts)
    return Section("risen", "Whose risk rose", _filled("risen.html", parts=parts, named=named, most=MOST_IDS))


def _reading(comparisons: Comparisons) -> Section:
    return Section("reading", "How to read this", _filled("reading.html", first=comparisons.audits[0].name))
