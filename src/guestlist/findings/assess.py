"""Scores and truth to results: where the truth meets the scores, and only here."""

from __future__ import annotations

import importlib.metadata
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from guestlist.attacks import Attack
from guestlist.errors import InputError
from guestlist.evaluate import (
    advantage,
    agreement,
    auc,
    balanced_accuracy,
    best_threshold,
    calls_at_fpr,
    calls_at_level,
    positive_predictive_value,
    resolution,
    roc,
    roc_band,
    smallest_detectable_auc,
    smallest_detectable_tpr,
    tpr_at_fpr,
    unscored,
)
from guestlist.findings.headline import choose_headline
from guestlist.findings.hypothesis_tests import levels_of, p_values_of
from guestlist.findings.notices import (
    chance_notice,
    copy_notice,
    leaf_notice,
    no_better_than_mean_notice,
    regression_notice,
    sameness_notice,
    saturation_notice,
    size_notice,
)
from guestlist.findings.records import by_group, most_exposed, record_table
from guestlist.findings.results import (
    AgreementResult,
    AttackResult,
    Curve,
    Histogram,
    Level,
    Provenance,
    Rate,
    References,
    RegressionFit,
    Results,
    Subject,
)
from guestlist.store import Store
from guestlist.store.files import write_json, write_parquet
from guestlist.targets.scales import as_scale
from guestlist.views.evidence import NOTHING, Evidence
from guestlist.views.signals import Signals

FPRS = (0.001, 0.01, 0.05)
PRIOR = 0.5
AGREE_AT = 0.1
_PACKAGES = ("guestlist", "numpy", "scipy", "scikit-learn", "pandas")


@dataclass(frozen=True)
class Truth:
    """Which records are asked about, and the answer: both over all records of the pool."""

    asked: np.ndarray
    member: np.ndarray


def assess(
    store: Store,
    attacks: Mapping[str, Attack],
    *,
    references: int | None = None,
    notices: Sequence[str] = (),
    prior: float = PRIOR,
    evidence: Evidence = NOTHING,
) -> Results:
    """Run the attacks on the target of a store, evaluate them, and write what came out into its folder.

    Args:
        evidence: what was collected about the target beyond its signals.
    """
    pool = store.pool()
    truth = Truth(store.asked(), (pool["side"] == "members").to_numpy())
    evidence = replace(evidence.among(slice(references)), population=~truth.asked)
    # References are models of the same kind, so where a K-NN target looks for neighbours, they do.
    others = Evidence(neighbourhood=evidence.neighbourhood)
    rotation = replace(store.rotation(references), evidence=lambda k: others if k else evidence)
    signals = rotation.facing(0)
    headline = choose_headline(rotation, attacks, truth.asked)
    scores = {name: _scores(name, attack, signals) for name, attack in attacks.items()}
    for name, values in scores.items():
        store.write_scores(name, values)
    results = _results(store, signals, pool, truth, attacks, scores, headline, notices, prior)
    write_parquet(store.folder / "records.parquet", results.records)
    write_parquet(store.folder / "attacks.parquet", results.attacks)
    write_json(store.folder / "results.json", results.document())
    return results


def _scores(name: str, attack: Attack, signals: Signals) -> np.ndarray:
    scores = np.asarray(attack.score(signals), dtype=np.float64)
    if scores.shape != signals.labels.shape:
        raise InputError(
            f"Attack {name!r} must give one score per record, shaped {signals.labels.shape}, found {scores.shape}."
        )
    return scores


def _results(store, signals, pool, truth, attacks, scores, headline, notices, prior) -> Results:
    member, asked = truth.member[truth.asked], truth.asked
    p_values = p_values_of(attacks, signals, asked)
    levels = {name: levels_of(attacks[name], values, signals, asked, member) for name, values in p_values.items()}
    findings = tuple(
        evaluate_attack(name, attack, scores[name][asked], member, signals, prior, levels.get(name, ()))
        for name, attack in attacks.items()
    )
    records = record_table(pool, signals, asked, scores, p_values, headline.name)
    return Results(
        subject=_subject(store, signals, truth),
        references=_references(store, signals),
        headline=headline.name,
        chosen=headline.how,
        recipe=headline.recipe,
        prior=prior,
        findings=findings,
        agreement=_agreement(scores, {name: p_values[name] for name in _reaching(levels)}, truth),
        detectable_auc=smallest_detectable_auc(int(member.sum()), int((~member).sum())),
        groups=by_group(records, headline.name),
        exposed=most_exposed(records, headline.name),
        notices=(*notices, *_notices(store, signals, truth), *leaf_notice(records)),
        untested=_untested(signals, store, attacks),
        provenance=_provenance(store),
        records=records,
    )


