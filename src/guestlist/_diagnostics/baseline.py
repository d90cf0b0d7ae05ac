"""Diagnostic of the model-free baseline: members and non-members that differ without the model."""

from collections.abc import Sequence

from guestlist._baseline.baseline import Baseline
from guestlist._case import Case, Check, CheckValue
from guestlist._diagnostics.core import (
    NOT_APPLICABLE,
    NOT_RUN,
    Diagnostic,
    Outcome,
    Values,
    always,
    clear,
    outcome,
)
from guestlist._util import compact, decimal

SPLIT_ADVICE = (
    "Take non-members from the source of the members, or have members drawn from one pool (gl.play), and audit again."
)
GAME_ADVICE = (
    "The game {game} draws them from different parts of the people: play its counterpart, iid=True, to see what is left if it "
    "does not. A validation set with the same bias hides it: someone who validates on others drawn as the members were sees a "
    "model that generalises, and no sign of what attacks find."
)
MAX_CLEAR_SPLIT_P = 0.01  # largest p-value of a difference between the two sets that is called clear
BY_CHANCE = "1 in 20 sound splits triggers this; if you split at random, carry on."
CLEAR = "At most 1 in 100 sound splits shows a difference this clear; check how the two sets were drawn."
INPUT_NAMES = {"features": "the features", "label": "the label", "groups": "the groups"}


def of_baseline(baseline: Baseline) -> Check:
    """Check whether the two sets differ without the model."""
    values: dict[str, CheckValue] = {
        "auc": baseline.auc,
        "p_value": baseline.p_value,
        "detectable_auc": baseline.detectable_auc,
        "inputs": " ".join(baseline.inputs),
    }
    if baseline.game:
        values["game"] = baseline.game
    return Check("GL119", *outcome(baseline.significant, values))


def separable_sets(case: Case) -> Outcome:
    """Check whether a classifier that never queries the model separates members from non-members."""
    if case.setting.drawn:
        return NOT_APPLICABLE
    if case.baseline is None:
        return NOT_RUN
    check = of_baseline(case.baseline)
    return Outcome(check.state, check.values)


def inputs_text(names: Sequence[str]) -> str:
    """Return the inputs of the baseline as part of a sentence."""
    parts = [INPUT_NAMES.get(name, name) for name in names]
    return " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))


def chance_sentence(p_value: float, game: str) -> str:
    """Report how often a random split shows such a difference; empty if a game drew the sets from different sources."""
    if game:
        return ""
    if p_value > MAX_CLEAR_SPLIT_P:
        return BY_CHANCE
    return CLEAR


def split_advice(game: str) -> str:
    """Advise on two sets that differ, drawn by a game or by the user."""
    if game:
        return GAME_ADVICE.format(game=game)
    return SPLIT_ADVICE


def _separable(v: Values) -> str:
    inputs = inputs_text(str(v.get("inputs", "features label")).split())
    evidence = (
        f"Evidence of a difference between the two sets: a model-free baseline that reads {inputs}, and never queries the model, "
        f"separates members from non-members with AUC {decimal(v['auc'])} (p = {compact(v['p_value'])})."
    )
    chance = chance_sentence(float(v["p_value"]), str(v.get("game", "")))
    return " ".join(filter(None, [evidence, chance, "Attacks may detect this difference, not the model's training."]))


def _remedy(v: Values) -> str:
    return split_advice(str(v.get("game", "")))


BASELINE = (
    Diagnostic(
        code="GL119",
        title="the two sets differ without the model",
        message=_separable,
        remedy=_remedy,
        rule=separable_sets,
        by_chance=True,
        changes=always,
        undermines=clear,
    ),
)
