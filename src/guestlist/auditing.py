"""The whole flow, in order: records and a model in, results out. Read this first.

games ────► Design ──┐
targets ─► Trainer ──┼─► collect ─► Store ─► Signals ─► attacks ─► evaluate ─► report
Data ────────────────┘    slow      disk     a view     scores     numbers     a page
"""

from __future__ import annotations

import hashlib
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

from guestlist import checks
from guestlist.attacks import named
from guestlist.collecting.evidence.gathering import (
    AnyPlan,
    check_plans,
    collected,
    from_target,
    gather,
    read_evidence,
    with_begun,
    with_default,
)
from guestlist.collecting.evidence.plan import Site
from guestlist.collecting.evidence.table import EVIDENCE, missing_evidence
from guestlist.collecting.readout import Progress
from guestlist.collecting.references import begin, collect
from guestlist.collecting.until import UntilWidth, grow
from guestlist.data import Data, as_data, concatenate, encode, fingerprint, ordered_like
from guestlist.errors import AuditWarning, InputError
from guestlist.findings.assess import PRIOR, assess
from guestlist.findings.notices import duplicate_notice
from guestlist.findings.results import Results
from guestlist.games import inclusion_rate
from guestlist.selfcheck.try_out import try_out
from guestlist.store import Manifest, Store, locked, open_store
from guestlist.targets import Target, as_target

REFERENCES = 32


@dataclass(frozen=True)
class Prepared:
    """Everything an audit needs, checked; what remains is the long work."""

    target: Target
    pool: Data
    sides: np.ndarray
    notices: tuple[str, ...]


def audit(
    model,
    members,
    nonmembers,
    population=None,
    *,
    label: str | None = None,
    group: str | Sequence[str] = (),
    id: str | None = None,
    references: int | UntilWidth = REFERENCES,
    attacks: Sequence[str | Callable] | None = None,
    evidence: Sequence[AnyPlan] = (),
    folder: str | Path | None = None,
    seed: int = 0,
    jobs: int = -1,
    duplicates: Literal["warn", "drop"] = "warn",
    prior: float = PRIOR,
    progress: Progress | None = None,
    about: Mapping[str, object] | None = None,
) -> Results:
    """Could anyone tell who was in the training set of ``model``?

    Args:
        model: a fitted scikit-learn-style classifier, or a target made by ``torch_target`` or ``function_target``.
        members: the records it was trained on: ``(x, y)``, a table with a ``label`` column, or a path to one.
        nonmembers: records of the same source that it was not trained on.
        population: more records of the same source, for references to train on; they are not asked about.
        label, group, id: columns of tables; ``group`` may be several.
        references: how many models to train for comparison; 0 runs only the attacks that need none;
            ``UntilWidth(0.05)`` trains until the recipe's AUC is known that well.
        attacks: names from ``ATTACKS``, combinations such as ``union(loss,lira)``, or functions ``(signals) -> scores``;
            all that can run by default.
        evidence: what some attacks need beyond references, such as ``Distilled(models=64)``; see ``guestlist show evidence``.
        folder: keeps all that was collected; run again with the same folder to resume or to add references.
        seed: of everything random.
        jobs: processes; -1 for one per core. The results do not depend on it.
        duplicates: ``drop`` leaves out non-members that are equal to a member.
        prior: share of members among the people an attacker asks about; decides what share of its calls is right.
        progress: wraps an iterable and takes ``total=``, as ``tqdm`` does.
        about: kept in the folder's manifest, for people and for later commands.

    Returns:
        Results: ``.attacks`` and ``.records`` are DataFrames, ``.summary()`` and ``.to_html(path)`` are to read.
    """
    fewest = references.start if isinstance(references, UntilWidth) else references
    _check_settings(fewest, seed, jobs, prior)
    target = as_target(model)
    check_plans(evidence)
    prepared = prepare(target, members, nonmembers, population, label=label, group=group, id=id, duplicates=duplicates)
    for notice in prepared.notices:
        warnings.warn(notice, AuditWarning, stacklevel=2)
    if fewest and target.train is None:
        why = f": {target.untrainable}" if target.untrainable else ""
        raise InputError(f"The target has no recipe to train references by{why}. Give train=…, or references=0.")
    for plan in evidence:
        plan.check(target, prepared.pool, prepared.sides)
    plans = with_default(evidence, target, prepared.pool, prepared.sides)
    at_once, missing = {plan.name for plan in plans}, missing_evidence()
    able = at_once | {name for name, kind in EVIDENCE.items() if kind.kept}  # it may be in the folder already
    # A misspelt name, or a faulty attack of the user's own, is found before a folder is made.
    try_out(named(attacks, fewest, able, missing), encode(prepared.pool.y, target.classes), fewest)
    with _folder(folder) as place, locked(place):
        store = store_for(prepared, place, references=fewest, seed=seed, about=about)
        kinds = collected(store) | at_once
        chosen = named(attacks, fewest, kinds, missing)
        planned = with_begun(store, plans)
        given = from_target(plans, target, prepared.pool, prepared.sides)

        def run(count: int, notices: Sequence[str] = ()) -> Results:
            if planned:  # before the references: some plans train them, and keep more of what they say
                question = begin(store, target, prepared.pool, count)
                gather(planned, Site(store, target, prepared.pool, question, count, jobs, progress))
            collect(store, prepared.target, prepared.pool, references=count, jobs=jobs, progress=progress)
            found = read_evidence(store, kinds, given)
            told = (*prepared.notices, *notices)
            return assess(store, chosen, references=count, notices=told, prior=prior, evidence=found)

        return grow(run, references) if isinstance(references, UntilWidth) else run(references)


