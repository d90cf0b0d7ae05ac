"""docs/papers_data_dependencies.md, made from ``results/``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from guestlist.privacy import erlingsson, humphries, yeom
from papers.data_dependencies import statements as say
from papers.data_dependencies.bounds import largest_gain
from papers.data_dependencies.figures import FEW, GAMES, MANY, PRIVATE_SHADOWS, SHADOWS
from papers.data_dependencies.published import DELTA, FEATURES, REPEATS, SHARES
from papers.data_dependencies.results import AVERAGE, OPTIMAL, SHADOW, in_order, joined, read
from papers.pages import NO, OPEN, YES, Agreement, Page, Part, Row, Texts, csv_table, image, page_of, verdict
from papers.pictures import Axes, Panel, Series, picture, published

INTRODUCTION = """Humphries et al. draw members from one part of the population and non-members from another.
The i.i.d. control mixes the same records at random.
The advantage is the true positive rate minus the false positive rate; below, of the optimal threshold unless shadow models are named.
"Larger" means larger than in the control: the 95% confidence interval of the difference, corrected for all attacks and ε of a game, is above 0.
"""  # noqa: E501
SETTING = """## Setting

- The network has two hidden layers of 256 units, trained by DP-Adam for 100 epochs (rate 0.01, L2 1e-5, δ = 1e-5, batches of 200). ε = ∞ is plain Adam.
- Batches are Poisson samples, as the PRV accountant assumes; the paper has RDP, and batches without overlap.
- In COMPAS, 7.5% of the control's non-members equal a member.
- Results with private shadow models in Figures 4 and 5 are older. Their shadow models draw records in the proportions of the population, without the target's validation records; the others draw from each cluster, source or attribute value.

Differences from the released script (`t3humphries/non-IID-MIA`):

