"""Predictive value of each risk for the headline attack, compared with flagging every member."""

from __future__ import annotations

import math
from collections.abc import Sequence

from guestlist.findings.group_risks import GroupRisks
from guestlist.findings.results import Results
from guestlist.findings.risk_list import REPORT, contradictions
from guestlist.report import words
from guestlist.report.format import count, decimal, with_interval
from guestlist.report.section import Section, fill_template
from guestlist.report.sections.group_risks import slice_name
from guestlist.risks import RECOMMENDED, PredictiveValue


def section(results: Results) -> Section | None:
    """Render the predictive value of each risk; None without risks."""
    if not results.risks:
        return None
    text = fill_template(
        "risks.html", said=risk_value_sentence(results.risks), beside=shapr_caveat(results.risks), rows=results.risks
    )
    return Section("risks", "What risks are worth", text, appendix=True)


def shapr_caveat(rows: tuple[PredictiveValue, ...]) -> str:
    """Return the caveat that goes with SHAPr; empty where it is not shown."""
    if not any(row.risk.startswith("shapr") for row in rows):
        return ""
    return (
        "SHAPr is what a member is worth to a K-NN model of the others. Its values add up to that model's accuracy: their mean "
        "over all members is utility, not privacy. A memorised outlier, which helps nobody but itself, can have a low one. "
        "And it says something only where it does better than the row of everybody."
    )


def risk_value_sentence(rows: tuple[PredictiveValue, ...]) -> str:
    """Name the risk that best ranks the flagged members, and compare with flagging every member."""
    everyone, *others = rows
    ranked = [row for row in others if not math.isnan(row.auc.value)]
    start = (
        f"At a false-positive rate of 5%, {everyone.attack} calls {count(everyone.flagged)} of "
        f"{words.counted(everyone.members, 'member')}"
    )
    if not ranked:
        return f"{start}: there is nothing by which a risk could rank them."
    best = max(ranked, key=lambda row: row.auc.value)
    ranking = f"ranks those it calls above the others with AUC {with_interval(best.auc)}"
    caveat = words.only_if(best.auc.low <= 0.5, ", which is not shown to be better than chance")
    return (
        f"{start}. Of {words.counted(len(ranked), 'risk')}, {best.risk} {ranking}{caveat}. Calling everybody at risk has F1 "
        f"{decimal(everyone.f1.value)} and tells nothing: read F1 beside it."
    )


def ranking_disagreements(pairs: Sequence[tuple[str, str, float]]) -> list[str]:
    """Report the rankings of members that differ, and by how much."""
    from_report = [f"{name} ({decimal(value)})" for first, name, value in pairs if first == REPORT]
    sentences = [
        f"{first} and {second} rank members differently (Spearman correlation {decimal(value)}): they measure different things."
        for first, second, value in pairs
        if first != REPORT
    ]
    if from_report:
        sentences.append(
            "These risks rank members differently from the report's list of exposed records (Spearman correlation in brackets): "
            f"{words.and_joined(from_report)}."
        )
    return sentences


def group_contradictions(group_risks: GroupRisks) -> list[str]:
    """Name the groups with more of one risk and less of another than the other members."""
    sentences = []
    for part, higher, lower in contradictions(group_risks):
        advice = words.only_if(RECOMMENDED in (*higher, *lower), f" {RECOMMENDED} is the recommended risk.")
        sentences.append(
            f"Risks contradict each other for {slice_name(part)}: more {words.and_joined(higher)}, but less "
            f"{words.and_joined(lower)} than the rest. They measure different things.{advice}"
        )
    return sentences
