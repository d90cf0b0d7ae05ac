"""Whether members can be told without the model, above what attacks on the model reach."""

from __future__ import annotations

import math
from typing import NamedTuple

from guestlist.blind.baseline import Blind
from guestlist.evaluate import Estimate
from guestlist.findings.attacks import CHANCE, AttackResult
from guestlist.findings.results import Results
from guestlist.report import words
from guestlist.report.format import count, decimal, tiny, with_interval
from guestlist.report.section import Section, filled
from guestlist.report.sections.adjusted import adjusted, beyond, in_short

NO_FEATURES = (
    "Without the records' features a difference between them goes unseen (--features, or features=… gives them)."
)


WEAK = 0.01  # above this p-value the reader is told that it may be chance
# How the answer begins where the model likely adds to that: by how much more AUC at least.
LIKELY = ((0.1, "Likely, beyond what the records themselves give away."), (0.0, "Likely, but only slightly."))
BY_CHANCE = "Of audits with one source for both, one in twenty is told so by chance."


class Row(NamedTuple):
    """Figures of the headline attack against non-members of one kind."""

    nonmembers: str
    auc: Estimate
    rates: dict[float, Estimate]


def section(results: Results) -> Section | None:
    if results.blind is None:
        return None
    body = filled(
        "blind.html",
        said=blind(results),
        beyond=beyond(results),
        adjusted=adjusted(results),
        rows=_rows(results),
    )
    return Section("blind", "Can members be told without the model?", body)


def _rows(results: Results) -> list[Row]:
    """Both answers in figures; none where the second is not given."""
    found, attack = results.adjusted, words.headline(results)
    if found is None or found.auc is None or attack is None:
        return []
    shown = {rate.fpr: rate.tpr for rate in found.rates}
    return [
        Row("as they are: the model and the people", attack.auc, {rate.fpr: rate.tpr for rate in attack.rates}),
        Row("weighted to be like members: what is left for the model", found.auc, shown),
    ]


def blind(results: Results) -> str:
    """How well members are told without the model, and what could have been seen; empty where it was not looked for."""
    found = results.blind
    if found is None:
        return ""
    seen = words.listed([words.SEEN.get(name, name) for name in found.looked_at])
    reached = f"A classifier that sees {seen}, and never asks the model, {_reaches(found)}"
    asked = f"measured on {count(found.members)} members and {count(found.nonmembers)} non-members"
    said = "Members can be told" if found.told else "Not shown that members can be told"
    alone = [] if "features" in found.looked_at else [NO_FEATURES]
    return " ".join([f"{said} without the model. {reached}, {asked}. {_unseen(found)}", *alone])


def with_differences(results: Results, found: Blind, attack: AttackResult) -> str:
    """The answer where members can be told without the model: what attacks find is not the model's doing alone.

    Where an attack is shown to do better than whoever never asks the model, and to tell members from non-members who are weighted
    to be like them, the model likely adds to what is known without it. Never "Yes": what nobody looked at may differ too.
    """
    least = added(results)
    begin = "Unclear." if least <= 0 else next(said for above, said in LIKELY if least >= above)
    differ = f"Members and non-members differ without the model: a classifier that never asks it {_reaches(found)}"
    model = "so what attacks find, or miss, cannot be put down to the model alone"
    own = "" if math.isnan(attack.auc.value) else f"The attack {attack.name} has AUC {with_interval(attack.auc)}."
    weak = BY_CHANCE if found.p_value > WEAK else ""
    said = [f"{begin} {differ}, {model}.", own, beyond(results), in_short(results), weak, words.advice(found.game)]
    return " ".join(filter(None, said))


def added(results: Results) -> float:
    """The least that the model is shown to add, in AUC, by both ways to set aside what is known without it; 0: nothing."""
    gain, left = results.beyond_blind, results.adjusted
    if gain is None or left is None or left.auc is None:
        return 0.0
    lows = gain.gain.low, left.auc.low - CHANCE
    return 0.0 if any(map(math.isnan, lows)) else max(min(lows), 0.0)


def _reaches(found: Blind) -> str:
    return f"tells them apart with AUC {decimal(found.auc)} (p = {tiny(found.p_value)})"


def _unseen(found: Blind) -> str:
    if math.isnan(found.detectable_auc) or found.detectable_auc >= 1:
        return "With so few records even a large difference between the two may go unseen."
    return (
        f"The smallest difference that it would have seen four times in five is one it tells with AUC "
        f"{decimal(found.detectable_auc)}."
    )