- **Shadow models**: the script's have fewer members than the target; ours have the same number.
- **Batches**: it takes 32 records for hospitals and schools; we keep the paper's 200.
- **Shares p**: it adds 0.1 and 0.9, which no statement of the paper needs.
"""  # noqa: E501
NOT_RUN = (
    Row(
        where="Figure 8",
        what="Texas hospital discharges, by health region",
        size="not possible",
        detail="the data are not available here",
    ),
)
TEXTS = Texts("data_dependencies", "Humphries et al. (2023): data dependencies", INTRODUCTION, SETTING, NOT_RUN)
ENOUGH_REPEATS = 5  # with fewer, intervals are too wide to show that there is no difference
DRAWN = (0.1, 1.0, None)  # epsilons with a line in pictures of attribute bias
EPSILON_TICKS = ((-1, "0.1"), (0, "1"), (1, "10"), (2, "100"), (3, "∞"))  # by power of ten; plain training is last


def page() -> Page:
    return page_of(TEXTS, PARTS, read)


def _figure1(result: dict) -> Part:
    gain, epsilon_of_gain = largest_gain()
    same = all(abs(row["humphries"] - humphries(row["epsilon"], DELTA)) < 1e-4 for row in result["bounds"])
    row = Row(
        where="Figure 1",
        what="bounds on the advantage for i.i.d. records",
        size="full",
        detail="exact",
        agrees=YES if same else NO,
        finding=(
            f"the bounds follow the paper's formulas; the new one is lower by up to {gain:.3f}, at "
            f"ε = {epsilon_of_gain:.2f}."
        ),
        results=("figure1",),
    )
    epsilons = [row["epsilon"] for row in result["bounds"]]
    grid = np.geomspace(min(epsilons), max(epsilons), 60).tolist()
    bounds: dict[str, Callable[[float], float]] = {
        "yeom": yeom,
        "erlingsson": lambda epsilon: erlingsson(epsilon, DELTA),
        "humphries": lambda epsilon: humphries(epsilon, DELTA),
    }
    names = {"yeom": "Yeom et al.", "erlingsson": "Erlingsson et al.", "humphries": "Humphries et al."}
    series = []
    for key, bound in bounds.items():
        ours, paper = f"{names[key]}, ours", f"{names[key]}, paper's formula"
        series.append(Series(ours, epsilons, [row[key] for row in result["bounds"]], style="points"))
        curve = [min(bound(epsilon), 1.0) for epsilon in grid]
        series.append(published(paper, grid, curve, like=ours, style="curve"))
    axes = Axes(y=(0, 1), x_label="ε", y_label="bound on the advantage", log_x=True)
    alternative = "Three bounds on the advantage rise from 0 to 1 with ε; our values are on the paper's curves."
    svg = picture([[Panel("Figure 1", series, axes)]], alternative)
    name = "data_dependencies_bounds.svg"
    text = "## Bounds (Figure 1)\n\n" + image(
        name,
        alternative,
        "Bounds at δ = 1e-5: our values and the paper's formulas. Bands below are 95% CIs over repeats.",
    )
    return Part(rows=(row,), text=text, pictures={name: svg}, tables={"figure1.csv": csv_table(result["bounds"])})


def _separation(rows: Sequence[dict]) -> str:
    """Return the ranges of the advantage in the game and in its control."""
    apart = [row["apart"][0] for row in rows]
    mixed = [row["mixed"][0] for row in rows]
    return f"{min(apart):.2f} to {max(apart):.2f}, in the control {min(mixed):.2f} to {max(mixed):.2f}"


def _repeats(result: dict) -> str:
    return f"{result['repeats']['count']} repeats (paper {REPEATS})"


def _fewer(result: dict, shadows: int = 0) -> str:
    """Return what is smaller than in the paper where there are 1,000 members."""
    models = f"; {shadows} shadow models (paper 5)" if shadows and shadows != 5 else ""
    return f"{FEW:,} members and non-members (paper {MANY:,}); {_repeats(result)}{models}"


def _verdict(holding: int, total: int, result: dict) -> Agreement:
    """Return the verdict of ``verdict``; "open" for a difference that few repeats do not show."""
    agrees = verdict(holding, total)
    return OPEN if agrees == NO and result["repeats"]["count"] < ENOUGH_REPEATS else agrees


def _why_open(agrees: Agreement, result: dict) -> str:
    """Return a sentence for a verdict that more repeats could decide."""
    count = result["repeats"]["count"]
    return f" {count} repeats are too few to decide." if agrees == OPEN and count < ENOUGH_REPEATS else ""


def _larger(where: str, what: str, detail: str, result: dict, name: str, *, attack: str = OPTIMAL) -> Row:
    """Return the row of a figure that reports a larger advantage than in the i.i.d. control."""
    chosen = say.of_attack(result["rows"], attack)
    holding = sum(map(say.larger_than_control, chosen))
    agrees = _verdict(holding, len(chosen), result)
    return Row(
        where=where,
        what=what,
        size="reduced" if f"paper {MANY:,}" in detail else "full",
        detail=detail,
        agrees=agrees,
        finding=f"advantage {_separation(chosen)}; larger in {holding} of {len(chosen)} settings."
        f"{_why_open(agrees, result)}",
        results=(name,),
    )


def _clusters(result: dict) -> Part:
    row = _larger("Figure 2", "Adult, clusters", _repeats(result), result, "figure2")
    compas = read("figure3")
    panels = [_by_epsilon("Adult, 10,000 members", result["rows"], (AVERAGE, OPTIMAL))]
    if compas:
        panel = _by_epsilon("COMPAS, 2,000 members", compas["rows"], (AVERAGE, OPTIMAL))
        stated = published("paper, from its text", (1.0,), (1.0,))
        panels.append(replace(panel, series=[*panel.series, stated]))
    at_one = say.at(say.of_attack(result["rows"], OPTIMAL), 1)
    above = "; ".join(
        f"{row_at_one['apart'][0]:.2f} at ε = 1, above the bound of {humphries(1.0, DELTA):.2f}"
        for row_at_one in at_one
        if say.above_bound(row_at_one)
    )
    alternative = (
        "Advantage of two threshold attacks against ε for clusters and for the i.i.d. control, on Adult and COMPAS, "
        "with the bound."
    )
    name = "data_dependencies_clusters.svg"
    text = (
        "## Clusters (Figures 2 and 3)\n\n"
        "Members come from one cluster of each class, non-members from the other. On Adult the optimal threshold "
        f"has {above or 'no advantage above the bound at ε = 1'}; the paper: close to perfect for ε ≥ 1.\n\n"
        + image(
            name,
            alternative,
            "Advantage in the game and in its i.i.d. control, with the paper's bound. Of its values, the paper's text has one.",
        )
    )
    return Part(rows=(row,), text=text, pictures={name: picture([panels], alternative)}, tables=_csv("figure2", result))


def _compas(result: dict) -> Part:
    row = _larger("Figure 3", "COMPAS, clusters", _repeats(result), result, "figure3")
    return Part(rows=(row,), tables=_csv("figure3", result))


def _shadows(where: str, what: str, name: str) -> Callable[[dict], Part]:
    """Return a function to the part of a figure's plain shadow models, compared with private ones where they were run."""

    def part(result: dict) -> Part:
        detail = _fewer(result, SHADOWS) if name.endswith("_small") else _repeats(result)
        row = _larger(f"{where}, shadow models", what, detail, result, name, attack=SHADOW)
        pair = [read(f"{name.partition('_')[0]}_{training}") for training in ("shadow_small", "private")]
        if all(pair):
            plain, private = (say.at(say.of_attack(run["rows"], SHADOW), 0.1)[0]["apart"][0] for run in pair if run)
            row = replace(
                row,
                finding=f"{row.finding} With {FEW:,} members and ε = 0.1 it is {plain:.2f}, with private shadow models "
                f"{private:.2f}.",
            )
        return Part(rows=(row,), tables=_csv(name, result))

    return part


