"""Facts about one type of evidence: a row of the table, which stands at the end of the type's file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from guestlist.collecting.evidence.made_up import SimulatedModels
from guestlist.collecting.evidence.plan import FromTarget, Plan
from guestlist.store import Store
from guestlist.views.evidence import Part

Access = Literal["queries", "model file"]
QUERIES: Access = "queries"
MODEL_FILE: Access = "model file"
_REMEDY = "Add evidence=[gl.{plan}()] to gl.audit, or --evidence {name} to the command: guestlist collect DIR --evidence {name}"


@dataclass(frozen=True, kw_only=True)
class EvidenceType:
    """One type of evidence.

    Args:
        plan: Class of its plans. A plan without ``collect`` takes the view from the target at once, and nothing is written,
            because it may hold features.
        view: Class of the data that attacks get.
        summary: Description.
        cost: Description of the cost.
        missing: Use of the evidence in an attack, and that it is missing: the rest of a sentence about the attack.
        attacker: Knowledge of an attacker beyond the model's outputs, as the rest of a sentence: "knows all other members".
        access: ``queries`` if the model's outputs are enough, ``model file`` if its parameters must be read.
        target: Targets that have it, if not all: "a K-NN target".
        owner: Whether it is computed from the true membership, so that only the model owner has it. Risks read it, and no
            attack does.
        default: Whether it is collected by default if the target supports it.
        default_scales: Scales of outputs for which it is collected by default, because they reveal little else.
        on_mocks: Whether stand-in targets share it, because they are models of the same type.
        simulate: Function from a simulation and the number of a model to a view; None if it cannot be simulated.
        known_membership: Function from a view to (records,) true for those with known membership, which attacks do not score.
        perfect_fit: Function from a view to that of a target that fits every record perfectly. None if it does not measure the
            fit, or the signals do.
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
    simulate: Callable[[SimulatedModels, int], Any] | None = None
    known_membership: Callable[[Any], np.ndarray] | None = None
    perfect_fit: Callable[[Any], Any] | None = None

    @property
    def stored(self) -> bool:
        """True if it is written into the audit folder."""
        return hasattr(self.plan, "collect")

    def read(self, store: Store) -> Part | None:
        """Read it from the audit folder; None if there is none."""
        return self.plan.read(store) if hasattr(self.plan, "read") else None

    @property
    def missing_message(self) -> str:
        """Rest of a sentence about an attack that lacks it, with a remedy."""
        if self.default or self.owner:
            return self.missing
        return f"{self.missing} {_REMEDY.format(plan=self.plan.__name__, name=self.plan.name)}"
