"""One defence tried: its target audited in a separate folder, and never twice."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from guestlist._audit.comparison import person_codes
from guestlist._audit.config import AuditConfig
from guestlist._audit.defence_candidates import Candidate
from guestlist._audit.flow import run_audit
from guestlist._collect import Inputs, reset_rows
from guestlist._findings.case_io import read_case
from guestlist._findings.results import Results, read_results
from guestlist._kernels import consecutive_codes, optional_take
from guestlist._store import from_json, open_store, read_json, text_digest, to_json, write_json
from guestlist._util import describe, global_generators, one_thread, reason, stream
from guestlist.errors import AuditError, FolderError
from guestlist.games import single_target_split
from guestlist.metrics import Estimate, clustered_proportion, tpr_at_fpr
from guestlist.models import Target, answering, model_code, query
from guestlist.risks import members_by_risk

NOTE = "defence.json"  # written last: its presence means that the audit is complete


@dataclass(frozen=True)
class Removed:
    """Members that a defence removed from the training set.

    Args:
        records: their number.
        risk: risk by which they were chosen.
        flagged: share of them that the plain model's headline attack flagged, at the FPR of the comparison.
        right_before, right_after: accuracy on them of the plain model, which trained on them, and of the defended model;
            None for regression.
    """

    records: int
    risk: str
    flagged: Estimate
    right_before: Estimate | None = None
    right_after: Estimate | None = None


@dataclass(frozen=True)
class Note:
    """Information about a defence that was tried, stored next to its audit.

    Args:
        identity: digest of the defence, the records, the members and the options.
    """

    name: str
    identity: str
    removed: Removed | None = None


@dataclass(frozen=True)
class Tried:
    """Outcome of a candidate: results, or the reason without any."""

    candidate: Candidate
    results: Results | None = None
    failed: str = ""
    note: Note | None = None


@dataclass(frozen=True)
class Plain:
    """The audit of the model as it is, with which every defence is compared.

    Args:
        folder: its folder.
    """

    inputs: Inputs
    results: Results
    folder: Path


@dataclass(frozen=True)
class DefenceRunner:
    """Folder and options with which defences are tried.

    Args:
        config: options of every audit, except the folder.
        fpr: false positive rate at which members are flagged.
    """

    plain: Plain
    root: Path
    config: AuditConfig
    fpr: float

    def identity(self, candidate: Candidate) -> str:
        """Return a digest of everything that decides the results of a defence's audit."""
        manifest = open_store(self.plain.folder).manifest
        config = self.config
        wanted = [config.references, config.prior, list(config.ignore), self.fpr]
        attacks = None if config.attacks is None else list(config.attacks)
        parts = (manifest.data, manifest.split, manifest.recipe, str(manifest.seed), repr(wanted), describe(attacks))
        return text_digest(*parts, describe(list(config.evidence)), candidate.describe())

    def finished(self, candidate: Candidate) -> Tried | None:
        """Return the outcome of an earlier run, if that was completed."""
        path = self.root / candidate.folder
        if not (path / NOTE).exists():
            return None
        try:
            note: Note = from_json(Note, read_json(path / NOTE))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise FolderError(f"{path / NOTE} is damaged ({error}). Remove it: the audit beside it is kept.") from error
        if note.identity != self.identity(candidate):
            return None
        return Tried(candidate, read_results(path), note=note)

    def attempt(self, candidate: Candidate, retrained_target: Target | None = None) -> Tried:
        """Try a candidate; a failure is reported and does not stop the others.

        Args:
            retrained_target: the target trained again by its own recipe, if that was done already.
        """
        if candidate.unfit:
            return Tried(candidate, failed=candidate.unfit)
        finished = self.finished(candidate)
        if finished is not None:
            return finished
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the audit of the plain model has warned about the records
                return self._tried(candidate, retrained_target)
        except AuditError as error:
            return Tried(candidate, failed=str(error))
        except Exception as error:
            return Tried(candidate, failed=reason(error))

    def _tried(self, candidate: Candidate, retrained_target: Target | None) -> Tried:
        path = self.root / candidate.folder
        if candidate.method is None and retrained_target is not None:
            inputs = replace(self.plain.inputs, target=retrained_target)
            removed_mask = np.array([])
        else:
            inputs, removed_mask = defended(candidate, self.plain, self.config.seed)
        results = run_audit(inputs, replace(self.config, folder=path, baseline=False))
        removed = None
        if removed_mask.any():
            removed = self._removed(candidate, inputs.target, removed_mask)
        note = Note(candidate.name, self.identity(candidate), removed)
        write_json(path / NOTE, to_json(note))
        return Tried(candidate, results, note=note)

    def _removed(self, candidate: Candidate, target: Target, removed: np.ndarray) -> Removed:
        inputs = self.plain.inputs
        records = self.plain.results.records
        assert records is not None, "removal was decided by the table of records"
        headline = self.plain.results.headline
        assert headline is not None, "an audit has a headline"
        gone = records.set_index("id").loc[inputs.pool.ids[removed]]
        score = records[f"score_{headline.name}"].to_numpy(dtype=float)
        member = records["member"].to_numpy(dtype=bool)
        compared = ~member | records["id"].isin(gone.index).to_numpy()
        clusters = person_codes(records)
        detected = tpr_at_fpr(score[compared], member[compared], self.fpr, clusters=optional_take(clusters, compared))
        if not target.scale.has_classes:
            return Removed(int(removed.sum()), candidate.method.risk, detected)
        pool = inputs.pool.take(removed)
        after = np.asarray(query(target.predict, pool.x)).argmax(axis=1) == target.classes_of(pool.y)
        clusters = None
        if pool.persons is not None:
            clusters = consecutive_codes(pool.persons)
        right = (clustered_proportion(some, clusters=clusters) for some in (gone["correct"].to_numpy() > 0, after))
        return Removed(int(removed.sum()), candidate.method.risk, detected, *right)