def _private(where: str, what: str, name: str) -> Callable[[dict], Part]:
    """Return a function to the part of private shadow models: a row only where plain ones were not run."""

    def part(result: dict) -> Part:
        tables = _csv(name, result)
        if read(name.replace("_private", "_shadow")) or read(name.replace("_private", "_shadow_small")):
            return Part(tables=tables)
        detail = f"{_fewer(result, PRIVATE_SHADOWS)}, trained with the target's ε (paper: plain)"
        row = _larger(f"{where}, shadow models", what, detail, result, name, attack=SHADOW)
        if row.agrees != YES:  # the paper's shadow models are plain, so private ones cannot decide
            row = replace(row, agrees=OPEN, finding=f"with private shadow models {row.finding}")
        return Part(rows=(row,), tables=tables)

    return part


def _shadow_picture(result: dict) -> Part:
    """Return the part of Figure 2's shadow models, with the picture of plain and private ones of Figures 2 and 9."""
    part = _shadows("Figure 2", "Adult, clusters", "figure2_shadow")(result)
    bound = _by_epsilon("", [], ())
    panels = []
    for title, number in (("Adult, clusters", 2), ("Census and Adult", 9)):
        series = []
        for name, label, lines in (
            ("shadow", f"plain, {MANY:,} members", 2),
            ("shadow_small", f"plain, {FEW:,} members", 1),
            ("private", f"private, {FEW:,} members", 1),
        ):
            run = read(f"figure{number}_{name}")
            if run:  # the game, and with the paper's number of members its control
                series += _by_epsilon(title, run["rows"], (SHADOW,), label=label).series[:lines]
        if series:
            panels.append(Panel(title, [*series, *bound.series], bound.axes))
    alternative = (
        "Advantage of the attack with shadow models against ε, for plain and for private shadow models, with the "
        "i.i.d. control and the bound."
    )
    name = "data_dependencies_shadows.svg"
    text = (
        "## Shadow models (Figures 2, 4 and 9)\n\n"
        "The authors' shadow models are plain, whatever the target's ε (option `shadow_training`).\n\n"
        + image(
            name, alternative, "By training of the shadow models and number of members. The paper prints no values."
        )
    )
    return replace(part, text=text, pictures={name: picture([panels], alternative)})


