"""A case from an audit folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from guestlist.attacks import Attack
from guestlist.collecting.until import UntilWidth
from guestlist.findings.case import PRIOR, Case, Setting, Truth
from guestlist.findings.checks import Check
from guestlist.findings.choosing import mock_targets
from guestlist.store import Store
from guestlist.views.evidence import NOTHING, Evidence


def case_in(
    store: Store,
    attacks: Mapping[str, Attack],
    *,
    references: int | None = None,
    prior: float = PRIOR,
    evidence: Evidence = NOTHING,
    checks: tuple[Check, ...] = (),
    ignore: tuple[str, ...] = (),
    until: UntilWidth | None = None,
) -> Case:
    """The audit in a folder as a case to judge.

    Args:
        references: take only the first so many.
        evidence: what was collected about the target beyond its signals.
        checks: those made before anything was collected.
        until: the interval that was wanted.
    """
    pool = store.pool()
    truth = Truth((pool["side"] == "members").to_numpy(), (pool["side"] != "population").to_numpy())
    evidence = replace(evidence.among(slice(references)), population=~truth.asked)
    # References are models of the same kind, so where a K-NN target looks for neighbours, they do.
    others = Evidence(neighbourhood=evidence.neighbourhood)
    rotation = replace(store.rotation(references), evidence=lambda k: others if k else evidence)
    mocks = mock_targets(rotation) if len(rotation.member) > 2 else None
    setting = _setting(store, store.answers(), until)
    return Case(rotation.facing(0), truth, pool, mocks, attacks, setting, prior, checks, ignore)


def _setting(store: Store, answers: np.ndarray | None, until: UntilWidth | None) -> Setting:
    known = store.manifest
    return Setting(
        name=str(known.about.get("name", "model")),
        classes=len(known.classes),
        scale=known.scale,
        seed=known.seed,
        rate=known.rate,
        fingerprints={"data": known.data, "recipe": known.recipe, "seed": str(known.seed)},
        answers=answers,
        predictions=known.recipe == "predictions",
        until=until,
    )
