"""What an audit folder lets an adversary see, with the truth for whoever judges."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from guestlist.store import Store
from guestlist.store.folder import AT_ONCE, MANY_CELLS
from guestlist.targets.scales import as_scale
from guestlist.views.evidence import NO_EVIDENCE, Evidence
from guestlist.views.lazily import lazy_matrices, lazy_part
from guestlist.views.signals import Rotation


def rotation_from_store(
    store: Store, evidence: Evidence = NO_EVIDENCE, references: int | None = None, preload: Collection[str] = ()
) -> Rotation:
    """Every model of a folder in turn as the target: row 0 is the target itself, the others are its references.

    Args:
        evidence: what was collected about the target beyond its signals.
        references: take only the first so many.
        together: signals that will be asked for.
    """
    rotation = _without(store.rotation(references, preload), store.split.told)
    evidence, answers = evidence.take_references(slice(references)), _answers(store, rotation)
    mocks = evidence.for_mocks()
    return replace(
        rotation,
        evidence=lambda k: mocks if k else evidence,
        not_evaluated=~store.split.evaluated[0],
        answers=lambda k: None if k else answers,
    )


def _without(rotation: Rotation, told: np.ndarray) -> Rotation:
    """The same as if no model had been asked about some of the records: whoever learns from others would learn from them."""
    if not told.any():
        return rotation
    values = rotation.values

    def some(name: str, records: np.ndarray) -> np.ndarray | None:
        found = lazy_part(values, name, records)
        return None if found is None else np.where(told[records], np.nan, found)

    most = AT_ONCE if rotation.member.size > MANY_CELLS else None
    make = lambda name: np.where(told, np.nan, values[name])  # noqa: E731
    return replace(rotation, values=lazy_matrices(values, make, most, some))


def _answers(store: Store, rotation: Rotation) -> np.ndarray | None:
    """(records, classes) logarithms of the target's probabilities; NaN where it was not asked, None without classes."""
    found, scale = store.answers(), as_scale(store.manifest.scale)
    if found is None or not scale.has_classes:
        return None
    log_p = scale.resolved(found, rotation.labels).log_probabilities(found)
    silent = np.isnan(next(iter(store.model(0).values()))) | store.split.told
    return np.where(silent[:, None], np.nan, log_p) if silent.any() else log_p
