"""Whether members can be told without the model, above what attacks on the model reach."""

from __future__ import annotations

import math

from guestlist.blind.baseline import Blind
from guestlist.findings.attacks import AttackResult
from guestlist.findings.results import Results
from guestlist.report import words
from guestlist.report.format import count, decimal, tiny, with_interval
from guestlist.report.section import Section, filled

SEEN = {"features": "the features", "label": "the label", "groups": "the groups"}
WHAT_TO_DO = (
    "Take non-members from the source of the members, or have members drawn from one pool (gl.play), and audit again."
)


def section(results: Results) -> Section | None:
    if results.blind is None:
        return None
    return Section("blind", "Can members be told without the model?", filled("blind.html", said=blind(results)))


def blind(results: Results) -> str:
    """How well members are told without the model, and what could have been seen; empty where it was not looked for."""
    found = results.blind
    if found is None:
        return ""
    seen = words.listed([SEEN.get(name, name) for name in found.looked_at])
    reached = f"A classifier that sees {seen}, and never asks the model, {_reaches(found)}"
    asked = f"measured on {count(found.members)} members and {count(found.nonmembers)} non-members"
    if found.told:
        return f"Members can be told without the model. {reached}, {asked}. {_unseen(found)}"
    return f"Not shown that members can be told without the model. {reached}, {asked}. {_unseen(found)}"


def unclear(found: Blind, attack: AttackResult) -> str:
    """The answer where members can be told without the model: what attacks find is not the model's doing alone."""
    differ = f"Members and non-members differ without the model: a classifier that never asks it {_reaches(found)}"
    model = "so what attacks find, or miss, cannot be put down to the model"
    own = "" if math.isnan(attack.auc.value) else f" The attack {attack.name} has AUC {with_interval(attack.auc)}."
    return f"Unclear. {differ}, {model}.{own} {WHAT_TO_DO}"


def _reaches(found: Blind) -> str:
    return f"tells them apart with AUC {decimal(found.auc)} (p = {tiny(found.p_value)})"


def _unseen(found: Blind) -> str:
    if math.isnan(found.detectable_auc) or found.detectable_auc >= 1:
        return "With so few records even a large difference between the two may go unseen."
    return (
        f"The smallest difference that it would have seen four times in five is one it tells with AUC "
        f"{decimal(found.detectable_auc)}."
    )
