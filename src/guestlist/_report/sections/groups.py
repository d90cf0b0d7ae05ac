"""Sections on groups: attack metrics and risks."""

import math
from collections.abc import Sequence
from itertools import groupby

from guestlist._findings import (
    CHANCE,
    CLASS,
    GROUP,
    PAIR,
    GapCorrelation,
    GroupResult,
    GroupRisk,
    GroupRisks,
    MeanRisk,
    Results,
    TooSmall,
)
from guestlist._report import Axis, Chart, Section, Series, fill_template, interval_ends, wording
from guestlist._util import compact, count, decimal, percent, with_interval
from guestlist.metrics import Estimate
from guestlist.risks import RECOMMENDED

MAX_DRAWN = 20  # maximum number of groups in one chart; results.json has all


def groups_section(results: Results) -> Section | None:
    """Render the AUC within each group; None where there are no groups."""
    small = small_groups_sentence(results)
    if not results.groups and not small:
        return None
    headline_rows = {wording.QUERIER: results.groups or (), wording.FILE_HOLDER: results.file_holder_groups or ()}
    tested = {title: sorted(groups, key=_exposure)[:MAX_DRAWN] for title, groups in headline_rows.items() if groups}
    charts = {}
    drawn = []
    for number, (title, groups) in enumerate(tested.items()):
        id = f"groups-{number}"
        charts[id] = _auc_chart(groups)
        label = "AUC by group: " + "; ".join(f"{group_name(group)} {with_interval(group.auc)}" for group in groups)
        drawn.append((id, wording.only_if(len(tested) > 1, title), label))
    sentences = [exposed_group_sentence(results), file_holder_group_sentence(results)]
    body = fill_template(
        "groups.html", sentences=list(filter(None, sentences)), charts=charts, drawn=drawn, small=small
    )
    return Section("groups", "Groups", body, charts)


def _auc_chart(groups: Sequence[GroupResult]) -> Chart:
    """Draw the AUC within each group with its interval, and guessing."""
    names = tuple(f"{group_name(group)} (n = {count(group.members)})" for group in groups)
    return interval_chart("AUC", names, [group.auc for group in groups], guess=CHANCE)


def interval_chart(title: str, names: tuple[str, ...], estimates: Sequence[Estimate], *, guess: float) -> Chart:
    """Draw a dot and its interval for each name, and a line at the value of guessing."""
    positions = tuple(map(float, range(len(names))))
    dots = Series(
        title,
        tuple(estimate.value for estimate in estimates),
        positions,
        "member",
        mark="circle",
        x_ends=interval_ends(estimates),
    )
    line = Series("guessing", (guess, guess), (-0.5, len(names) - 0.5), "ink", line=1.2, dash="dot", hover=False)
    return Chart(Axis(title), Axis("", names=names), (line, dots), full_width=True, height=80 + 24 * len(names))


def small_groups_sentence(results: Results) -> str:
    """Name the groups that are too small to be evaluated; empty where there are none or an older version did not list them."""
    group_risks = results.group_risks
    if group_risks is None or not any(group.kind == GROUP for group in group_risks.small):
        return ""
    return too_small_sentence(group_risks, GROUP)


def _exposure(group: GroupResult) -> tuple[bool, float]:
    """Sort key: the lower end of the AUC, since a large AUC of a small group may be due to chance; NaN is last."""
    return math.isnan(group.auc.low), -group.auc.low


def exposed_group_sentence(results: Results) -> str | None:
    """Name the group that is most exposed to the headline attack; None without groups."""
    return _most_exposed(results.groups or (), "the headline attack")


def file_holder_group_sentence(results: Results) -> str | None:
    """Name the group that is most exposed to someone who holds the model file; None without such a row."""
    if results.file_holder is None:
        return None
    sentence = _most_exposed(results.file_holder_groups or (), results.file_holder.name)
    return sentence and f"{wording.FILE_HOLDER}: {sentence}"


