"""Views of an audit folder, for attacks and for evaluation."""

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
    """Return every model of a folder in turn as the target: row 0 is the target, the others are its references.

    Args:
        evidence: Evidence about the target beyond its signals.
        references: Number of references to take; all by default.
        preload: Signals that will be used.
    """
    rotation = _mask_records(store.rotation(references, preload), store.split.always_included)
    evidence = evidence.take_references(slice(references))
    answers = _log_probabilities(store, rotation)
    mocks = evidence.for_mocks()
    return replace(
        rotation,
        evidence=lambda k: mocks if k else evidence,
        not_evaluated=~store.split.evaluated[0],
        answers=lambda k: None if k else answers,
    )


def _mask_records(rotation: Rotation, masked: np.ndarray) -> Rotation:
    """Replace the signals of some records by NaN, so that no attack is fitted on them."""
    if not masked.any():
        return rotation
    values = rotation.values

    def make(name: str) -> np.ndarray:
        return np.where(masked, np.nan, values[name])

    def make_part(name: str, records: np.ndarray) -> np.ndarray | None:
        part = lazy_part(values, name, records)
        return None if part is None else np.where(masked[records], np.nan, part)

    capacity = AT_ONCE if rotation.member.size > MANY_CELLS else None
    return replace(rotation, values=lazy_matrices(values, make, capacity, make_part))


def _log_probabilities(store: Store, rotation: Rotation) -> np.ndarray | None:
    """Return (records, classes) logarithms of the target's probabilities; None without classes.

    NaN: the target was not queried about the record.
    """
    outputs = store.answers()
    scale = as_scale(store.manifest.scale)
    if outputs is None or not scale.has_classes:
        return None
    log_p = scale.resolved(outputs, rotation.labels).log_probabilities(outputs)
    missing = np.isnan(next(iter(store.model(0).values()))) | store.split.always_included
    return np.where(missing[:, None], np.nan, log_p) if missing.any() else log_p