def _small(name: str, part: Callable[[dict, str], Part]) -> Callable[[dict], Part]:
    """Return a function to the part of a figure with fewer members: only its numbers where all of the full size was run."""
    return lambda result: (
        Part(tables=_csv(name, result)) if _complete(read(name.removesuffix("_small"))) else part(result, name)
    )


def _small_shadows(where: str, what: str, name: str) -> Callable[[dict], Part]:
    """Return the same for a figure's shadow models."""
    part = _shadows(where, what, name)
    return lambda result: Part(tables=_csv(name, result)) if read(name.removesuffix("_small")) else part(result)


def _complete(result: dict | None) -> bool:
    """Return whether a figure of attribute bias has every share p."""
    return result is not None and {f"p = {share:g}" for share in SHARES} <= {row["game"] for row in result["rows"]}


def _full(name: str, part: Callable[[dict], Part]) -> Callable[[dict], Part]:
    """Return a function to the part of a figure at full size: only its numbers where shares p are missing."""
    return lambda result: part(result) if _complete(result) else Part(tables=_csv(name, result))


def _bias_size(result: dict, name: str) -> tuple[Literal["full", "reduced"], str]:
    """Return size and detail of a figure of attribute bias."""
    if name.endswith("_small"):
        return "reduced", _fewer(result)
    epsilons = {share: {row["epsilon"] for row in rows} for share, rows in _by_game(result["rows"]).items()}
    fewer = f" (paper {len(EPSILON_TICKS)} values)" if min(map(len, epsilons.values())) < len(EPSILON_TICKS) else ""
    return "full", f"{_settings(result['rows'])}{fewer}; {_repeats(result)}"


def _settings(rows: Sequence[dict]) -> str:
    """Return the shares p and the epsilons of a figure, by p where they differ."""
    shares: dict[tuple[str, ...], list[str]] = {}
    for share, chosen in _by_game(rows).items():
        epsilons = tuple(dict.fromkeys(map(say.epsilon_of, chosen)))
        shares.setdefault(epsilons, []).append(f"{share:g}")
    separator = "; " if len(shares) == 1 else " with "
    return "; ".join(
        f"p = {', '.join(group)}{separator}ε = {', '.join(epsilons)}" for epsilons, group in shares.items()
    )


def _by_game(rows: Sequence[dict]) -> dict[float, list[dict]]:
    """Return the rows of each share p, from the smallest one."""
    return {share: [row for row in rows if _share(row) == share] for share in sorted(set(map(_share, rows)))}


def _share(row: dict) -> float:
    """Return the share p of a game."""
    return float(row["game"].removeprefix("p = "))


def _with_shadow_run(result: dict) -> dict:
    """Return Figure 4 with the threshold attacks of the run with shadow models at epsilons that its own run lacks.

    Both runs draw the same members, so their targets at the lowest epsilon are the same.
    """
    shadows = read("figure4_shadow")
    if shadows is None or (shadows["repeats"], shadows["sizes"]) != (result["repeats"], result["sizes"]):
        return result
    runs = {"figure4_shadow": shadows, "figure4": result}
    earlier, later = ([{**row, "result": name} for row in run["rows"]] for name, run in runs.items())
    rows = joined(earlier, later, result["repeats"]["count"], (AVERAGE, OPTIMAL))
    return {**result, "rows": in_order(rows, [played.called for played in GAMES["figure4"]])}


