"""SHAPr compared with the privacy risk score: our paired tests, and the paper's printed means and deviations."""

from __future__ import annotations

from collections.abc import Mapping

from scipy.stats import ttest_ind_from_stats

from papers.shapr.data import SOURCES
from papers.shapr.measures import ATTACKS, EVERY_MEMBER, FIRST, LIRA, SELF_SHADOW
from papers.shapr.published import F1_LIRA, F1_MENTR, RECALL_LIRA, RECALL_MENTR, Pair
from papers.shapr.summaries import BETTER, WORSE, verdict

RUNS = 10  # number of runs in the paper
ROUNDED = 0.005  # largest standard deviation that rounds to 0.00
TABLES = {
    "Table III": (SELF_SHADOW, "f1", F1_MENTR),
    "Table IV": (LIRA, "f1", F1_LIRA),
    "Table V, modified entropy": (SELF_SHADOW, "recall", RECALL_MENTR),
    "Table V, LiRA": (LIRA, "recall", RECALL_LIRA),
}


def our_winner(result: dict, attack: str, measure: str, space: str = FIRST) -> str:
    """Return whether SHAPr is better than the risk score, by the paired test."""
    (row,) = (row for row in result["effects"] if (row["attack"], row["risk"]) == (attack, space))
    return verdict(row[measure]["difference"], row[measure]["p"])


def published_winner(printed: Pair) -> str:
    """Return the same from the paper's printed means and deviations, by Welch's test."""
    (score, score_deviation), (shapr, shapr_deviation) = printed
    sides = (shapr, max(shapr_deviation, ROUNDED), RUNS, score, max(score_deviation, ROUNDED), RUNS)
    return verdict(shapr - score, float(ttest_ind_from_stats(*sides, equal_var=False).pvalue))


def winners(results: Mapping[str, dict], title: str) -> tuple[list[str], list[str], list[str]]:
    """Return datasets with the paper's winner, with the opposite one, and with a difference in one of the two only.

    Args:
        title: a key of ``TABLES``.
    """
    attack, measure, paper = TABLES[title]
    same, opposite, undecided = [], [], []
    for name, result in results.items():
        dataset = SOURCES[name].paper
        pair = (our_winner(result, attack, measure), published_winner(paper[dataset]))
        if pair[0] == pair[1]:
            same.append(dataset)
        elif set(pair) == {BETTER, WORSE}:
            opposite.append(dataset)
        else:
            undecided.append(dataset)
    return same, opposite, undecided


def everyone_at_risk(results: Mapping[str, dict], space: str = FIRST) -> tuple[int, int]:
    """Return the number of pairs (dataset, attack) for which flagging every member has at least SHAPr's F1, and of all pairs."""
    pairs = [
        (effect(result, attack, EVERY_MEMBER)["f1"]["mean"], effect(result, attack, space)["f1"]["mean"])
        for result in results.values()
        for attack in ATTACKS
    ]
    return sum(every >= shapr for every, shapr in pairs), len(pairs)


def effect(result: dict, attack: str, risk: str) -> dict:
    """Return the row of one attack and one risk."""
    (row,) = (row for row in result["effects"] if (row["attack"], row["risk"]) == (attack, risk))
    return row


def direction(metric: dict) -> str:
    """Return whether a metric is significantly "higher" or "lower" than its comparison, or "" otherwise."""
    return {BETTER: "higher", WORSE: "lower"}.get(verdict(metric["difference"], metric["p"]), "")
