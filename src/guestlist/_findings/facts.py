"""Facts about the audit: target, references, provenance, baseline, training, and untested threats."""

import importlib.metadata
import platform
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from guestlist._case import Case, Cover, signal_of
from guestlist._findings import headline
from guestlist._store import folder_lock, open_store, read_json, to_json, write_json, write_manifest
from guestlist.defences import DELTA, Training
from guestlist.errors import InputError
from guestlist.games import Canaries
from guestlist.models import as_scale
from guestlist.privacy import epsilon_of
from guestlist.risks import PredictiveValue, predictive_values, risks_of


@dataclass(frozen=True)
class Subject:
    """The audited target and its records.

    ``member_persons`` and ``nonmember_persons`` are the numbers of record owners, if they are known.
    A classifier has accuracies; a regression model has R² (None where all labels are equal) and root mean square errors.
    ``canaries`` is the type of their labels, ``wrong`` or ``own``, if the evaluated records are canaries;
    ``always_members`` is the number of records that every model trains on and that are not evaluated.
    """

    name: str
    classes: int
    members: int
    nonmembers: int
    population: int
    accuracy_members: float | None = None
    accuracy_nonmembers: float | None = None
    r2_members: float | None = None
    r2_nonmembers: float | None = None
    rmse_members: float | None = None
    rmse_nonmembers: float | None = None
    member_persons: int | None = None
    nonmember_persons: int | None = None
    canaries: str | None = None
    always_members: int = 0


def find_subject(case: Case) -> Subject:
    """Describe the target, the number of records and the fit of the model."""
    member = case.truth.member_evaluated
    return Subject(
        name=case.setting.name,
        classes=case.setting.classes,
        members=int(member.sum()),
        nonmembers=int((~member).sum()),
        population=int((~case.truth.evaluated & ~case.truth.member).sum()),
        member_persons=_persons(case, member),
        nonmember_persons=_persons(case, ~member),
        canaries=case.setting.game["labels"] if case.setting.game.get("name") == Canaries.name else None,
        always_members=int((case.truth.member & ~case.truth.evaluated).sum()),
        **_fit(case),
    )


def _persons(case: Case, kind: np.ndarray) -> int | None:
    if case.persons is None:
        return None
    return len(np.unique(case.persons[kind]))


def _fit(case: Case) -> dict[str, float | None]:
    evaluated = case.truth.evaluated
    sides = {"members": case.truth.member_evaluated, "nonmembers": ~case.truth.member_evaluated}
    correct = signal_of(case.view, "correct")
    residual = signal_of(case.view, "residual")
    if correct is not None:
        return {f"accuracy_{name}": float(correct[evaluated][side].mean()) for name, side in sides.items()}
    if residual is None:
        return {}
    labels = case.records["label"].to_numpy(dtype=object)[evaluated].astype(np.float64)
    fit: dict[str, float | None] = {}
    for name, side in sides.items():
        off = np.square(residual[evaluated][side])
        total = np.square(labels[side] - labels[side].mean())
        fit[f"r2_{name}"] = float(1 - off.sum() / total.sum()) if total.sum() > 0 else None
        fit[f"rmse_{name}"] = float(np.sqrt(off.mean()))
    return fit


@dataclass(frozen=True)
class References:
    """Number of reference models and mean number of records that they trained on.

    ``minutes`` and ``seconds_per_model`` are set for an audit with a budget of minutes. Other audits do not depend on
    time.
    """

    count: int
    records: float
    rate: float
    seed: int
    minutes: float | None = None
    seconds_per_model: float | None = None


def find_references(case: Case) -> References | None:
    """Describe the reference models that the target is compared with."""
    view = case.view
    if not view.references:
        return None
    return References(
        count=view.references,
        records=float(view.reference_member.sum(axis=1).mean()),
        rate=case.setting.rate,
        seed=case.setting.seed,
        minutes=getattr(case.setting.spent, "minutes", None),
        seconds_per_model=getattr(case.setting.spent, "seconds_per_model", None),
    )


_PACKAGES = ("guestlist", "numpy", "scipy", "scikit-learn", "pandas")


@dataclass(frozen=True)
class Provenance:
    """Versions of packages, fingerprints of the data and the recipe, and the date of the audit."""

    versions: Mapping[str, str]
    fingerprints: Mapping[str, str]
    date: str = ""


def find_provenance(case: Case) -> Provenance:
    """Collect the versions, the seed and the fingerprints that determine the numbers."""
    return Provenance(
        versions={
            "python": platform.python_version(),
            **{name: importlib.metadata.version(name) for name in _PACKAGES},
        },
        fingerprints=dict(case.setting.fingerprints),
        date=case.setting.date,
    )


def find_training(case: Case) -> Training | None:
    """Return the training with the epsilon of one such training; None if the target does not describe it."""
    training = case.setting.training
    if training is None or not training.noise or training.rate is None or training.steps is None:
        return training
    try:
        epsilon = epsilon_of(training.noise, rate=training.rate, steps=training.steps, delta=DELTA)
    except InputError:  # the accountant is not installed
        return training
    return replace(training, epsilon=epsilon, delta=DELTA)


def keep(folder: Path, cover: Cover) -> None:
    """Write a cover into an audit folder, for its results and for those of later runs; change nothing else."""
    with folder_lock(folder):  # otherwise the results of an audit that ends now could be overwritten by older ones
        known = open_store(folder).manifest
        write_manifest(folder / "manifest.json", replace(known, about={**known.about, "cover": to_json(cover)}))
        path = folder / "results.json"
        write_json(path, {**read_json(path), "cover": to_json(cover)})


def find_untested(case: Case) -> tuple[str, ...]:
    """List the parts of the threat model that this audit did not test, as codes."""
    tested = {attack.evidence for attack in case.attacks.values()}
    silent = {
        "references": not case.view.references,
        "parameters": not {"white_box", "leaves"} & tested,
        "labels_only": as_scale(case.setting.scale).has_classes and "perturbed" not in tested,
        "sources": case.baseline is None and not case.setting.drawn,
        "other_leakage": True,
        "logits": as_scale(case.setting.scale).hides_logits,
    }
    return tuple(code for code, untested in silent.items() if untested)


def find_risks(case: Case) -> tuple[PredictiveValue, ...] | None:
    """Evaluate how well each risk predicts the flags of the headline attack; None without a risk."""
    if risks_of(case):
        return predictive_values(case, attacks=[case.of(headline.find).name])
    return None
