"""Read a case from an audit folder."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from guestlist._baseline.baseline import Baseline, read_baseline, read_cross_fitted
from guestlist._case import PRIOR, Case, Check, Cover, Origin, Setting, Truth
from guestlist._collect import TimeSpent, UntilWidth
from guestlist._findings import OUTPUT_SIGNALS, stand_in_targets
from guestlist._store import AT_ONCE, MANY_CELLS, PREDICTIONS, Store, from_json, open_store
from guestlist._util import lazy_matrices, lazy_part
from guestlist._views import NO_EVIDENCE, Evidence, Rotation
from guestlist.attacks import Attack, select_attacks
from guestlist.defences import Training
from guestlist.evidence import owner_evidence, read_evidence
from guestlist.models import as_scale
from guestlist.privacy import Claim

T = TypeVar("T")


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
    outputs = _log_probabilities(store, rotation)
    stand_ins = evidence.for_stand_ins()
    return replace(
        rotation,
        evidence=lambda k: stand_ins if k else evidence,
        not_evaluated=~store.split.evaluated[0],
        outputs=lambda k: None if k else outputs,
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
        if part is None:
            return None
        return np.where(masked[records], np.nan, part)

    capacity = AT_ONCE if rotation.member.size > MANY_CELLS else None
    return replace(rotation, values=lazy_matrices(values, make, capacity, make_part))


def _log_probabilities(store: Store, rotation: Rotation) -> np.ndarray | None:
    """Return (records, classes) logarithms of the target's probabilities; None without classes.

    NaN: the target was not queried for the record.
    """
    outputs = store.outputs()
    scale = as_scale(store.manifest.scale)
    if outputs is None or not scale.has_classes:
        return None
    log_p = scale.resolved(outputs, rotation.labels).log_probabilities(outputs)
    missing = np.isnan(next(iter(store.model(0).values()))) | store.split.always_included
    if missing.any():
        return np.where(missing[:, None], np.nan, log_p)
    return log_p


def case_in(
    store: Store,
    attacks: Mapping[str, Attack],
    *,
    references: int | None = None,
    prior: float = PRIOR,
    evidence: Evidence = NO_EVIDENCE,
    checks: tuple[Check, ...] = (),
    ignore: tuple[str, ...] = (),
    until: UntilWidth | None = None,
    spent: TimeSpent | None = None,
    baseline: Baseline | None = None,
) -> Case:
    """Return the audit in a folder as a case to evaluate.

    Args:
        references: number of reference models to use; by default all.
        evidence: evidence about the target beyond its signals.
        checks: outcomes of checks that ran before the collection.
        until: requested interval width, if references were trained until it was reached.
        spent: outcome of a budget of minutes, if the audit had one.
        baseline: result of the model-free baseline.
    """
    needed = {signal for attack in attacks.values() for signal in attack.needs} | set(OUTPUT_SIGNALS)
    owners = owner_evidence()
    split = store.split
    rotation = rotation_from_store(store, evidence.without(*owners), references, needed)
    models = [k for k in store.models() if references is None or k <= references]
    outputs = store.outputs()
    if outputs is not None and outputs.shape[1] > 2:
        outputs = outputs.max(axis=1, keepdims=True)  # The outputs of many classes are large.
    known = store.manifest
    setting = Setting(
        name=str(known.about.get("name", "model")),
        classes=len(known.classes),
        scale=known.scale,
        seed=known.seed,
        rate=float(known.game.get("rate") or split.members.mean()),
        fingerprints={"data": known.data, "recipe": known.recipe, "seed": str(known.seed)},
        outputs=outputs,
        predictions=known.recipe == PREDICTIONS,
        until=until,
        spent=spent,
        drawn=bool(known.about.get("drawn", False)),
        training=_note(known.about, "training", Training),
        game=known.game,
        claimed=_note(known.about, "claimed", Claim),
        cover=_note(known.about, "cover", Cover),
        origin=_note(known.about, "origin", Origin),
        date=str(known.about.get("date", "")),
    )
    view = rotation.facing(0)
    if rotation.member.size > MANY_CELLS:  # The target's row is stored separately.
        view = view.with_target(
            {name: np.where(split.always_included, np.nan, values) for name, values in store.model(0).items()}
        )
    return Case(
        view=view,
        truth=Truth(split.members, split.evaluated[0], split.take(models)),
        records=store.pool,
        stand_ins=stand_in_targets(rotation) if len(rotation.member) > 2 else None,
        attacks=attacks,
        setting=setting,
        prior=prior,
        checks=checks,
        ignore=ignore,
        baseline=baseline,
        owner=evidence.without(*(name for name in evidence.parts if name not in owners)),
        cross_fitted=None if baseline is None else read_cross_fitted(store),
    )


def read_case(folder: str | Path, references: int | None = None, *, scored: bool = True) -> Case:
    """Read the case in an audit folder and run attacks on it.

    Evidence that only the target itself gives (the leaves of trees, the space of a K-NN model) is not in a folder.

    Args:
        folder: Audit folder.
        references: Number of reference models to read; all by default.
        scored: Whether to run the attacks; without, ``.scores`` is empty.

    Returns:
        The case, as ``collect`` returns it.

    Raises:
        FolderError: If the folder is not an audit folder, or is damaged.

    Examples:
        >>> results = gl.testing.small_audit(folder="audits/tree")
        >>> case = gl.read_case("audits/tree", references=4)
        >>> case.view.values["margin"].shape  # the target and four references, 400 records
        (5, 400)
    """
    store = open_store(folder)
    evidence = read_evidence(store)
    n_references = max(store.models(), default=0)
    if references is not None:
        n_references = min(n_references, references)
    predictions_only = store.manifest.recipe == PREDICTIONS
    # Predictions without labels have fewer signals than their scale.
    if predictions_only:
        signal_names = tuple(store.model(0))
    else:
        signal_names = as_scale(store.manifest.scale).signal_names
    attacks = select_attacks(None, n_references, set(evidence.parts), signals=signal_names)
    if predictions_only:  # A shadow model has its own records, so attacks cannot compare models on one record.
        attacks = {name: attack for name, attack in attacks.items() if attack.compares == "nothing"}
    case = case_in(store, attacks, references=references, evidence=evidence, baseline=read_baseline(store))
    if scored:
        return case.scored()
    return case


def _note(about: Mapping[str, Any], name: str, form: type[T]) -> T | None:
    """Return a note of the manifest as an object; None if there is none."""
    if about.get(name) is None:
        return None
    return from_json(form, about[name])
