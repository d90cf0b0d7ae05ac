"""Where our winner is the paper's and where not, computed from both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt

from scipy.stats import ttest_ind_from_stats

from papers.shapr.data import SOURCES
from papers.shapr.measures import ATTACKS, EVERY_MEMBER, FIRST, LIRA, OWN, SPACES
from papers.shapr.published import F1_LIRA, F1_MENTR, GROUPS, RECALL_LIRA, RECALL_MENTR, Pair
from papers.shapr.spread import BETTER, NO_DIFFERENCE, WORSE, verdict

RUNS = 10  # of the paper
ROUNDED = 0.005  # what a deviation printed as 0.00 is at the most
TABLES = {
    "Table III": (OWN, "f1", F1_MENTR),
    "Table IV": (LIRA, "f1", F1_LIRA),
    "Table V, modified entropy": (OWN, "recall", RECALL_MENTR),
    "Table V, LiRA": (LIRA, "recall", RECALL_LIRA),
}


def ours(result: dict, attack: str, measure: str, space: str = FIRST) -> str:
    """SHAPr against the risk score, by the paired test."""
    (row,) = (row for row in result["effects"] if (row["attack"], row["risk"]) == (attack, space))
    return verdict(row[measure]["difference"], row[measure]["p"])


def theirs(figures: Pair) -> str:
    """The same from the paper's printed means and deviations, by Welch's test."""
    (score, score_spread), (shapr, shapr_spread) = figures
    sides = (shapr, max(shapr_spread, ROUNDED), RUNS, score, max(score_spread, ROUNDED), RUNS)
    return verdict(shapr - score, float(ttest_ind_from_stats(*sides, equal_var=False).pvalue))


def differences(found: Mapping[str, dict]) -> str:
    """What the tables say together, in words."""
    lines = [*_winners(found), *_everybody(found), *_ranking(found)]
    return "\n".join(lines) + ("\n" if lines else "")


def _winners(found: Mapping[str, dict]) -> list[str]:
    lines = []
    for title, (attack, measure, paper) in TABLES.items():
        said = {
            SOURCES[name].paper: (ours(result, attack, measure), theirs(paper[SOURCES[name].paper]))
            for name, result in found.items()
        }
        said = {name: pair for name, pair in said.items() if all(pair)}
        same = [name for name, (our, their) in said.items() if our == their]
        opposite = [name for name, pair in said.items() if set(pair) == {BETTER, WORSE}]
        others = [
            f"{name} ({our}; paper {their})" for name, (our, their) in said.items() if name not in (*same, *opposite)
        ]
        if said:
            line = f"* **{title}**: the winner is the paper's on {listed(same)}."
            line += f" **It is the other one on {listed(opposite)}.**" if opposite else ""
            line += f" One of the two finds no difference on {listed(others)}." if others else ""
            elsewhere = _elsewhere(found, attack, measure, {name: their for name, (_, their) in said.items()})
            line += f" The paper's winner comes out in another space on {listed(elsewhere)}." if elsewhere else ""
            lines.append(line)
    return lines


def _elsewhere(found: Mapping[str, dict], attack: str, measure: str, theirs: Mapping[str, str]) -> list[str]:
    """Datasets on which the first layer does not give the paper's winner, but another space does, and which."""
    said = []
    for name, result in found.items():
        their = theirs.get(SOURCES[name].paper)
        same = [space for space in SPACES if ours(result, attack, measure, space) == their]
        if same and FIRST not in same:
            said.append(f"{SOURCES[name].paper} ({', '.join(space.removeprefix('SHAPr, ') for space in same)})")
    return said


def _everybody(found: Mapping[str, dict]) -> list[str]:
    """How often calling everybody at risk has at least SHAPr's F1, in each space."""
    if not found:
        return []
    counts = []
    for space in SPACES:
        rows = [
            (_f1(result, attack, EVERY_MEMBER), _f1(result, attack, space))
            for result in found.values()
            for attack in ATTACKS
        ]
        counts.append(f"{sum(all_ >= one for all_, one in rows)} of {len(rows)} ({space.removeprefix('SHAPr, ')})")
    return [
        "* **Calling everybody at risk has an F1 at least as high as SHAPr's** in "
        + ", ".join(counts)
        + " of the pairs of dataset and attack. There, a high F1 says that the attack calls most members, and not that SHAPr "
        "tells which."
    ]


