"""The page of an experiment on dependent records."""

import math

from guestlist._audit import ACCURACIES, ATTACKS, SHADOWS, TARGET, Experiment
from guestlist._case import Cover
from guestlist._report import Axis, Chart, Section, Series, fill_template, interval_ends, render_page, sanitize_value
from guestlist._util import decimal, interval
from guestlist.metrics import Estimate
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
DASHES = {"nonmembers": "dash", "validation": "dot"}


def experiment_page(experiment: Experiment) -> str:
    """Render the experiment as one self-contained HTML page."""
    lines = fill_template("experiment/answer.html", lines=answer(experiment))
    sections = [
        Section("answer", "Is the model the cause, or do members differ?", lines, css_class="answer"),
        _advantage(experiment),
        _accuracy(experiment),
        Section("reading", "How to read this page", fill_template("experiment/reading.html")),
    ]
    cover = None if experiment.cover is None else sanitize_value(Cover, experiment.cover)
    return render_page(
        "Dependent records:",
        game_description(experiment),
        sections,
        made_from="experiment.json",
        cover=cover,
        what="Game",
    )


def game_description(experiment: Experiment) -> str:
    """Return the name and the options of the game, without options that are not set."""
    options = (
        (name, value) for name, value in experiment.game.items() if name not in ("name", "iid") and value is not None
    )
    return f"{experiment.game['name']} ({', '.join(f'{name} {value}' for name, value in options)})"


def attack_name(experiment: Experiment, attack: str) -> str:
    """Return the display name of an attack."""
    return NAMES[attack].format(AVERAGES[experiment.average_of])


def answer(experiment: Experiment) -> list[str]:
    """Return one sentence per attack."""
    return [line for attack in ATTACKS if (line := _attack_sentence(experiment, attack))]


def _attack_sentence(experiment: Experiment, attack: str) -> str | None:
    gaps = [gap for gap in experiment.gaps if gap.attack == attack]
    if not gaps:
        return None
    larger, smaller = ([gap for gap in gaps if excludes_zero(gap.difference, side)] for side in (1, -1))
    name = attack_name(experiment, attack)
    if larger:
        largest = max(larger, key=lambda gap: gap.difference.value)
        by = f"{decimal(largest.difference.value)} ({interval(largest.difference)})"
        at = f"at epsilon {epsilon_text(largest.epsilon)}; significant for {len(larger)} of {len(gaps)} epsilons"
        line = f"{name}: dependent records add up to {by} to its advantage ({at})."
    else:
        line = f"{name}: no evidence that dependent records add to its advantage."
    if smaller:
        line += f" For {len(smaller)} of {len(gaps)} epsilons they reduce it."
    above = [epsilon for epsilon in experiment.epsilons if _above(experiment, attack, epsilon)]
    if above:
        line += (
            f" At epsilon {', '.join(map(epsilon_text, above))} it exceeds the bound that differential privacy implies for "
            "i.i.d. records."
        )
    return line[0].upper() + line[1:]


def excludes_zero(difference: Estimate, side: int) -> bool:
    """Return whether the whole interval lies on one side of 0."""
    return (difference.low if side > 0 else -difference.high) > 0


def _above(experiment: Experiment, attack: str, epsilon: float) -> bool:
    return not math.isinf(epsilon) and experiment.mean(attack, epsilon).low > humphries(epsilon, experiment.delta)


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
    body = fill_template(
        "experiment/advantage.html",
        charts=drawn,
        named=[(f"advantage-{attack}", attack_name(experiment, attack)) for attack in attacks],
        rows=rows,
        repeats=experiment.repeats,
        delta=experiment.delta,
    )
    return Section("advantage", "Advantage of the attacks", body, drawn)


def _accuracy(experiment: Experiment) -> Section:
    known = {(point.metric, point.arm) for point in experiment.points if point.metric in ACCURACIES}
    lines = [(metric, arm) for metric in ACCURACIES for arm in ARMS if (metric, arm) in known]
    rows = [
        (f"{WHOSE[metric]}, {ARMS[arm]}", [experiment.mean(metric, epsilon, arm) for epsilon in experiment.epsilons])
        for metric, arm in lines
    ]
    drawn = {"accuracy-chart": _chart(experiment, lines, "accuracy")}
    body = fill_template(
        "experiment/accuracy.html",
        charts=drawn,
        rows=rows,
        epsilons=[epsilon_text(epsilon) for epsilon in experiment.epsilons],
        validated=("validation", "apart") in known,
    )
    return Section("accuracy", "How often the model is right", body, drawn)


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
    names = tuple(epsilon_text(epsilon) for epsilon in experiment.epsilons)
    return Chart(Axis("epsilon", names=names), Axis(axis), tuple(series), full_width=not bound)


def _means(experiment: Experiment, metric: str, arm: str, positions: tuple[float, ...]) -> Series:
    means = [experiment.mean(metric, epsilon, arm) for epsilon in experiment.epsilons]
    name = ARMS[arm] if metric in ATTACKS else f"{WHOSE[metric]}, {ARMS[arm]}"
    values = tuple(mean.value for mean in means)
    mark = "circle" if arm == "apart" else "square"
    dash = DASHES.get(metric, "solid")
    return Series(name, positions, values, SHADES[arm], line=2.0, dash=dash, mark=mark, y_ends=interval_ends(means))
