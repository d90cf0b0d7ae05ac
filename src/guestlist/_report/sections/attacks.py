"""Sections on attacks: table, score histograms, ROC curves and agreement."""

import math
from dataclasses import replace
from itertools import chain, repeat

import numpy as np

from guestlist._findings import AttackResult, Results
from guestlist._report import (
    LOW_FPR,
    Axis,
    Chart,
    Section,
    Series,
    diagonal,
    fill_section,
    prose,
    wording,
)
from guestlist.privacy import allowed_tpr

MAX_LISTED = 10  # attacks in the table


def attacks_section(results: Results) -> Section | None:
    """Render the table of attacks; None without attacks."""
    if not results.outcomes:
        return None
    rows = wording.headline_names(results)
    fprs = [rate.fpr for rate in results.outcomes[0].rates]
    return fill_section(
        "attacks",
        "All attacks",
        "attacks.html",
        appendix=True,
        outcomes=sorted_attacks(results.outcomes, rows)[:MAX_LISTED],
        more=max(0, len(results.outcomes) - MAX_LISTED),
        rows=rows,
        fpr=min(fprs, key=lambda fpr: abs(fpr - LOW_FPR), default=None),
    )


def sorted_attacks(outcomes: tuple[AttackResult, ...], rows: tuple[str, ...]) -> list[AttackResult]:
    """Return the attacks of the headline rows, then the others by AUC."""
    first = [outcome for row in rows for outcome in outcomes if outcome.name == row]
    others = [outcome for outcome in outcomes if outcome.name not in rows]
    return [*first, *sorted(others, key=lambda outcome: -np.nan_to_num(outcome.auc.value, nan=-1.0))]


def scores_section(results: Results) -> Section | None:
    """Render the two distributions; None without a headline attack."""
    headline = wording.headline_attack(results)
    if headline is None:
        return None
    return fill_section(
        "distribution",
        "Scores of members and non-members",
        "scores.html",
        charts={"scores": score_chart(headline)},
        appendix=True,
        attack=headline.name,
    )


def score_chart(headline: AttackResult) -> Chart:
    """Draw the histograms of members and non-members, as shares of each."""
    histogram = headline.histogram

    def outline(shares: tuple[float, ...], name: str, colour: str, dash: str) -> Series:
        stairs = (*shares, *shares[-1:])
        return Series(name, histogram.edges, stairs, colour, line=1.8, dash=dash, step=True, fill=True)

    return Chart(
        Axis("attack score (higher: likelier member)"),
        Axis("share of records", form="percent"),
        (
            outline(histogram.nonmembers, "non-members", "nonmember", "dash"),
            outline(histogram.members, "members", "member", "solid"),
        ),
        full_width=True,
        height=300,
    )


QUARTERS = (0.0, 0.25, 0.5, 0.75, 1.0)


def roc_chart(results: Results, headline: AttackResult, *, log: bool) -> Chart:
    """Draw the headline's curve with its band, the other attacks as thin lines, and the diagonal of guessing."""
    second = wording.file_holder_attack(results)
    bands = [_band(headline)]
    lines = [_line(headline.name, headline.curve.fpr, headline.curve.tpr, "member", 2.6, key="")]
    if second is not None:
        bands = [
            _band(second, "nonmember", f"{wording.FILE_HOLDER}: "),
            _band(headline, attacker=f"{wording.QUERIER}: "),
        ]
        lines.insert(0, _line(second.name, second.curve.fpr, second.curve.tpr, "nonmember", 2.6, key=""))
    series = (*bands, diagonal(), *_others(results, headline), *lines, *_weighted(results), *_allowed(results))
    if log:
        axis = Axis("", (_floor(results), 1.0), log=True, form="percent")
    else:
        axis = Axis("", (0.0, 1.0), ticks=QUARTERS, form="percent")
    return Chart(replace(axis, title="false positive rate"), replace(axis, title="true positive rate"), series)


def _floor(results: Results) -> float:
    """Return the start of logarithmic axes: the power of ten at or below one false positive."""
    nonmembers = 10 if results.subject is None else max(results.subject.nonmembers, 10)
    return 10.0 ** math.floor(math.log10(1 / nonmembers))


def _others(results: Results, headline: AttackResult) -> list[Series]:
    """Return the curves of the other attacks, with one entry in the key for all of them."""
    rows = wording.headline_names(results)
    others = [outcome for outcome in results.outcomes or () if outcome.name not in rows]
    return [
        _line(outcome.name, outcome.curve.fpr, outcome.curve.tpr, "other", 1.0, key=key)
        for outcome, key in zip(others, chain(["other attacks"], repeat("")), strict=False)
    ]


def _line(name: str, fpr, tpr, colour: str, width: float, *, dash: str = "solid", key: str | None = None) -> Series:
    """Return a curve with steps, since records with equal scores are flagged together or not at all."""
    return Series(name, tuple(fpr), tuple(tpr), colour, line=width, dash=dash, key=key, step=True)


def _weighted(results: Results) -> list[Series]:
    """Return the curve of the headline attack with weighted non-members."""
    weighted = results.adjusted
    if weighted is None or not weighted.fpr:
        return []
    return [_line(f"{weighted.attack}, weighted non-members", weighted.fpr, weighted.tpr, "member", 1.6, dash="dash")]


def _allowed(results: Results) -> list[Series]:
    """Return the largest curve that a claimed epsilon allows, where records are exchangeable."""
    epsilon = results.epsilon
    if epsilon is None or epsilon.allowed is None:
        return []
    fpr = np.concatenate([[0.0], np.geomspace(1e-7, 1, 100)])
    return [
        Series(
            f"allowed by {prose('epsilon.claim', epsilon.allowed)}",
            tuple(fpr.tolist()),
            tuple(allowed_tpr(epsilon.allowed, fpr).tolist()),
            "ink",
            line=1.4,
            dash="dash",
            key=f"limit by {prose('epsilon.drawn', epsilon)}",
        )
    ]


def _band(outcome: AttackResult, colour: str = "member", attacker: str = "") -> Series:
    """Return the pointwise band of a curve; its entry in the key is also that of the curve.

    Args:
        outcome: Attack.
        colour: Colour of the band.
        attacker: Attacker, before the attack's name in the key.
    """
    curve = outcome.curve
    return Series(
        f"95% band of {outcome.name}",
        curve.band_fpr,
        y_ends=tuple(zip(curve.band_low, curve.band_high, strict=True)),
        colour=colour,
        band=True,
        step=True,
        key=f"{attacker}{outcome.name}, with its 95% band",
        hover=False,
    )