def _ranking(found: Mapping[str, dict]) -> list[str]:
    """Where SHAPr ranks the called members above the others, and where below."""
    said = []
    for attack in ATTACKS:
        sides = {name: _side(result, _row(result, attack, FIRST)["auc"]) for name, result in found.items()}
        above, below = ([SOURCES[name].paper for name, side in sides.items() if side == sign] for sign in (1, -1))
        said.append(f"against {attack} above 0.5 on {listed(above)}, below on {listed(below)}")
    if not found:
        return []
    return ["* **AUC of SHAPr in the first layer** is, by more than two standard errors: " + "; ".join(said) + "."]


def _side(result: dict, figure: dict) -> int:
    """1 where an AUC is above 0.5, -1 where it is below, 0 where repeats do not tell."""
    if figure["mean"] is None or figure["spread"] is None:
        return 0
    error = figure["spread"] / sqrt(result["repeats"]["count"])
    return int(figure["mean"] - 2 * error > 0.5) - int(figure["mean"] + 2 * error < 0.5)


def attributions_said(rows: Sequence[dict]) -> str:
    """Whether influence functions and TracIn have a lower recall than SHAPr, as in the paper, and who ranks best."""
    names = {"shapr": "SHAPr", "influence_functions": "influence functions", "tracin": "TracIn"}
    lines = []
    for row in rows:
        worse = [names[key] for key in ("influence_functions", "tracin") if _judged(row[key]) == WORSE]
        best = max(names, key=lambda key: row[f"{key}_auc"]["mean"])
        lines.append(
            f"* {SOURCES[row['dataset']].paper}: lower in recall than SHAPr, as in the paper: {listed(worse)}. The highest mean "
            f"AUC is that of {names[best]}."
        )
    return "\n".join(lines) + "\n"


def groups_said(found: Mapping[str, dict]) -> str:
    """Whether the second group of each column is called more often, in the paper and here, and whether the risks say so."""
    risks = {"SHAPr (first layer)": "shapr", "SHAPr (outputs)": "shapr_outputs", "risk score": "score"}
    lines, pairs = [], []
    for name, result in found.items():
        paper, rows = SOURCES[name].paper, result["groups"]
        for first, row in zip(rows[::2], rows[1::2], strict=True):
            before, after = (GROUPS[paper, each["column"], each["group"]][1] for each in (first, row))
            said = ", ".join(f"{risk} {told(row[key])}" for risk, key in risks.items())
            theirs = "higher" if after > before else "lower"
            pairs.append({key: told(row[key]) for key in ("shapr", "accuracy", "test", "gap")})
            lines.append(
                f"* {paper}, {row['group']} against {first['group']}: attack accuracy {told(row['accuracy'])} (paper "
                f"{theirs}); {said}; test accuracy {told(row['test'])}, gap {told(row['gap'])}."
            )
    if not lines:
        return ""
    with_test, with_attack = (sum(pair["shapr"] == pair[key] for pair in pairs) for key in ("test", "accuracy"))
    with_gap = sum(pair["accuracy"] == pair["gap"] for pair in pairs)
    together = (
        f"\nOf {len(pairs)} comparisons, SHAPr in the first layer goes the way of the target's test accuracy in {with_test}, and "
        f"the way of the attack's accuracy in {with_attack}; the attack's accuracy goes the way of the gap in {with_gap}.\n"
    )
    return "\n".join([*lines, together])


def told(figure: dict) -> str:
    words = {BETTER: "higher", WORSE: "lower", NO_DIFFERENCE: "no different", "": "not tested"}
    return words[_judged(figure)]


def _judged(figure: dict) -> str:
    return verdict(figure["difference"], figure["p"])


def _row(result: dict, attack: str, risk: str) -> dict:
    (row,) = (row for row in result["effects"] if (row["attack"], row["risk"]) == (attack, risk))
    return row


def _f1(result: dict, attack: str, risk: str) -> float:
    return _row(result, attack, risk)["f1"]["mean"]


def listed(names: list[str]) -> str:
    return ", ".join(names) if names else "none"