def _gender(result: dict, name: str = "figure4") -> Part:
    full = result if name == "figure4" else read("figure4")
    if full and not _unbiased_and_private(full):
        full = None  # a run that has begun
    at_full_size = _with_shadow_run(full) if full else result
    if name == "figure4":
        result = at_full_size
    rows = result["rows"]
    size, detail = _bias_size(result, name)
    full_name = "figure4" if full else name
    mostly_men = _mostly_men(rows)
    pairs = _unbiased_and_private(at_full_size)
    similar = sum(say.similar(first, second) for first, second in pairs)
    negative = sum(map(say.negative, mostly_men))
    paired = "; ".join(f"{first['apart'][0]:.2f} and {second['apart'][0]:.2f}" for first, second in pairs)
    small = read("figure4_small") if full else None
    with_fewer_members = ""
    if small:
        [first], [second] = (
            say.at(say.of_attack(small["rows"], OPTIMAL, game=game), epsilon)
            for game, epsilon in (("p = 0", 0.1), ("p = 0.5", None))
        )
        with_fewer_members = (
            f" With {FEW:,} members the last two are {first['apart'][0]:.2f} and {second['apart'][0]:.2f}."
        )
    small_negative = ""
    if small and not name.endswith("_small"):
        fewer = _mostly_men(small["rows"])
        small_negative = f"; with {FEW:,} members in {say.count(fewer, say.negative)}"
    pair_size, pair_detail = _bias_size(at_full_size, full_name)
    summary_rows = (
        Row(
            where="Figure 4, p ≥ 0.75",
            what="Adult, share p of men among members",
            size=size,
            detail=detail,
            agrees=YES if negative else NO,
            finding=(
                f"the average threshold's advantage can be negative (in {negative} of {len(mostly_men)} settings"
                f"{small_negative})."
            ),
            results=_runs(rows, name),
        ),
        Row(
            where="Figure 4, p = 0",
            what="p = 0 at ε = 0.1 against p = 0.5 without privacy",
            size=pair_size,
            detail=pair_detail,
            agrees=YES if similar == len(pairs) else NO,
            finding=(
                "the paper finds similar advantages at p = 0, ε = 0.1 and at p = 0.5, ε = ∞. Ours are "
                f"{paired}.{with_fewer_members}"
            ),
            results=_runs(pairs[0], full_name) if pairs else (full_name,),
        ),
    )
    picture_name = "data_dependencies_gender.svg"
    alternative = f"Advantage of two threshold attacks against the share of men among members, for {_drawn(rows)}."
    members = FEW if name.endswith("_small") else MANY
    with_shadows = [row for row in rows if row.get("result") == "figure4_shadow"]
    origin = f" Values at {_settings(with_shadows)} are from the run with shadow models." if with_shadows else ""
    text = (
        "## Attribute bias (Figures 4 and 5)\n\n"
        f"{_ends(rows, 'men')} The advantage at p = 0 is the largest of all p at {_largest_at(rows, 'p = 0')} values of "
        "ε. The paper reports that the average threshold performs poorly where men dominate.\n\n"
        + image(
            picture_name,
            alternative,
            f"Optimal and average threshold, {members:,} members, by the share p of men. The paper prints no values.{origin}",
        )
    )
    return Part(
        rows=summary_rows,
        text=text,
        pictures={picture_name: picture([_by_share(rows)], alternative)},
        tables=_csv(name, result),
    )


def _runs(rows: Iterable[dict], name: str) -> tuple[str, ...]:
    """Return the names of the results that hold the rows; ``name`` for rows that do not name theirs."""
    return tuple(sorted({row.get("result", name) for row in rows}))


def _mostly_men(rows: list[dict]) -> list[dict]:
    """Return the rows of the average threshold in which at least three quarters of the members are men."""
    return [row for row in say.of_attack(rows, AVERAGE) if row["game"] in ("p = 0.75", "p = 1")]


