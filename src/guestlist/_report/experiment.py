"""The page of an experiment on dependent records."""

import math

from guestlist._audit import ACCURACIES, ATTACKS, SHADOWS, TARGET, Experiment
from guestlist._case import Cover
from guestlist._report import (
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
from guestlist.privacy import humphries

NAMES = {
    "average_threshold": "loss below the {} average training loss",
    "optimal_threshold": "best threshold on the loss, an upper bound",
    "shadow": "a network fitted on shadow models",
}
AVERAGES = {TARGET: "target's own", SHADOWS: "shadow models'"}
WHOSE = {"members": "members", "nonmembers": "non-members", "validation": "others drawn as members are"}
ARMS = {"apart": "members differ", "iid": "i.i.d. control"}
SHADES = {"apart": "member", "iid": "nonmember"}
SHAPES = {"apart": "circle", "iid": "square"}
DASHES = {"nonmembers": "dash", "validation": "dot"}


def experiment_page(experiment: Experiment) -> str:
    """Render the experiment as one self-contained HTML page."""
    sections = [
        fill_section(
            "answer",
            "Is the model the cause, or do members differ?",
            "experiment/answer.html",
            css_class="answer",
            lines=answer(experiment),
        ),
        _advantage(experiment),
        _accuracy(experiment),
        fill_section("reading", "How to read this page", "experiment/reading.html"),
    ]
    cover = None if experiment.cover is None else sanitize_value(Cover, experiment.cover)
    return render_page(
        "Dependent records:",
        prose("experiment.game", experiment.game),
        sections,
        made_from="experiment.json",
        cover=cover,
        what="Game",
    )


def attack_name(experiment: Experiment, attack: str) -> str:
    """Return the display name of an attack."""
    return NAMES[attack].format(AVERAGES[experiment.average_of])


def answer(experiment: Experiment) -> list[str]:
    """Return one paragraph per attack."""
    compared = {gap.attack for gap in experiment.gaps}
    return [_attack_answer(experiment, attack) for attack in ATTACKS if attack in compared]


def _attack_answer(experiment: Experiment, attack: str) -> str:
    gaps = [gap for gap in experiment.gaps if gap.attack == attack]
    larger = [gap for gap in gaps if gap.difference.low > 0]
    return prose(
        "experiment.attack",
        attack_name(experiment, attack),
        number=len(gaps),
        larger=len(larger),
        smaller=sum(gap.difference.high < 0 for gap in gaps),
        largest=max(larger, key=lambda gap: gap.difference.value, default=None),
        above=[
            epsilon_text(epsilon)
            for epsilon in experiment.epsilons
            if experiment.mean(attack, epsilon).low > _bound(experiment, epsilon)
        ],
        epsilon_text=epsilon_text,
    )


def epsilon_text(epsilon: float) -> str:
    if math.isinf(epsilon):
        return "∞"
    return f"{epsilon:g}"


def _advantage(experiment: Experiment) -> Section:
    attacks = list(dict.fromkeys(gap.attack for gap in experiment.gaps))
    drawn = {
        f"advantage-{attack}": _chart(experiment, [(attack, arm) for arm in ARMS], "advantage", bound=True)
        for attack in attacks
    }
    rows = [
        (
            attack_name(experiment, gap.attack),
            epsilon_text(gap.epsilon),
            _bound(experiment, gap.epsilon),
            *(experiment.mean(gap.attack, gap.epsilon, arm) for arm in ARMS),
            gap.difference,
        )
        for gap in sorted(experiment.gaps, key=lambda gap: attacks.index(gap.attack))
    ]
    return fill_section(
        "advantage",
        "Advantage of the attacks",
        "experiment/advantage.html",
        charts=drawn,
        named=[(f"advantage-{attack}", attack_name(experiment, attack)) for attack in attacks],
        rows=rows,
        repeats=experiment.repeats,
        delta=experiment.delta,
    )


def _accuracy(experiment: Experiment) -> Section:
    known = {(point.metric, point.arm) for point in experiment.points if point.metric in ACCURACIES}
    lines = [(metric, arm) for metric in ACCURACIES for arm in ARMS if (metric, arm) in known]
    rows = [
        (f"{WHOSE[metric]}, {ARMS[arm]}", [experiment.mean(metric, epsilon, arm) for epsilon in experiment.epsilons])
        for metric, arm in lines
    ]
    return fill_section(
        "accuracy",
        "How often the model is right",
        "experiment/accuracy.html",
        charts={"accuracy-chart": _chart(experiment, lines, "accuracy")},
        rows=rows,
        epsilons=[epsilon_text(epsilon) for epsilon in experiment.epsilons],
        validated=("validation", "apart") in known,
    )


def _bound(experiment: Experiment, epsilon: float) -> float:
    if math.isinf(epsilon):
        return 1.0
    return humphries(epsilon, experiment.delta)


def _chart(experiment: Experiment, lines: list[tuple[str, str]], axis: str, *, bound: bool = False) -> Chart:
    """Draw lines with error bars over the epsilons, equally spaced, because the last may be infinite."""
    positions = tuple(map(float, range(len(experiment.epsilons))))
    series = [_means(experiment, metric, arm, positions) for metric, arm in lines]
    if bound:
        allowed = tuple(_bound(experiment, epsilon) for epsilon in experiment.epsilons)
        series.append(Series("allowed, were records alike", positions, allowed, "quiet", line=1.2, dash="dot"))
    names = tuple(map(epsilon_text, experiment.epsilons))
    return Chart(Axis("epsilon", names=names), Axis(axis), tuple(series), full_width=not bound)


def _means(experiment: Experiment, metric: str, arm: str, positions: tuple[float, ...]) -> Series:
    means = [experiment.mean(metric, epsilon, arm) for epsilon in experiment.epsilons]
    return Series(
        ARMS[arm] if metric in ATTACKS else f"{WHOSE[metric]}, {ARMS[arm]}",
        positions,
        tuple(mean.value for mean in means),
        SHADES[arm],
        line=2.0,
        dash=DASHES.get(metric, "solid"),
        mark=SHAPES[arm],
        y_ends=interval_ends(means),
    )
