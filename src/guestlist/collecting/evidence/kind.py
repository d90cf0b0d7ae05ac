"""Everything that is known about one kind of evidence: a row of the table, at the end of the kind's own file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from guestlist.collecting.evidence.made_up import Simulation
from guestlist.collecting.evidence.plan import FromTarget, Plan
from guestlist.store import Store
from guestlist.views.evidence import Part

Access = Literal["queries", "model file"]
QUERIES: Access = "queries"
MODEL_FILE: Access = "model file"
_HOW = "Add evidence=[gl.{plan}()] to gl.audit, or --evidence {name} to the command: guestlist collect DIR --evidence {name}"


@dataclass(frozen=True, kw_only=True)
class EvidenceType:
    """One kind of evidence.

    Args:
        plan: makes a plan from options. One without ``collect`` takes its view from the target at once, and nothing of
            it is written: it may hold features.
        view: what attacks get.
        summary, cost: what it is and what it takes, for people.
        missing: what an attack does with it, and that it is not there: the rest of a sentence about the attack.
        attacker: what an attacker is or has beyond the model's answers: "knows all other members"; the rest of a sentence
            about someone. Empty: nothing.
        access: what of the model it takes: ``queries`` if its outputs do, ``model file`` if its parameters must be read.
        target: the targets that have it, if it is only some: "a K-NN target".
        owner: whether it takes the truth to compute, so that only whoever trained the model has it: risks look at it, and
            no attack is given it.
        default: whether it is collected unasked, where the target can give it.
        default_scales: scales of targets of which it is collected unasked too: they tell little else.
        on_mocks: whether references, as mock targets, have the same: they are models of the same kind.
        simulate: a made-up world and the number of a model to the view of it; None: it cannot be made up.
        known_membership: the view to (records,) those whose membership it tells, which attacks on it then do not score.
        perfect_fit: the view to that of a target that fits every record without fault: nothing looks more like a member.
            None: it says nothing about how well the target fits, or the signals say it.
    """

    plan: type[Plan] | type[FromTarget]
    view: type[Part]
    summary: str
    cost: str
    missing: str
    attacker: str = ""
    access: Access = QUERIES
    target: str = ""
    owner: bool = False
    default: bool = False
    default_scales: tuple[str, ...] = ()
    on_mocks: bool = False
    simulate: Callable[[Simulation, int], Any] | None = None
    known_membership: Callable[[Any], np.ndarray] | None = None
    perfect_fit: Callable[[Any], Any] | None = None

    @property
    def kept(self) -> bool:
        """Whether it is written into the audit folder."""
        return hasattr(self.plan, "collect")

    def read(self, store: Store) -> Part | None:
        """What of it is in the audit folder; None if nothing is."""
        return self.plan.read(store) if hasattr(self.plan, "read") else None

    @property
    def missing_message(self) -> str:
        """The rest of a sentence about an attack that lacks it: what it is, and how to get it."""
        if self.default or self.owner:
            return self.missing
        return f"{self.missing} {_HOW.format(plan=self.plan.__name__, name=self.plan.name)}"