def _unbiased_and_private(result: dict) -> list[tuple[dict, dict]]:
    """Return, for each threshold attack, the rows of p = 0 at ε = 0.1 and of p = 0.5 without privacy."""
    return [
        (first, second)
        for attack in (AVERAGE, OPTIMAL)
        for first in say.at(say.of_attack(result["rows"], attack, game="p = 0"), 0.1)
        for second in say.at(say.of_attack(result["rows"], attack, game="p = 0.5"), None)
    ]


def _education(result: dict, name: str = "figure5") -> Part:
    rows = result["rows"]
    size, detail = _bias_size(result, name)
    only_low = say.of_attack(rows, OPTIMAL, game="p = 1")
    no_low = say.of_attack(rows, OPTIMAL, game="p = 0")
    small = read("figure5_small") if name == "figure5" else None
    with_fewer_members = ""
    if small:
        first, second = (say.of_attack(small["rows"], OPTIMAL, game=game) for game in ("p = 1", "p = 0"))
        with_fewer_members = (
            f" With {FEW:,} members larger in {say.count(first, say.larger_than_control)} at p = 1 and "
            f"{say.count(second, say.larger_than_control)} at p = 0."
        )
    bounded = "".join(
        f" At p = 1 and ε = {say.epsilon_of(row)} the advantage is {row['apart'][0]:.2f}, the bound "
        f"{humphries(row['epsilon'], DELTA):.2f} (paper: above it)."
        for row in say.at(only_low, 0.1)
    )
    # An interval that includes 0 does not support the statement on p = 0; a mean that is not larger does.
    holding = sum(map(say.larger_than_control, only_low)) + sum(not say.mean_larger(row) for row in no_low)
    agrees = _verdict(holding, len(only_low) + len(no_low), result)
    row = Row(
        where="Figure 5",
        what="Adult, share p of low education among members",
        size=size,
        detail=detail,
        agrees=agrees,
        finding=(
            f"larger in {say.count(only_low, say.larger_than_control)} settings at p = 1, in "
            f"{say.count(no_low, say.larger_than_control)} at p = 0. {_means(only_low, no_low)}"
            f"{_why_open(agrees, result)}{bounded}{with_fewer_members}"
        ),
        results=(name,),
    )
    picture_name = "data_dependencies_education.svg"
    alternative = (
        f"Advantage of two threshold attacks against the share of members with low education, for {_drawn(rows)}."
    )
    members = FEW if name.endswith("_small") else MANY
    text = (
        f"With only low education (p = 1), the mean advantage of the optimal threshold is the largest of all p at "
        f"{_largest_at(rows, 'p = 1')} values of ε. The paper reports that it rises with p.\n\n"
        + image(
            picture_name,
            alternative,
            f"Optimal and average threshold, {members:,} members, by the share p of low education. The paper prints no "
            "values.",
        )
    )
    return Part(
        rows=(row,),
        text=text,
        pictures={picture_name: picture([_by_share(rows)], alternative)},
        tables=_csv(name, result),
    )


def _gender_shadows(name: str) -> Callable[[dict], Part]:
    """Return a function to the part of Figure 4's shadow models, plain or private."""

    def part(result: dict) -> Part:
        if name.endswith("_private") and read("figure4_shadow"):
            return Part(tables=_csv(name, result))
        rows = say.of_attack(result["rows"], SHADOW)
        no_men, only_men = ([row for row in rows if row["game"] == game] for game in ("p = 0", "p = 1"))
        private = name.endswith("_private")
        size, detail = _bias_size(result, name)
        if private:
            size = "reduced"
            detail = f"{_fewer(result, PRIVATE_SHADOWS)}, trained with the target's ε (paper: plain)"
        # The paper's shadow models are plain, so private ones cannot decide.
        agrees = OPEN if private else _verdict(sum(map(say.larger_than_control, no_men)), len(no_men), result)
        row = Row(
            where="Figure 4, shadow models",
            what="Adult, share p of men among members",
            size=size,
            detail=detail,
            agrees=agrees,
            finding=(
                f"larger in {say.count(no_men, say.larger_than_control)} settings at p = 0, in "
                f"{say.count(only_men, say.larger_than_control)} at p = 1. {_means(no_men, only_men)}"
                f"{_why_open(agrees, result)}"
            ),
            results=(name,),
        )
        return Part(rows=(row,), tables=_csv(name, result))

    return part


