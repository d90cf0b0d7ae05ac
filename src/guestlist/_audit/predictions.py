"""Audit predictions without the model, by the same five verbs as ``flow.py``.

Without the model there are no reference models, so the target-only attacks run. Predictions of a shadow model, on its own
records, fit the thresholds of the metric attacks (Song & Mittal 2021) and the classifiers of whole outputs (Shokri et al. 2017).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.linalg import block_diag

from guestlist._audit import AuditConfig, claim_about, report
from guestlist._audit.evaluate import evaluate
from guestlist._baseline.baseline import Baseline, cached_baseline
from guestlist._case import PRIOR, About, Case, Check, Origin, score
from guestlist._collect import Duplicates, repeated_ids
from guestlist._diagnostics.table import of_duplicates, of_repeats
from guestlist._findings import Results, case_in
from guestlist._store import (
    PREDICTIONS,
    Manifest,
    Store,
    audit_folder,
    folder_lock,
    open_store,
    text_digest,
    to_json,
)
from guestlist._util import joined_digest, one_thread, short_repr, stream
from guestlist.attacks import ATTACKS, Attack, check_attack_names, select_attacks
from guestlist.errors import InputError
from guestlist.evidence import FullOutputs, read_evidence, write_full_outputs
from guestlist.games import Sides, Split, options_of
from guestlist.models import Predictions, numpy_defaults
from guestlist.privacy import Claim
from guestlist.selfcheck.contract import try_custom_attacks

UNLABELLED = ("entropy",)


def audit_predictions(
    predictions: Predictions,
    *,
    shadow: Predictions | None = None,
    attacks: Sequence[str | Callable] | None = None,
    folder: str | Path | None = None,
    prior: float = PRIOR,
    about: About | None = None,
    ignore: Sequence[str] = (),
    baseline: bool = True,
    claimed: Claim | None = None,
) -> Results:
    """Audit a model by its predictions, without the model itself.

    Only attacks that need no reference models run, because without the model none can be trained.

    Args:
        predictions: Outputs of the target, true labels and membership.
        shadow: Predictions of a shadow model on its own records, on which thresholds and classifiers are fitted; by default none.
        attacks, folder, prior, about, ignore, claimed: As for ``audit``.
        baseline: Whether to test if labels, groups and features (if the predictions have them) distinguish members from
            non-members without the model.

    Returns:
        Results, as those of ``audit``.

    Raises:
        InputError: If an attack needs the model or a shadow model, or the two sets of predictions differ in classes or scale.
        FolderError: If ``folder`` holds a different audit, or is damaged.
        ValueError: If an option is out of range.

    Examples:
        >>> model, (x, y), (x_out, y_out) = gl.testing.small_model()
        >>> predictions = gl.Predictions(
        ...     model.predict_proba(np.concatenate([x, x_out])), np.concatenate([y, y_out]), np.arange(400) < 200
        ... )
        >>> results = gl.audit_predictions(predictions)
        >>> [outcome.name for outcome in results.outcomes]
        ['loss', 'correctness', 'confidence', 'entropy', 'mentr']
    """
    config = AuditConfig.from_options(
        attacks=attacks,
        folder=folder,
        prior=prior,
        about=about,
        ignore=ignore,
        baseline=baseline,
        claimed=claimed,
    )
    inputs = _prepare(predictions, shadow, config)
    with numpy_defaults(), audit_folder(folder) as path, folder_lock(path):
        case = _collect(inputs, config, path)
        scores = score(case.view, case.attacks)
        return report(evaluate(case, scores), scores, path, folder)


@dataclass(frozen=True)
class PredictionInputs:
    """Validated predictions of the target and perhaps of a shadow model, with the attacks that can run on them."""

    target: Predictions
    shadow: Predictions | None
    attacks: Mapping[str, Attack]
    evidence: Sequence[str]
    checks: tuple[Check, ...]


def _prepare(predictions: Predictions, shadow: Predictions | None, config: AuditConfig) -> PredictionInputs:
    """Validate the predictions and select the attacks that can run on them."""
    for name, value in {"predictions": predictions, "shadow": shadow}.items():
        if not isinstance(value, Predictions) and not (name == "shadow" and value is None):
            raise ValueError(f"Expected {name}={short_repr(value)} to be gl.Predictions(outputs, labels, member).")
    names = check_attack_names(config.attacks)
    _check_attacks(names or (), shadow)
    signal_names = signals_of(predictions)
    n_shadows = int(shadow is not None)
    evidence = []
    if n_shadows and predictions.scale.has_classes and predictions.labelled:
        evidence.append(FullOutputs.name)
    attacks = select_attacks(names, n_shadows, evidence, signals=signal_names)
    if names is None:
        # A shadow model has its own records, so attacks cannot compare models on one record.
        attacks = {name: attack for name, attack in attacks.items() if attack.compares == "nothing"}
    try_custom_attacks(attacks, predictions.positions, n_shadows, signal_names)
    return PredictionInputs(
        target=predictions, shadow=shadow, attacks=attacks, evidence=evidence, checks=_checks(predictions)
    )


def _collect(inputs: PredictionInputs, config: AuditConfig, folder: Path) -> Case:
    """Write the predictions into the audit folder and return the case."""
    store = _store(
        inputs, folder, {"origin": to_json(Origin("predictions")), **claim_about(config.claimed), **config.about}
    )
    return case_in(
        store,
        inputs.attacks,
        prior=config.prior,
        evidence=read_evidence(store, inputs.evidence),
        checks=inputs.checks,
        ignore=tuple(config.ignore),
        baseline=_baseline(inputs.target, store) if config.baseline else None,
    )


def signals_of(predictions: Predictions) -> tuple[str, ...]:
    """Return the signals of predictions; without labels only those that need none."""
    if predictions.labelled:
        return predictions.scale.signal_names
    return UNLABELLED


def _check_attacks(attacks: Sequence[str | Callable], shadow: Predictions | None) -> None:
    """Raise if an attack needs more than the predictions."""
    known = {name: ATTACKS[name] for name in attacks if isinstance(name, str) and name in ATTACKS}
    needs_model = [name for name, attack in known.items() if _needs_model(attack)]
    if needs_model:
        raise InputError(
            f"{', '.join(needs_model)} needs the model, not only its predictions. Audit the model with gl.audit "
            "(guestlist audit --model)."
        )
    needs_shadow = [name for name, attack in known.items() if attack.references]
    if needs_shadow and shadow is None:
        raise InputError(
            f"{', '.join(needs_shadow)} is fitted on the outputs of a shadow model for its own members and non-members. "
            "Pass shadow= (--shadow), or remove the attack."
        )


def _needs_model(attack: Attack) -> bool:
    """Return True if predictions of the target and of one shadow model on its own records are not enough."""
    if attack.evidence:
        return attack.evidence != FullOutputs.name
    return attack.references > 1 or bool(attack.references and attack.compares != "nothing")


def _baseline(target: Predictions, store: Store) -> Baseline | None:
    """Run the model-free baseline; the target's records come first in the pool.

    Unknown labels would be the model's own outputs, so they are not used; None without other inputs.
    """
    if not target.labelled and target.features is None and not target.groups:
        return None
    evaluated = target.take(store.pool["row"].to_numpy()[store.split.evaluated[0]])  # in the order of the pool
    with one_thread():  # identical results on any number of cores
        return cached_baseline(
            store,
            evaluated.features,
            evaluated.labels if evaluated.labelled else None,
            evaluated.groups,
            evaluated.persons,
            values=not evaluated.scale.has_classes,
        )


def _store(inputs: PredictionInputs, folder: Path, about: Mapping[str, Any]) -> Store:
    """Write predictions as an audit folder: the target is model 0, the shadow model 1."""
    target = inputs.target
    models = [part for part in (target, inputs.shadow) if part is not None]
    # The order must not reveal membership to an attack that ranks ties by position.
    rows = [stream(0, "pool", k).permutation(len(part.labels)) for k, part in enumerate(models)]
    parts = [part.take(order) for part, order in zip(models, rows, strict=True)]
    shadow = inputs.shadow
    if shadow is not None and (shadow.outputs.shape[1], shadow.scale) != (target.outputs.shape[1], target.scale):
        raise InputError(
            "The shadow's outputs must have the same classes and scale as the target's. Export both in the same format."
        )
    classes = target.classes
    if not target.scale.has_classes:
        classes = np.array([])
    elif classes is None:
        classes = np.arange(target.outputs.shape[1])
    # Each model is evaluated on its own records.
    split = Split(
        block_diag(*(part.member for part in parts)), block_diag(*(np.ones_like(part.member) for part in parts))
    )
    manifest = Manifest(
        data=_fingerprint(parts),
        split=text_digest(split.member[0].tobytes().hex(), split.evaluated[0].tobytes().hex()),
        recipe=PREDICTIONS,
        seed=0,
        game=options_of(Sides(int(split.members.sum()), int(split.nonmembers.sum()))),
        scale=target.scale.name,
        classes=tuple(map(str, classes)),
        about={"name": "predictions", **about},
    )
    store = open_store(folder, manifest)
    store.write_pool(_pool(parts, rows, classes))
    store.write_outputs(np.concatenate([part.outputs for part in parts]))
    store.write_split(split)
    scale = target.scale.resolved(target.outputs, target.labels)

    def over_pool(k: int, values: np.ndarray) -> np.ndarray:
        """Return values over the whole pool, NaN for records of other models."""
        everywhere = np.full((len(split.evaluated[k]), *values.shape[1:]), np.nan, dtype=values.dtype)
        everywhere[split.evaluated[k]] = values
        return everywhere

    for k, part in enumerate(parts):
        signals = scale.signals(part.outputs, part.labels)
        store.write_model(k, {name: over_pool(k, signals[name]) for name in signals_of(part)})
        if k and scale.has_classes:
            write_full_outputs(store, k, over_pool(k, scale.log_probabilities(part.outputs)))
    return store


def _fingerprint(parts: Sequence[Predictions]) -> str:
    """Return a digest of all predictions, labels, members and persons."""
    content = []
    for part in parts:
        content += [np.ascontiguousarray(array).tobytes() for array in (part.outputs, part.labels, part.member)]
        if part.persons is not None:
            content.append("\n".join(map(str, part.persons)).encode())
    return joined_digest(*content)


def _pool(parts: Sequence[Predictions], rows: Sequence[np.ndarray], classes: np.ndarray) -> pd.DataFrame:
    """Return the pool: the target's records, then the shadow's, which are not evaluated; ``rows`` holds original positions."""
    tables = []
    for k, (part, order) in enumerate(zip(parts, rows, strict=True)):
        ids = part.ids
        if ids is None:
            ids = np.array([f"row:{row}" for row in order], dtype=object)
        table = pd.DataFrame({"id": ids, "label": _labels(part, classes), "class": part.positions, "row": order})
        if parts[0].persons is not None:
            table["person"] = ""
        if k == 0:
            if part.persons is not None:
                table["person"] = part.persons
            table = table.assign(**{f"group_{name}": values for name, values in part.groups.items()})
        tables.append(table)
    return pd.concat(tables, ignore_index=True)


def _labels(part: Predictions, classes: np.ndarray) -> np.ndarray:
    """Return labels as text; empty if they are unknown, because a predicted class is not a label."""
    if not part.labelled:
        return np.full(len(part.labels), "", dtype=object)
    if part.scale.has_classes:
        return classes[part.labels].astype(str)
    return part.labels.astype(str)


def _checks(target: Predictions) -> tuple[Check, ...]:
    """Return checks of repeated ids and of persons in both sets; predictions have no features to compare."""
    if target.persons is None:
        return of_repeats(None if target.ids is None else repeated_ids(target.ids))
    both = np.isin(target.persons, target.persons[target.member]) & ~target.member
    duplicates = Duplicates(
        count=int(both.sum()),
        nonmembers=int((~target.member).sum()),
        dropped=False,
        persons=len(set(target.persons[both])),
    )
    return of_duplicates(duplicates) + of_repeats(None)
