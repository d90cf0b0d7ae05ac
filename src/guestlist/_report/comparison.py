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
    fill_section,
    interval_ends,
    prose,
    render_page,
    sanitize_value,
)
from guestlist._util import decimal, percent
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
    return METRICS[row.metric].format(
        of=row.scope,
        fpr=percent(pair.fpr),
        share="" if pair.most_exposed is None else percent(pair.most_exposed.share),
    )


def verdict(row: Difference) -> str:
    """Return the verdict that follows from the interval."""
    if row.difference.value != row.difference.value:
        return "withheld"
    if not row.differs:
        return "no evidence"
    if row.difference.value > 0:
        return "higher"
    return "lower"


def difference_sentence(pair: Comparison) -> str:
    """Return the main difference of the second audit in one sentence."""
    leaks = [row for row in pair.differences if row.metric in ("auc", "tpr", "exposed_auc", "exposed_tpr")]
    costs = [row for row in pair.differences if (row.metric, row.scope) == ("accuracy", "non-members")]
    changed = [(metric_name(pair, row), row) for row in (*leaks, *costs) if row.differs]
    same_accuracy = any(not row.differs for row in costs)
    return prose("comparison.differences", pair, changed, same_accuracy)


MOST_IDS = 100  # maximum length of a list on the page; the JSON file has all
SHADES = ("ink", "member", "nonmember", "other")


def comparison_page(comparisons: Comparisons) -> str:
    """Render the comparison as one self-contained HTML page."""
    comparisons = sanitize_value(type(comparisons), comparisons)
    audits = comparisons.audits
    sections = (
        fill_section(
            "answer",
            "What changed?",
            "comparison/answer.html",
            css_class="answer",
            lines=map(difference_sentence, comparisons.pairs),
        ),
        fill_section(
            "audits",
            "Each model by itself",
            "comparison/audits.html",
            rows=[(audit, prose("audit.guarantee", audit.training)) for audit in audits],
            fpr=comparisons.fpr,
        ),
        _trade(comparisons),
        _pairs(comparisons),
        _risks(comparisons),
        fill_section(
            "risen",
            "Whose risk rose",
            "comparison/risen.html",
            pairs=comparisons.pairs,
            named=any(pair.risk_changes and pair.risk_changes.rose for pair in comparisons.pairs),
            most=MOST_IDS,
            prose=prose,
        ),
        fill_section("reading", "How to read this", "comparison/reading.html", first=audits[0].name),
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
    return fill_section(
        "trade",
        "Privacy against usefulness",
        "comparison/trade.html",
        charts={
            "trade-auc": _points(placed, "auc", "AUC of the headline attack"),
            "trade-tpr": _points(placed, "tpr", f"TPR at {percent(comparisons.fpr)} FPR"),
        },
        description="; ".join(
            f"{audit.name}: accuracy {decimal(accuracy.value)}, AUC {decimal(audit.auc.value)}, TPR {decimal(audit.tpr.value)}"
            for audit, accuracy in placed
        ),
    )


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
        (pair, [(metric_name(pair, row), row, verdict(row)) for row in pair.differences]) for pair in comparisons.pairs
    ]
    return fill_section("pairs", "Pair by pair", "comparison/pairs.html", tables=tables, together=TOGETHER, prose=prose)


def _risks(comparisons: Comparisons) -> Section | None:
    """Draw the distribution over members of each risk that at least two audits have."""
    names = dict.fromkeys(name for audit in comparisons.audits for name, at in audit.risks.items() if at)
    by_risk = {name: [audit for audit in comparisons.audits if audit.risks.get(name)] for name in names}
    by_risk = {name: audits for name, audits in by_risk.items() if len(audits) > 1}
    if not by_risk:
        return None
    captions = []
    for i, (name, audits) in enumerate(by_risk.items()):
        medians = "; ".join(f"{audit.name}: {decimal(audit.risks[name][LEVELS.index(0.5)])}" for audit in audits)
        captions.append((f"risk-{i}", name, f"Shares of members whose {name} is larger. Medians: {medians}."))
    return fill_section(
        "risks",
        "Distribution of risk, before and after",
        "comparison/risks.html",
        charts={id: _distribution(name, comparisons.audits) for id, name, _ in captions},
        captions=captions,
    )


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