def _most_exposed(groups: Sequence[GroupResult], attack: str) -> str | None:
    known = [group for group in groups if not math.isnan(group.auc.value)]
    if not known:
        return None
    exposed = [group for group in known if group.exposed]
    if not exposed:
        none = wording.plural(len(known), "The one group is not", f"None of {count(len(known))} groups is")
        unseen = "small groups have wide intervals, which may hide a leak"
        return f"{none} significantly exposed by itself; {unseen}."
    top = min(exposed, key=_exposure)
    start = wording.plural(len(known), "The one group", f"The most exposed of {count(len(known))} groups")
    metrics = f"AUC {with_interval(top.auc)}, over {wording.counted(top.members, 'member')}"
    return f"{start} is {group_name(top)}: {attack} has {metrics}. {_compared_with_others(top)}".strip()


def group_name(group: GroupResult) -> str:
    """Return a group as text: ``age = 18-25``."""
    return f"{group.group} = {group.value}"


def _compared_with_others(group: GroupResult) -> str:
    difference = group.beyond_rest
    if difference is None or math.isnan(difference.value):
        return ""
    if group.more_exposed:
        return f"This is {with_interval(difference)} above the AUC of the other records."
    return "There is no evidence that this AUC is above that of the other records."


KIND_NAMES = {GROUP: "group", PAIR: "pair of groups", CLASS: "class"}
KIND_PLURALS = {GROUP: "groups", PAIR: "pairs of groups", CLASS: "classes"}
MAX_NAMED = 20  # small groups that are named
MAX_NAMED_PAIRS = 3  # differing groups and small pairs that are named; the tables have all


def group_risks_section(results: Results) -> Section | None:
    """Render risks by group and class; None where there are none."""
    group_risks = results.group_risks
    if group_risks is None:
        return None
    charts = {}
    drawn = []
    for id, title, kinds in (("tpr-groups", "Groups", (GROUP, PAIR)), ("tpr-classes", "Classes", (CLASS,))):
        parts = [part for part in _most_exposed_first(group_risks, *kinds) if not math.isnan(part.tpr.value)][
            :MAX_DRAWN
        ]
        if parts:
            names = tuple(map(slice_name, parts))
            estimates = [part.tpr for part in parts]
            charts[id] = interval_chart(
                f"TPR at {percent(group_risks.fpr)} FPR", names, estimates, guess=group_risks.fpr
            )
            values = "; ".join(f"{name} {percent(part.tpr.value)}" for name, part in zip(names, parts, strict=True))
            drawn.append((id, title, f"TPR by group: {values}"))
    drawn += _gap_scatter(group_risks, charts)
    body = fill_template(
        "group_risks.html",
        sentences=[
            *group_differences(group_risks),
            # Small groups are named where groups are.
            *(
                too_small_sentence(group_risks, kind)
                for kind in (PAIR, CLASS)
                if any(item.kind == kind for item in group_risks.small)
            ),
        ],
        # A risk that ranks within classes has one mean in all of them, and there is nothing to report about it.
        gaps=[gap_sentence(item) for item in results.class_gap or () if not math.isnan(item.pearson.value)],
        charts=charts,
        drawn=drawn,
    )
    return Section("group_risks", "Risk by group and class", body, charts, appendix=True)


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
    return " and ".join(f"{column} = {value}" for column, value in part.values.items())


def group_differences(group_risks: GroupRisks) -> list[str]:
    """For each type, name the groups whose mean risk differs from that of the other members."""
    sentences = []
    for kind, parts in groupby(group_risks.judged, key=lambda part: part.kind):
        groups = list(parts)
        if not any(group.risks for group in groups):
            continue
        differing = [(part, _clearest(part)) for part in groups if any(risk.differs for risk in part.risks)]
        differing.sort(key=lambda pair: (pair[1].p_value, -abs(pair[1].beyond_rest.value)))
        start = f"Of {count(len(groups))} {KIND_PLURALS[kind]}"
        if kind == GROUP:
            start = f"Of {wording.counted(len(groups), KIND_NAMES[kind])}"
        if not differing:
            sentences.append(f"{start}, none differs significantly from the rest in the mean of a risk.")
            continue
        differences = "; ".join(_difference(part, risk) for part, risk in differing[:MAX_NAMED_PAIRS])
        if len(differing) > MAX_NAMED_PAIRS:
            differences += f"; and {count(len(differing) - MAX_NAMED_PAIRS)} more, in results.json"
        sentences.append(f"{start}, these differ significantly from the rest in the mean of a risk: {differences}.")
    return sentences


