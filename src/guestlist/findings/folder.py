"""A case from an audit folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from guestlist.attacks import Attack, select_attacks
from guestlist.blind.baseline import Baseline
from guestlist.blind.kept import read_baseline, read_cross_fitted
from guestlist.case import PRIOR, Case, Check, Origin, Setting, Truth
from guestlist.collecting.evidence.gathering import read_evidence
from guestlist.collecting.evidence.table import owner_evidence
from guestlist.collecting.until import UntilWidth
from guestlist.collecting.view import rotation_from_store
from guestlist.cover import Cover
from guestlist.defences.training import Training
from guestlist.findings.choosing import stand_in_targets
from guestlist.findings.records import OUTPUT_SIGNALS
from guestlist.privacy import Claim
from guestlist.store import Store, open_store
from guestlist.store.folder import MANY_CELLS
from guestlist.store.jsonable import from_json
from guestlist.store.manifest import PREDICTIONS
from guestlist.targets.scales import as_scale
from guestlist.views.evidence import NO_EVIDENCE, Evidence


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
    baseline: Baseline | None = None,
) -> Case:
    """Return the audit in a folder as a case to evaluate.

    Args:
        references: take only the first so many.
        evidence: what was collected about the target beyond its signals.
        checks: those made before anything was collected.
        until: the interval that was wanted.
        baseline: how well members are told without the model.
    """
    needed = {signal for attack in attacks.values() for signal in attack.needs} | set(OUTPUT_SIGNALS)
    owners = owner_evidence()
    split = store.split
    rotation = rotation_from_store(store, evidence.without(*owners), references, needed)
    mocks = stand_in_targets(rotation) if len(rotation.member) > 2 else None
    models = [k for k in store.models() if references is None or k <= references]
    truth = Truth(split.members, split.evaluated[0], split.take(models))
    answers = store.answers()
    if answers is not None and answers.shape[1] > 2:
        answers = answers.max(axis=1, keepdims=True)  # with many classes all of it is large
    setting = _setting(store, answers, until)
    owner = evidence.without(*(name for name in evidence.parts if name not in owners))
    cross_fitted = None if baseline is None else read_cross_fitted(store)
    view = rotation.facing(0)
    if rotation.member.size > MANY_CELLS:  # its own row is at hand, and need not be looked for among all
        view = view.with_target(
            {name: np.where(split.always_included, np.nan, values) for name, values in store.model(0).items()}
        )
    return Case(
        view=view,
        truth=truth,
        records=store.pool,
        mocks=mocks,
        attacks=attacks,
        setting=setting,
        prior=prior,
        checks=checks,
        ignore=ignore,
        baseline=baseline,
        owner=owner,
        cross_fitted=cross_fitted,
    )


def read_case(folder: str | Path, references: int | None = None, *, scored: bool = True) -> Case:
    """Read the case in an audit folder and run attacks on it.

    Evidence that only the target itself gives (the leaves of trees, the space of a K-NN model) is not in a folder.

    Args:
        folder: an audit folder.
        references: number of reference models to read; all by default.
        scored: whether to run the attacks; without, ``.scores`` is empty.
    """
    store = open_store(folder)
    evidence = read_evidence(store)
    n_references = max(store.models(), default=0)
    if references is not None:
        n_references = min(n_references, references)
    predictions_only = store.manifest.recipe == PREDICTIONS
    # Predictions without labels have fewer signals than their scale.
    signal_names = tuple(store.model(0)) if predictions_only else as_scale(store.manifest.scale).signal_names
    attacks = select_attacks(None, n_references, set(evidence.parts), signals=signal_names)
    if predictions_only:  # A shadow model has its own records, so attacks cannot compare models on one record.
        attacks = {name: attack for name, attack in attacks.items() if attack.compares == "nothing"}
    case = case_in(store, attacks, references=references, evidence=evidence, baseline=read_baseline(store))
    return case.scored() if scored else case


def _setting(store: Store, answers: np.ndarray | None, until: UntilWidth | None) -> Setting:
    known = store.manifest
    return Setting(
        name=str(known.about.get("name", "model")),
        classes=len(known.classes),
        scale=known.scale,
        seed=known.seed,
        rate=float(known.game.get("rate") or store.split.members.mean()),
        fingerprints={"data": known.data, "recipe": known.recipe, "seed": str(known.seed)},
        answers=answers,
        predictions=known.recipe == PREDICTIONS,
        until=until,
        drawn=bool(known.about.get("drawn", False)),
        training=_training(known.about.get("training")),
        game=known.game,
        claimed=None if known.about.get("claimed") is None else from_json(Claim, known.about["claimed"]),
        cover=None if known.about.get("cover") is None else from_json(Cover, known.about["cover"]),
        origin=None if known.about.get("origin") is None else from_json(Origin, known.about["origin"]),
    )


def _training(kept: object) -> Training | None:
    return None if kept is None else from_json(Training, kept)
