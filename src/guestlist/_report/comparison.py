"""The page and sentences of a comparison of audits."""

from itertools import cycle

from guestlist._audit import LEVELS, AuditMetrics, Comparison, Comparisons, Difference
from guestlist._report import (
    DASHES,
    MARKS,
    Axis,
    Chart,
    Section,
    Series,
    fill_template,
    interval_ends,
    prose,
    render_page,
    sanitize_value,
)
from guestlist._util import decimal, interval, percent
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
    changed = [(metric_name(pair, row), row) for row in (*leaks, *costs) if row.differs]
    same_accuracy = any(not row.differs for row in costs)
    return prose("comparison.differences", pair, changed, same_accuracy)


MOST_IDS = 100  # maximum length of a list on the page; the JSON file has all
SHADES = ("ink", "member", "nonmember", "other")


def comparison_page(comparisons: Comparisons) -> str:
    """Render the comparison as one self-contained HTML page."""
    comparisons = sanitize_value(type(comparisons), comparisons)
    audits = comparisons.audits
    lines = [difference_sentence(pair) for pair in comparisons.pairs]
    guarantees = [(audit, prose("audit.guarantee", audit.training)) for audit in audits]
    named = any(pair.risk_changes and pair.risk_changes.rose for pair in comparisons.pairs)
    answer = fill_template("comparison/answer.html", lines=lines)
    by_itself = fill_template("comparison/audits.html", rows=guarantees, fpr=comparisons.fpr)
    risen = fill_template("comparison/risen.html", pairs=comparisons.pairs, named=named, most=MOST_IDS, prose=prose)
    sections = (
        Section("answer", "What changed?", answer, css_class="answer"),
        Section("audits", "Each model by itself", by_itself),
        _trade(comparisons),
        _pairs(comparisons),
        _risks(comparisons),
        Section("risen", "Whose risk rose", risen),
        Section("reading", "How to read this", fill_template("comparison/reading.html", first=audits[0].name)),
    )
    return render_page(
        "Membership privacy compared:",
        ", ".join(audit.name for audit in audits),
        [section for section in sections if section],
        made_from="the results of these audits",
        cover=comparisons.cover,
        what="Models",
    )


def _trade(comparisons: Comparisons) -> Section | None:
    """Draw accuracy against leakage, one point per audit."""
    placed = [(audit, audit.accuracy) for audit in comparisons.audits if audit.accuracy is not None]
    if len(placed) < 2:
        return None
    drawn = {
        "trade-auc": _points(placed, "auc", "AUC of the headline attack"),
        "trade-tpr": _points(placed, "tpr", f"TPR at {percent(comparisons.fpr)} FPR"),
    }
    caption = "; ".join(
        f"{audit.name}: accuracy {decimal(accuracy.value)}, AUC {decimal(audit.auc.value)}, TPR {decimal(audit.tpr.value)}"
        for audit, accuracy in placed
    )
    body = fill_template("comparison/trade.html", description=caption, charts=drawn)
    return Section("trade", "Privacy against usefulness", body, drawn)


def _points(audits: list[tuple[AuditMetrics, Estimate]], metric: str, title: str) -> Chart:
    series = [
        Series(
            audit.name,
            (accuracy.value,),
            (getattr(audit, metric).value,),
            colour,
            mark=mark,
            x_ends=interval_ends([accuracy]),
            y_ends=interval_ends([getattr(audit, metric)]),
        )
        for (audit, accuracy), colour, mark in zip(audits, cycle(SHADES), cycle(MARKS), strict=False)
    ]
    return Chart(Axis("accuracy on non-members"), Axis(title), tuple(series))


def _pairs(comparisons: Comparisons) -> Section:
    tables = [
        (pair, [(metric_name(pair, row), difference_cells(pair, row), verdict(row)) for row in pair.differences])
        for pair in comparisons.pairs
    ]
    body = fill_template("comparison/pairs.html", tables=tables, together=TOGETHER, prose=prose)
    return Section("pairs", "Pair by pair", body)


def _risks(comparisons: Comparisons) -> Section | None:
    """Draw the distribution over members of each risk that at least two audits have."""
    names = dict.fromkeys(name for audit in comparisons.audits for name, at in audit.risks.items() if at)
    by_risk = {name: [audit for audit in comparisons.audits if audit.risks.get(name)] for name in names}
    by_risk = {name: audits for name, audits in by_risk.items() if len(audits) > 1}
    if not by_risk:
        return None
    drawn = {f"risk-{i}": _distribution(name, comparisons.audits) for i, name in enumerate(by_risk)}
    captions = []
    for id, (name, audits) in zip(drawn, by_risk.items(), strict=True):
        medians = "; ".join(f"{audit.name}: {decimal(audit.risks[name][LEVELS.index(0.5)])}" for audit in audits)
        captions.append((id, name, f"Shares of members whose {name} is larger. Medians: {medians}."))
    body = fill_template("comparison/risks.html", captions=captions, charts=drawn)
    return Section("risks", "Distribution of risk, before and after", body, drawn)


def _distribution(risk: str, audits: tuple[AuditMetrics, ...]) -> Chart:
    """Draw the share of members with a larger risk, on a logarithmic axis, so that the few most exposed are visible."""
    above = tuple(1 - level for level in LEVELS)
    lines = tuple(
        Series(audit.name, tuple(audit.risks[risk]), above, colour, line=2, dash=dash)
        for audit, colour, dash in zip(audits, cycle(SHADES), cycle(DASHES), strict=False)
        if audit.risks.get(risk)
    )
    return Chart(
        Axis("risk: higher means more exposed"), Axis("members above", log=True, form="percent"), lines, height=300
    )