def _ends(rows: list[dict], what: str) -> str:
    """Return in how many settings members without and with the attribute differ from the control."""
    none, only = (say.of_attack(rows, OPTIMAL, game=game) for game in ("p = 0", "p = 1"))
    return (
        f"Without {what} among the members (p = 0), the optimal threshold's advantage is larger than in the control in "
        f"{say.count(none, say.larger_than_control)} settings; with only {what} (p = 1) in "
        f"{say.count(only, say.larger_than_control)}. {_means(none, only)}"
    )


def _largest_at(rows: list[dict], game: str) -> str:
    """Return at how many epsilons the optimal threshold has its largest mean advantage in a game, such as "3 of 5"."""
    by_epsilon: dict[float | None, list[dict]] = {}
    for row in say.of_attack(rows, OPTIMAL):
        by_epsilon.setdefault(row["epsilon"], []).append(row)
    largest = [max(chosen, key=lambda row: row["apart"][0]) for chosen in by_epsilon.values()]
    return say.count(largest, lambda row: row["game"] == game)


def _means(first: list[dict], second: list[dict]) -> str:
    """Return in how many settings of two games the mean advantage is larger than in the control."""
    return f"The mean is larger in {sum(map(say.mean_larger, first))} and {sum(map(say.mean_larger, second))}."


def _hospitals(result: dict) -> Part:
    row = _larger("Figure 6", "heart disease, one hospital against the others", _repeats(result), result, "figure6")
    names = list(dict.fromkeys(row["game"] for row in result["rows"]))
    panels = [_by_epsilon(name, [row for row in result["rows"] if row["game"] == name], (OPTIMAL,)) for name in names]
    alternative = (
        "Advantage of the optimal threshold against ε for each of four hospitals and its i.i.d. control, with the "
        "bound."
    )
    name = "data_dependencies_hospitals.svg"
    controls = say.of_attack(result["rows"], OPTIMAL)
    text = (
        "## Hospitals, schools and census (Figures 6, 7 and 9)\n\n"
        f"The control stays within the bound in {say.count(controls, say.control_within_bound)} hospital settings; "
        "the paper's exceeds it slightly.\n\n"
        + image(name, alternative, "Optimal threshold, by hospital. The paper prints no values.")
    )
    svg = picture([panels[:2], panels[2:]] if len(panels) > 2 else [panels], alternative)
    return Part(rows=(row,), text=text, pictures={name: svg}, tables=_csv("figure6", result))


def _schools(result: dict) -> Part:
    row = _larger("Figure 7", "students, one school against the other", _repeats(result), result, "figure7")
    panels = [_by_epsilon("Students", result["rows"], (AVERAGE, OPTIMAL))]
    census = read("figure9")
    if census:
        panels.append(_by_epsilon("Census and Adult", census["rows"], (AVERAGE, OPTIMAL)))
    alternative = (
        "Advantage of two threshold attacks against ε for schools and for census members, with the i.i.d. control "
        "and the bound."
    )
    name = "data_dependencies_sources.svg"
    text = image(name, alternative, "Both threshold attacks. The paper prints no values.")
    return Part(rows=(row,), text=text, pictures={name: picture([panels], alternative)}, tables=_csv("figure7", result))


def _census(result: dict) -> Part:
    row = _larger("Figure 9", "census members, Adult non-members", _repeats(result), result, "figure9")
    return Part(rows=(row,), tables=_csv("figure9", result))


def _only_csv(name: str) -> Callable[[dict], Part]:
    return lambda result: Part(tables=_csv(name, result))