def too_small_sentence(group_risks: GroupRisks, kind: str) -> str:
    """Name the groups of a type that are too small to be evaluated, with their sizes."""
    small = [group for group in group_risks.small if group.kind == kind]
    max_named = MAX_NAMED_PAIRS if kind == PAIR else MAX_NAMED
    by_columns = groupby(small[:max_named], key=lambda group: tuple(group.values))
    named = "; ".join(_named(list(groups)) for _, groups in by_columns)
    if len(small) > max_named:
        named += f"; and {count(len(small) - max_named)} more, in results.json"
    minimum = count(group_risks.fewest)
    kinds = wording.plural(len(small), KIND_NAMES[kind], KIND_PLURALS[kind])
    return (
        f"{count(len(small))} {kinds} with fewer than {minimum} members or {minimum} non-members are not evaluated "
        f"(numbers in brackets): {named}."
    )


def _named(groups: list[TooSmall]) -> str:
    """Name groups of the same columns with their sizes; a single column is named once."""
    if len(groups[0].values) > 1:
        return "; ".join(f"{slice_name(group)} {_sizes(group)}" for group in groups)
    (column,) = groups[0].values
    return f"{column} = " + ", ".join(f"{group.values[column]} {_sizes(group)}" for group in groups)


def _sizes(group: TooSmall) -> str:
    return f"({count(group.members)} and {count(group.nonmembers)})"


def gap_sentence(correlation: GapCorrelation) -> str:
    """Report whether the mean of a risk varies with the generalisation gap over classes."""
    start = f"Over {count(correlation.classes)} classes, "
    gap = "the generalisation gap"
    coefficients = f"r = {with_interval(correlation.pearson)}, Spearman {with_interval(correlation.spearman)}"
    if correlation.p_value is None:
        return (
            f"{start}{correlation.risk} is not tested against {gap}: both come from the same records ({coefficients})."
        )
    coefficients += f", corrected p = {compact(correlation.p_value)}"
    if not correlation.significant:
        return f"{start}there is no evidence that the mean of {correlation.risk} varies with {gap}: {coefficients}."
    direction = "rises" if correlation.pearson.value > 0 else "falls"
    return f"{start}the mean of {correlation.risk} {direction} with {gap}: {coefficients}."


def _difference(part: GroupRisk, risk: MeanRisk) -> str:
    gap = risk.beyond_rest
    if gap.value < 0:  # the text reads "less by 0.03"
        gap = Estimate(-gap.value, -gap.high, -gap.low)
    direction = "more" if risk.beyond_rest.value > 0 else "less"
    text = f"{slice_name(part)}, {direction} {risk.risk}, by {with_interval(gap)}"
    text += f", corrected p = {compact(risk.p_value or 0.0)}"
    others = sum(other.differs for other in part.risks) - 1
    return text + wording.only_if(others, f", and {wording.counted(others, 'other risk')}")


def _clearest(part: GroupRisk) -> MeanRisk:
    """Return the difference with the smallest p-value."""
    differing = [risk for risk in part.risks if risk.differs]
    return min(differing, key=lambda risk: (risk.p_value, -abs(risk.beyond_rest.value)))


def _most_exposed_first(group_risks: GroupRisks, *kinds: str) -> Sequence[GroupRisk]:
    """Return groups by type, within each the most exposed first.

    They are sorted by the lower end of the TPR, since a large TPR of a small group may be due to chance.
    """
    groups = [group for group in group_risks.judged if group.kind in kinds]
    return sorted(groups, key=lambda group: (kinds.index(group.kind), math.isnan(group.tpr.low), -group.tpr.low))
