"""An audit of predictions alone: what the target answered, the labels, and who was a member.

Without the model there are no references, so the target-only attacks run. Predictions of a shadow model, on records of
its own, teach the metric attacks their thresholds (Song & Mittal 2021), and the attacks that learn a classifier of whole
answers (Shokri et al. 2017).
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from guestlist._audit.config import AuditConfig
from guestlist._audit.evaluate import evaluate
from guestlist._baseline.baseline import Baseline, cached_baseline
from guestlist._case import PRIOR, Check, Cover, Origin, score
from guestlist._collect import Duplicates, repeated_ids
from guestlist._diagnostics.table import of_duplicates, of_repeats
from guestlist._findings.case_io import case_in
from guestlist._findings.results import Results, write_results
from guestlist._store import PREDICTIONS, Manifest, Store, audit_folder, folder_lock, open_store, text_digest, to_json
from guestlist._util import one_thread, short_repr, stream
from guestlist.attacks import ATTACKS, check_attack_names, select_attacks
from guestlist.errors import InputError
from guestlist.evidence import FullAnswers, read_evidence, write_full_answers
from guestlist.games import Sides, Split, options_of
from guestlist.models import Predictions, numpy_defaults
from guestlist.privacy import Claim, claim_about
from guestlist.selfcheck.contract import try_custom_attacks

UNLABELLED = ("entropy",)


def audit_predictions(
    predictions: Predictions,
    *,
    shadow: Predictions | None = None,
    attacks: Sequence[str | Callable] | None = None,
    folder: str | Path | None = None,
    prior: float = PRIOR,
    about: Mapping[str, object] | None = None,
    ignore: Sequence[str] = (),
    baseline: bool = True,
    cover: Cover | None = None,
    claimed: Claim | None = None,
) -> Results:
    """Audit a model by its answers alone; with a ``shadow`` model's answers, thresholds and classifiers are learnt on those.

    Args:
        attacks, folder, prior, about, ignore, cover, claimed: as for ``audit``.
        baseline: whether to look if members can be told from non-members by labels, groups and, where the predictions have them,
            features.
    """
    config = AuditConfig.from_options(
        attacks=attacks,
        folder=folder,
        prior=prior,
        about=about,
        ignore=ignore,
        baseline=baseline,
        cover=cover,
        claimed=claimed,
    )
    about = {"origin": to_json(Origin("predictions")), **claim_about(claimed), **config.about}
    for name, value in {"predictions": predictions, "shadow": shadow}.items():
        if not isinstance(value, Predictions) and not (name == "shadow" and value is None):
            raise ValueError(f"Expected {name}={short_repr(value)} to be gl.Predictions(answers, labels, member).")
    attacks = check_attack_names(attacks)
    _check_attacks(attacks or (), shadow)
    signal_names = signals_of(predictions)
    has_shadow_outputs = shadow is not None and predictions.scale.has_classes and predictions.labelled
    evidence = [FullAnswers.name] if has_shadow_outputs else []
    chosen = select_attacks(attacks, 0 if shadow is None else 1, evidence, signals=signal_names)
    if attacks is None:
        # A shadow has records of its own: attacks that compare models on one record have nothing to compare.
        chosen = {name: attack for name, attack in chosen.items() if attack.compares == "nothing"}
    try_custom_attacks(chosen, predictions.positions, 0 if shadow is None else 1, signal_names)
    with numpy_defaults(), audit_folder(folder) as path, folder_lock(path):
        store = _store(predictions, shadow, path, about)
        collected = read_evidence(store, evidence)
        case = case_in(
            store,
            chosen,
            prior=prior,
            evidence=collected,
            checks=_checks(predictions),
            ignore=tuple(ignore),
            baseline=_baseline(predictions, store) if baseline else None,
        )
        scores = score(case.view, case.attacks)
        results = evaluate(case, scores)
        write_results(store.folder, results, scores)
        return results if folder is None else replace(results, folder=Path(folder))


def signals_of(predictions: Predictions) -> tuple[str, ...]:
    """Signals that predictions give: without labels only those that read none."""
    return predictions.scale.signal_names if predictions.labelled else UNLABELLED


def _check_attacks(attacks: Sequence[str | Callable], shadow: Predictions | None) -> None:
    """Raise where an attack looks at more than the answers that are there."""
    evidence_of = {name: ATTACKS[name].evidence for name in attacks if isinstance(name, str) and name in ATTACKS}
    needs_model = [name for name, kind in evidence_of.items() if kind and kind != FullAnswers.name]
    if needs_model:
        raise InputError(
            f"{', '.join(needs_model)} needs the model itself, not only its predictions: audit it with gl.audit "
            "(guestlist audit --model)."
        )
    needs_shadow = [name for name, kind in evidence_of.items() if kind == FullAnswers.name]
    if needs_shadow and shadow is None:
        raise InputError(
            f"{', '.join(needs_shadow)} learns from what a shadow model answers about members and non-members of its own: give "
            "shadow=… (--shadow), or leave it out."
        )


def _baseline(target: Predictions, store: Store) -> Baseline | None:
    """Run the model-free baseline; the target's records come first in the pool.

    Unknown labels would be the model's own outputs, so they are not used; None if there is nothing else.
    """
    if not target.labelled and target.features is None and not target.groups:
        return None
    evaluated = target.take(store.pool["row"].to_numpy()[store.split.evaluated[0]])  # in the order of the pool
    with one_thread():  # the same bits on any number of cores
        values = not evaluated.scale.has_classes
        labels = evaluated.labels if evaluated.labelled else None
        return cached_baseline(store, evaluated.features, labels, evaluated.groups, evaluated.persons, values=values)


def _store(target: Predictions, shadow: Predictions | None, folder: Path, about: Mapping[str, object]) -> Store:
    models = [target] if shadow is None else [target, shadow]
    # In an order that says nothing: an attack that ranks equals by their place must not know the truth.
    rows = [stream(0, "pool", k).permutation(len(part.labels)) for k, part in enumerate(models)]
    parts = [part.take(order) for part, order in zip(models, rows, strict=True)]
    if shadow is not None and (shadow.answers.shape[1], shadow.scale) != (target.answers.shape[1], target.scale):
        raise InputError("The shadow's answers must have the target's classes and scale.")
    classes = np.arange(target.answers.shape[1]) if target.classes is None else target.classes
    classes = classes if target.scale.has_classes else np.array([])
    split = _split(parts)
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
    store.write_answers(np.concatenate([part.answers for part in parts]))
    store.write_split(split)
    scale = target.scale.resolved(target.answers, target.labels)
    start = 0
    for k, part in enumerate(parts):
        stop = start + len(part.labels)
        signals = {
            name: values
            for name, values in scale.signals(part.answers, part.labels).items()
            if name in signals_of(part)
        }
        store.write_model(k, {name: _over_pool(values, start, stop, parts) for name, values in signals.items()})
        if k and scale.has_classes:
            write_full_answers(store, k, _over_pool(scale.log_probabilities(part.answers), start, stop, parts))
        start = stop
    return store


def _pool(parts: Sequence[Predictions], rows: Sequence[np.ndarray], classes: np.ndarray) -> pd.DataFrame:
    """Return the pool: the target's records, then the shadow's, which are not evaluated; ``rows`` holds original positions."""
    tables = []
    for k, (part, order) in enumerate(zip(parts, rows, strict=True)):
        ids = np.array([f"row:{row}" for row in order], dtype=object) if part.ids is None else part.ids
        known = classes[part.labels] if part.scale.has_classes else part.labels
        # The class that a model answers is no label: where nobody knows that, none is kept.
        label = known.astype(str) if part.labelled else np.full(len(order), "", dtype=object)
        table = pd.DataFrame({"id": ids, "label": label, "class": part.positions, "row": order})
        if parts[0].persons is not None:
            table["person"] = part.persons if k == 0 else ""
        tables.append(
            table.assign(**{f"group_{name}": values for name, values in part.groups.items()} if k == 0 else {})
        )
    return pd.concat(tables, ignore_index=True)


def _checks(target: Predictions) -> tuple[Check, ...]:
    """Return checks of repeated ids and of persons in both sets; predictions have no features to compare."""
    named = repeated_ids(target.ids) if target.ids is not None and target.persons is None else None
    if target.persons is None:
        return of_repeats(named)
    both = np.isin(target.persons, target.persons[target.member]) & ~target.member
    people = len(set(target.persons[both]))
    return of_duplicates(Duplicates(int(both.sum()), int((~target.member).sum()), False, people)) + of_repeats(named)


def _split(parts: Sequence[Predictions]) -> Split:
    """Each model is asked about records of its own."""
    member = np.zeros((len(parts), sum(len(part.labels) for part in parts)), dtype=bool)
    evaluated = np.zeros_like(member)
    start = 0
    for k, part in enumerate(parts):
        member[k, start : start + len(part.labels)] = part.member
        evaluated[k, start : start + len(part.labels)] = True
        start += len(part.labels)
    return Split(member, evaluated)


def _over_pool(values: np.ndarray, start: int, stop: int, parts: Sequence[Predictions]) -> np.ndarray:
    """Return values over the whole pool, NaN for records of other models."""
    everywhere = np.full((sum(len(part.labels) for part in parts), *values.shape[1:]), np.nan, dtype=values.dtype)
    everywhere[start:stop] = values
    return everywhere


def _fingerprint(parts: Sequence[Predictions]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        for array in (part.answers, part.labels, part.member):
            digest.update(np.ascontiguousarray(array).tobytes())
        if part.persons is not None:
            digest.update("\n".join(map(str, part.persons)).encode())
    return digest.hexdigest()