def _subject(store: Store, signals: Signals, truth: Truth) -> Subject:
    member = truth.member[truth.asked]
    return Subject(
        name=str(store.manifest.about.get("name", "model")),
        classes=len(store.manifest.classes),
        members=int(member.sum()),
        nonmembers=int((~member).sum()),
        population=int((~truth.asked).sum()),
        **_figures(store, signals, truth),
    )


def _figures(store: Store, signals: Signals, truth: Truth) -> dict[str, Any]:
    """How well the target does on either side: accuracies, or R² and RMSE of a regression."""
    asked, member = truth.asked, truth.member[truth.asked]
    if as_scale(store.manifest.scale).has_classes:
        correct = signals.target("correct")[asked]
        return {
            "accuracy_members": float(correct[member].mean()),
            "accuracy_nonmembers": float(correct[~member].mean()),
        }
    residual = signals.target("residual")[asked]
    values = residual + store.answers()[asked, 0]
    return {
        f"fit_{side}": _fit(residual[of_side], values[of_side])
        for side, of_side in (("members", member), ("nonmembers", ~member))
    }


def _fit(residual: np.ndarray, values: np.ndarray) -> RegressionFit:
    error = float(np.square(residual).mean())
    spread = float(values.var())
    return RegressionFit(1 - error / spread if spread else float("nan"), float(np.sqrt(error)))


def _notices(store: Store, signals: Signals, truth: Truth) -> list[str]:
    outside, scale = truth.asked & ~truth.member, as_scale(store.manifest.scale)
    if scale.has_classes:
        told = chance_notice(signals.target("correct")[outside], signals.labels[outside])
    else:
        residual = signals.target("residual")[outside]
        told = no_better_than_mean_notice(_fit(residual, residual + store.answers()[outside, 0]))
    told += saturation_notice(scale.saturated(store.answers()[truth.asked]))
    return (
        told
        + size_notice(store, signals)
        + copy_notice(signals)
        + sameness_notice(signals)
        + regression_notice(signals.evidence)
    )


def evaluate_attack(
    name: str,
    attack: Attack,
    scores: np.ndarray,
    member: np.ndarray,
    signals: Signals,
    prior: float = PRIOR,
    levels: tuple[Level, ...] = (),
) -> AttackResult:
    """Every number about one attack; ``scores`` and ``member`` are of the asked records."""
    threshold = _threshold(attack, scores, member, signals)
    return AttackResult(
        name=name,
        summary=attack.summary,
        paper=attack.paper,
        auc=auc(scores, member),
        advantage=advantage(scores, member),
        rates=tuple(_rate(scores, member, fpr, prior) for fpr in FPRS),
        levels=levels,
        balanced_accuracy=None if np.isnan(threshold) else balanced_accuracy(scores, member, threshold),
        unscored=int(unscored(scores)),
        curve=_curve(scores, member),
        histogram=_histogram(scores, member),
    )


def _threshold(attack: Attack, scores: np.ndarray, member: np.ndarray, signals: Signals) -> float:
    if attack.oracle:
        kinds = set(member[~np.isnan(scores)])
        return best_threshold(scores, member) if len(kinds) == 2 else np.nan
    return attack.threshold(signals) if attack.threshold else np.nan


def _rate(scores: np.ndarray, member: np.ndarray, fpr: float, prior: float) -> Rate:
    members, nonmembers = int(member.sum()), int((~member).sum())
    enough = resolution(fpr, nonmembers)
    return Rate(
        fpr=fpr,
        tpr=tpr_at_fpr(scores, member, fpr),
        ppv=positive_predictive_value(scores, member, fpr, prior),
        resolution=str(enough),
        detectable=np.nan if enough == "withheld" else _detectable(fpr, members, nonmembers),
    )