def prepare(
    model, members, nonmembers, population=None, *, label=None, group=(), id=None, duplicates="warn"
) -> Prepared:
    """Check the inputs and bring them into one form; nothing here takes long."""
    target = as_target(model)
    given = {"members": members, "nonmembers": nonmembers, "population": population}
    columns = {"label": label, "group": (group,) if isinstance(group, str) else tuple(group), "id": id}
    sides = {side: as_data(source, side=side, **columns) for side, source in given.items() if source is not None}
    sides = {side: target.fitting(ordered_like(data, sides["members"]), side) for side, data in sides.items()}
    checks.check_sides(sides, target.classes)
    for side, data in sides.items():
        checks.check_finite(side, data, target.predict)
        checks.check_readable(side, data, target.predict)
    sides, notices = _duplicates(sides, duplicates)
    names = np.repeat(np.array(list(sides), dtype=object), [len(data) for data in sides.values()])
    return Prepared(target, concatenate(list(sides.values())), names, tuple(notices))


def store_for(
    prepared: Prepared, folder: Path, *, references: int, seed: int, about: Mapping[str, object] | None = None
) -> Store:
    """The audit folder for these inputs: a new one, or the one that was made for them before."""
    target, pool, sides = prepared.target, prepared.pool, prepared.sides
    rate = inclusion_rate(int((sides == "members").sum()), len(pool), references)
    if (folder / "manifest.json").exists():
        rate = open_store(folder).manifest.rate  # more references later must not change those that are there
    manifest = Manifest(
        data=_digest(fingerprint(pool), *sides),
        recipe=_digest(target.recipe),
        seed=seed,
        rate=rate,
        scale=target.scale,
        classes=tuple(map(str, target.classes)),
        about={"name": target.name, **(about or {})},
    )
    store = open_store(folder, manifest)
    table = pd.DataFrame(
        {"id": pool.ids, "label": pool.y.astype(str), "class": encode(pool.y, target.classes), "side": sides}
    )
    store.write_pool(table.assign(**{f"group_{name}": values for name, values in pool.groups.items()}))
    return store


def _check_settings(references, seed, jobs, prior) -> None:
    if not isinstance(references, (int, np.integer)) or references < 0:
        raise ValueError(f"Expected references={references} to be a whole number, 0 or more.")
    if not isinstance(seed, (int, np.integer)) or seed < 0:
        raise ValueError(f"Expected seed={seed} to be a whole number, 0 or more.")
    if jobs == 0:
        raise ValueError("Expected jobs=0 to be a number of processes, or -1 for one per core.")
    if not 0 < prior < 1:
        raise ValueError(f"Expected prior={prior} in (0, 1).")


def _duplicates(sides: dict[str, Data], choice: str) -> tuple[dict[str, Data], list[str]]:
    if choice not in ("warn", "drop"):
        raise ValueError(f"Expected duplicates={choice!r} to be 'warn' or 'drop'.")
    duplicate = checks.duplicates_across(sides["members"], sides["nonmembers"])
    if choice == "warn":
        checks.check_not_the_same(duplicate)
        return sides, duplicate_notice(duplicate)
    if duplicate.all():
        raise InputError("Every non-member also stands among the members; none is left after dropping them.")
    dropped = f"{duplicate.sum()} of {len(duplicate)} non-members were dropped because they are equal to a member."
    kept = {**sides, "nonmembers": sides["nonmembers"].take(np.flatnonzero(~duplicate))}
    return kept, [dropped] if duplicate.any() else []


def _digest(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


@contextmanager
def _folder(folder: str | Path | None):
    """The folder, or one that lasts as long as the audit."""
    if folder is not None:
        yield Path(folder)
        return
    with tempfile.TemporaryDirectory(prefix="guestlist-") as place:
        yield Path(place) / "audit"