def _csv(name: str, result: dict) -> dict[str, str]:
    def bound(row: dict) -> dict:
        features = {table: FEATURES[table] for table in result["sizes"]}
        value = 1.0 if row["epsilon"] is None else round(humphries(row["epsilon"], DELTA), 4)
        return {"bound": value} | {f"features {table}": count for table, count in features.items()}

    rows = [{("iid_control" if key == "mixed" else key): value for key, value in row.items()} for row in result["rows"]]
    return {f"{name}.csv": csv_table(rows, bound)}


def _by_epsilon(title: str, rows: list[dict], attacks: Sequence[str], *, label: str = "") -> Panel:
    """Return the advantage in the game and in its control, against epsilon; ``label`` names a single attack."""
    series = []
    for attack in attacks:
        chosen = say.of_attack(rows, attack)
        x = [_position(row) for row in chosen]
        for arm, name in (("apart", "game"), ("mixed", "i.i.d. control")):
            mean, low, high = zip(*(row[arm] for row in chosen), strict=True)
            series.append(Series(f"{label or attack.replace('_', ' ')}, {name}", x, mean, low=low, high=high))
    grid = np.linspace(-1, 3, 41).tolist()
    bound = [humphries(10**power, DELTA) for power in grid]
    series.append(published("bound (paper's formula)", grid, bound, style="curve"))
    axes = Axes(x=(-1.2, 3.2), x_label="ε", y_label="advantage", ticks=EPSILON_TICKS)
    return Panel(title, series, axes)


def _drawn(rows: list[dict]) -> str:
    """Return the epsilons of the lines of a picture of attribute bias."""
    epsilons = [say.epsilon_of(row) for epsilon in DRAWN for row in say.at(rows, epsilon)[:1]]
    return f"ε = {', '.join(epsilons)}"


def _by_share(rows: list[dict]) -> list[Panel]:
    """Return a panel for each of two attacks: the advantage against p, a line per epsilon."""
    panels = []
    for attack, title in ((OPTIMAL, "optimal threshold"), (AVERAGE, "average threshold")):
        series = []
        for epsilon in (0.1, 1.0, None):
            chosen = sorted(say.at(say.of_attack(rows, attack), epsilon), key=_share)
            if not chosen:
                continue
            shares = [_share(row) for row in chosen]
            mean, low, high = zip(*(row["apart"] for row in chosen), strict=True)
            series.append(Series(f"ε = {say.epsilon_of(chosen[0])}", shares, mean, low=low, high=high))
        panels.append(Panel(title, series, Axes(x=(0, 1), x_label="share p", y_label="advantage")))
    return panels


def _position(row: dict) -> float:
    """Return the place of an epsilon on an axis of powers of ten."""
    return 3.0 if row["epsilon"] is None else float(np.log10(row["epsilon"]))


PARTS: dict[str, Callable[[dict], Part]] = {
    "figure1": _figure1,
    "figure2": _clusters,
    "figure2_shadow": _shadow_picture,
    "figure2_shadow_small": _small_shadows("Figure 2", "Adult, clusters", "figure2_shadow_small"),
    "figure2_private": _private("Figure 2", "Adult, clusters", "figure2_private"),
    "figure3": _compas,
    "figure4": _full("figure4", _gender),
    "figure4_shadow": _gender_shadows("figure4_shadow"),
    "figure4_private": _gender_shadows("figure4_private"),
    "figure4_small": _small("figure4_small", _gender),
    "figure5": _full("figure5", _education),
    "figure5_shadow": _only_csv("figure5_shadow"),
    "figure5_private": _only_csv("figure5_private"),
    "figure5_small": _small("figure5_small", _education),
    "figure6": _hospitals,
    "figure7": _schools,
    "figure9": _census,
    "figure9_shadow": _shadows("Figure 9", "census members, Adult non-members", "figure9_shadow"),
    "figure9_shadow_small": _small_shadows("Figure 9", "census members, Adult non-members", "figure9_shadow_small"),
    "figure9_private": _private("Figure 9", "census members, Adult non-members", "figure9_private"),
}