def _agreement(
    scores: Mapping[str, np.ndarray], p_values: Mapping[str, np.ndarray], truth: Truth
) -> AgreementResult | None:
    """How far the attacks agree at one rate; None where there is only one.

    Args:
        p_values: of the tests that are to call by them.
    """
    if len(scores) < 2:
        return None
    asked, member = truth.asked, truth.member[truth.asked]
    calls = {
        name: calls_at_level(p_values[name][asked], AGREE_AT)
        if name in p_values
        else calls_at_fpr(values[asked], member, AGREE_AT)
        for name, values in scores.items()
    }
    found = agreement(calls, member)
    shares = (tuple(map(_rounded, matrix)) for matrix in (found.members, found.nonmembers))
    return AgreementResult(AGREE_AT, found.names, (False, *(name in p_values for name in scores)), *shares)


def _reaching(levels: Mapping[str, tuple[Level, ...]]) -> list[str]:
    """The tests that can call anyone at the level at which calls are compared."""
    return [name for name, found in levels.items() if any(level.alpha == AGREE_AT for level in found)]


@lru_cache
def _detectable(fpr: float, members: int, nonmembers: int) -> float:
    """The same for every attack of an audit."""
    return float(smallest_detectable_tpr(fpr, members, nonmembers))


def _curve(scores: np.ndarray, member: np.ndarray) -> Curve:
    points = roc(scores, member)
    fprs = np.geomspace(1 / max((~member).sum(), 2), 1, 40)
    low, high = roc_band(scores, member, fprs)
    return Curve(*(_rounded(values) for values in (points.fpr, points.tpr, fprs, low, high)))


def _histogram(scores: np.ndarray, member: np.ndarray, bins: int = 40) -> Histogram:
    """Shares per bin between the 0.5 and 99.5 % quantiles; the end bins hold what lies beyond."""
    finite = scores[np.isfinite(scores)]
    low, high = np.quantile(finite, [0.005, 0.995]) if finite.size else (0.0, 1.0)
    edges = np.linspace(low, high if high > low else low + 1, bins + 1)
    clipped = np.clip(scores, edges[0], edges[-1])

    def shares(side: np.ndarray) -> tuple[float, ...]:
        values = clipped[side & ~np.isnan(scores)]
        return _rounded(np.histogram(values, edges)[0] / max(len(values), 1))

    return Histogram(_rounded(edges), shares(member), shares(~member))


def _rounded(values: np.ndarray) -> tuple[float, ...]:
    return tuple(float(f"{v:.6g}") for v in values)


def _references(store: Store, signals: Signals) -> References | None:
    if not signals.references:
        return None
    records = float(signals.reference_member.sum(axis=1).mean())
    return References(signals.references, records, store.manifest.rate, store.manifest.seed)


def _untested(signals: Signals, store: Store, attacks: Mapping[str, Attack]) -> tuple[str, ...]:
    """What this audit did not look at, in words."""
    looked = {attack.evidence for attack in attacks.values()}
    silent = [
        *([] if {"inner", "leaves"} & looked else ["Attackers who see the model's parameters."]),
        *([] if "perturbed" in looked else ["Attackers who see nothing but its labels."]),
        "Whether members and non-members are different kinds of records: if they do not come from one source, an "
        "attack may tell them apart without the model.",
        "Other forms of leakage: reconstructing records, inferring attributes, text or images learnt by heart.",
    ]
    if not signals.references:
        silent.insert(
            0,
            "Attacks that compare the target with reference models, which find far more; they need the model and its "
            "records.",
        )
    if as_scale(store.manifest.scale).hides_logits:
        silent.append("What the model says beyond its probabilities (logits).")
    return tuple(silent)


def _provenance(store: Store) -> Provenance:
    versions = {"python": platform.python_version()}
    versions |= {name: importlib.metadata.version(name) for name in _PACKAGES}
    manifest = store.manifest
    return Provenance(versions, {"data": manifest.data, "recipe": manifest.recipe, "seed": str(manifest.seed)})
