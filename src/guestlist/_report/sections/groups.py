"""Sections on groups: attack metrics and risks."""

import math
from collections.abc import Sequence
from operator import attrgetter

from guestlist._findings import CHANCE, CLASS, GROUP, PAIR, GroupRisk, GroupRisks, MeanRisk, Results, TooSmall
from guestlist._report import Axis, Chart, Section, Series, fill_section, interval_ends, prose, sentences, wording
from guestlist._util import count, decimal, percent, with_interval
from guestlist.metrics import Estimate
from guestlist.risks import RECOMMENDED

MAX_DRAWN = 20  # maximum number of groups in one chart; results.json has all


def groups_section(results: Results) -> Section | None:
    """Render the AUC within each group; None where there are no groups."""
    small = prose("groups.too_small", results.group_risks, GROUP)
    if not results.groups and not small:
        return None
    rows = {wording.QUERIER: results.groups, wording.FILE_HOLDER: results.file_holder_groups}
    tested = {title: groups for title, groups in rows.items() if groups}
    charts = {}
    drawn = []
    for number, (title, all_groups) in enumerate(tested.items()):
        id = f"groups-{number}"
        groups = _by_lower_end(all_groups, "auc")[:MAX_DRAWN]
        sizes = tuple(f"{group.group} = {group.value} (n = {count(group.members)})" for group in groups)
        charts[id] = interval_chart("AUC", sizes, [group.auc for group in groups], guess=CHANCE)
        values = "; ".join(f"{group.group} = {group.value} {with_interval(group.auc)}" for group in groups)
        drawn.append((id, title if len(tested) > 1 else "", f"AUC by group: {values}"))
    return fill_section(
        "groups",
        "Groups",
        "groups.html",
        charts=charts,
        sentences=sentences("groups.exposed", results),
        drawn=drawn,
        small=small,
    )


def _by_lower_end(groups: Sequence, metric: str) -> list:
    """Sort by the lower end of a metric, since a large value of a small group may be due to chance; NaN is last."""
    low = attrgetter(f"{metric}.low")
    return sorted(groups, key=lambda group: (math.isnan(low(group)), -low(group)))


def interval_chart(title: str, names: tuple[str, ...], estimates: Sequence[Estimate], *, guess: float) -> Chart:
    """Draw a dot and its interval for each name, and a line at the value of guessing."""
    positions = tuple(map(float, range(len(names))))
    values = tuple(estimate.value for estimate in estimates)
    series = (
        Series("guessing", (guess, guess), (-0.5, len(names) - 0.5), "ink", line=1.2, dash="dot", hover=False),
        Series(title, values, positions, "member", mark="circle", x_ends=interval_ends(estimates)),
    )
    return Chart(Axis(title), Axis("", names=names), series, full_width=True, height=80 + 24 * len(names))


def group_risks_section(results: Results) -> Section | None:
    """Render risks by group and class; None where there are none."""
    group_risks = results.group_risks
    if group_risks is None:
        return None
    charts = {}
    drawn = []
    for id, title, kinds in (("tpr-groups", "Groups", (GROUP, PAIR)), ("tpr-classes", "Classes", (CLASS,))):
        parts = [
            part
            for kind in kinds
            for part in _by_lower_end([part for part in group_risks.judged if part.kind == kind], "tpr")
            if not math.isnan(part.tpr.value)
        ][:MAX_DRAWN]
        if parts:
            metric = f"TPR at {percent(group_risks.fpr)} FPR"
            names = tuple(map(slice_name, parts))
            charts[id] = interval_chart(metric, names, [part.tpr for part in parts], guess=group_risks.fpr)
            values = "; ".join(f"{slice_name(part)} {percent(part.tpr.value)}" for part in parts)
            drawn.append((id, title, f"TPR by group: {values}"))
    drawn += _gap_scatter(group_risks, charts)
    # Small groups are named where groups are.
    small = [sentence for kind in (PAIR, CLASS) for sentence in sentences("groups.too_small", group_risks, kind)]
    return fill_section(
        "group_risks",
        "Risk by group and class",
        "group_risks.html",
        charts=charts,
        appendix=True,
        sentences=[*group_differences(group_risks), *small],
        # A risk that ranks within classes has one mean in all of them, and there is nothing to report about it.
        gaps=[prose("groups.gap", row) for row in results.class_gap or () if not math.isnan(row.pearson.value)],
        drawn=drawn,
    )


def _gap_scatter(group_risks: GroupRisks, charts: dict[str, Chart]) -> list[tuple[str, str, str]]:
    """Add a scatter of the mean recommended risk of each class over its generalisation gap; none below three classes."""
    points = [
        (part.gap, risk.mean, slice_name(part))
        for part in group_risks.judged
        if part.kind == CLASS and part.gap is not None
        for risk in part.risks
        if risk.risk == RECOMMENDED
    ]
    if len(points) < 3:
        return []
    series = Series(
        "classes",
        tuple(gap.value for gap, _, _ in points),
        tuple(mean.value for _, mean, _ in points),
        "member",
        mark="circle",
        y_ends=interval_ends([mean for _, mean, _ in points]),
    )
    charts["class-gap"] = Chart(Axis("generalisation gap"), Axis(f"mean {RECOMMENDED}"), (series,))
    values = "; ".join(f"{name}: {decimal(gap.value)}, {decimal(mean.value)}" for gap, mean, name in points)
    return [("class-gap", "Risk over generalisation gap", f"Gap and mean risk by class: {values}")]


def slice_name(part: GroupRisk | TooSmall) -> str:
    """Return a group as text: ``sex = f and race = b``."""
    return prose("groups.name", part)


def group_differences(group_risks: GroupRisks) -> list[str]:
    """For each type, name the groups whose mean risk differs from that of the other members."""
    differing = [
        (part, min((risk for risk in part.risks if risk.differs), key=_clarity))
        for part in group_risks.judged
        if any(risk.differs for risk in part.risks)
    ]
    differing.sort(key=lambda pair: _clarity(pair[1]))
    return sentences("groups.differences", group_risks.judged, differing)


def _clarity(risk: MeanRisk) -> tuple:
    """Sort key of differences, the clearest first."""
    return risk.p_value, -abs(risk.beyond_rest.value)