def defended(candidate: Candidate, plain: Plain, seed: int) -> tuple[Inputs, np.ndarray]:
    """Return the inputs of an audit of the defended target, and (records,) which records were removed.

    The target is trained as every reference is: in the order of the pool, with one thread and its own random stream.
    """
    inputs = plain.inputs
    method = candidate.method
    pool = inputs.pool
    members = inputs.split.members
    removed = np.zeros(len(pool), dtype=bool)
    if candidate.answers:
        target = answering(inputs.target, method, members=pool.copied(members), seed=seed)
        return replace(inputs, target=target), removed
    if candidate.removes:
        removed = np.isin(pool.ids.astype(str), method.leaving(_risks(plain, method.risk)).astype(str)) & members
    target = trained(inputs.target, None if candidate.removes else method, pool.copied(members & ~removed), seed)
    return replace(without(inputs, removed), target=target), removed


def _risks(plain: Plain, risk: str) -> pd.DataFrame:
    """The table of records with a risk, or of the members alone where it is one that audits do not have by default."""
    records = plain.results.records
    assert records is not None, "an audit that was just made has its records"
    if f"risk_{risk}" in records:
        return records
    return members_by_risk(read_case(plain.folder, scored=False), [risk]).assign(member=True)


def trained(target: Target, recipe: Any, members, seed: int) -> Target:
    """Train the target on the members by a recipe; None: by its own recipe."""
    rng = stream(seed, "training", 0)
    with one_thread(), global_generators(rng), model_code():
        return target.needs("retrain")(recipe, members, rng)


def without(inputs: Inputs, removed: np.ndarray) -> Inputs:
    """Return the inputs without some records: they are not evaluated, and no model trains on them."""
    if not removed.any():
        return inputs
    remaining = ~removed
    split = inputs.split
    return replace(
        inputs,
        pool=reset_rows(inputs.pool.take(remaining)),
        split=single_target_split(split.members[remaining], split.evaluated[0][remaining]),
        rows=optional_take(inputs.rows, remaining),
        hashes=optional_take(inputs.hashes, remaining),
    )


def pending_candidates(runner: DefenceRunner, plan: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates that are still to be tried."""
    return [candidate for candidate in plan if not candidate.unfit and runner.finished(candidate) is None]
