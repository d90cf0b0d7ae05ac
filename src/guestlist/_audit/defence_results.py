"""Run every defence as an audit in its own folder, and compare it with the plain model."""

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from guestlist._audit import AGAIN, PLAIN, AuditConfig, Candidate, Difference, run_audit, side_of
from guestlist._audit.compare import compare
from guestlist._collect import Inputs, reset_rows
from guestlist._findings import Results, interval_columns, read_case, read_results
from guestlist._kernels import consecutive_codes, optional_take
from guestlist._store import from_json, open_store, read_json, text_digest, to_json, write_json
from guestlist._util import describe, global_generators, one_thread, reason, stream
from guestlist.defences import OutputDefence, Removal
from guestlist.errors import AuditError, FolderError, InputError
from guestlist.games import single_target_split
from guestlist.metrics import WITHHELD, Estimate, auc_difference, clustered_proportion, tpr_at_fpr
from guestlist.models import Target, model_code, query, with_output_defence
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
    """Outcome of a candidate: results and the members that it removed, or the reason why there are none."""

    candidate: Candidate
    results: Results | None = None
    failed: str = ""
    removed: Removed | None = None


@dataclass(frozen=True)
class DefenceRunner:
    """The audit of the model without a defence, and the folder and options with which defences are tried.

    Args:
        inputs, plain, plain_folder: inputs, results and folder of that audit.
        root: folder of the audits of all defences.
        config: options of every audit, except the folder.
        fpr: false positive rate at which members are flagged.
    """

    inputs: Inputs
    plain: Results
    plain_folder: Path
    root: Path
    config: AuditConfig
    fpr: float

    def identity(self, candidate: Candidate) -> str:
        """Return a digest of everything that decides the results of a defence's audit."""
        manifest = open_store(self.plain_folder).manifest
        config = self.config
        return text_digest(
            manifest.data,
            manifest.split,
            manifest.recipe,
            str(manifest.seed),
            repr([config.references, config.prior, list(config.ignore), self.fpr]),
            describe(None if config.attacks is None else list(config.attacks)),
            describe(list(config.evidence)),
            candidate.describe(),
        )

    def finished(self, candidate: Candidate) -> Tried | None:
        """Return the outcome of an earlier run, if that was completed."""
        path = self.root / candidate.folder
        if not (path / NOTE).exists():
            return None
        try:
            note: Note = from_json(Note, read_json(path / NOTE))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise FolderError(
                f"{path / NOTE} is damaged ({error}). Delete it and run again: the audit in the same folder is kept."
            ) from error
        if note.identity != self.identity(candidate):
            return None
        return Tried(candidate, read_results(path), removed=note.removed)

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
            inputs = replace(self.inputs, target=retrained_target)
            removed_mask = np.array([])
        else:
            inputs, removed_mask = self._defended(candidate.method)
        results = run_audit(inputs, replace(self.config, folder=path, baseline=False))
        removed = None
        if removed_mask.any():
            removed = self._removed(candidate, inputs.target, removed_mask)
        write_json(path / NOTE, to_json(Note(candidate.name, self.identity(candidate), removed)))
        return Tried(candidate, results, removed=removed)

    def _defended(self, method: Any) -> tuple[Inputs, np.ndarray]:
        """Return the inputs of an audit of the defended target, and the (records,) mask of removed records.

        The target is trained as every reference is: in the order of the pool, with one thread and its own random stream.
        Removed records are not evaluated, and no model trains on them.
        """
        inputs = self.inputs
        pool = inputs.pool
        split = inputs.split
        removed = np.zeros(len(pool), dtype=bool)
        if isinstance(method, OutputDefence):
            target = with_output_defence(
                inputs.target, method, members=pool.copied(split.members), seed=self.config.seed
            )
            return replace(inputs, target=target), removed
        if isinstance(method, Removal):
            risks = table_of(self.plain)
            if f"risk_{method.risk}" not in risks:  # audits do not compute the risk by default
                case = read_case(self.plain_folder, scored=False)
                risks = members_by_risk(case, [method.risk]).assign(member=True)
            removed = np.isin(pool.ids.astype(str), method.leaving(risks).astype(str)) & split.members
            method = None
        target = trained(inputs.target, method, pool.copied(split.members & ~removed), self.config.seed)
        if removed.any():
            remaining = ~removed
            inputs = replace(
                inputs,
                pool=reset_rows(pool.take(remaining)),
                split=single_target_split(split.members[remaining], split.evaluated[0][remaining]),
                rows=optional_take(inputs.rows, remaining),
                hashes=optional_take(inputs.hashes, remaining),
            )
        return replace(inputs, target=target), removed

    def _removed(self, candidate: Candidate, target: Target, removed: np.ndarray) -> Removed:
        plain = side_of(PLAIN, self.plain)
        pool = self.inputs.pool.take(removed)
        compared = ~plain.member | plain.records.index.isin(pool.ids)
        summary = Removed(
            records=len(pool),
            risk=candidate.method.risk,
            flagged=tpr_at_fpr(
                plain.scores[compared],
                plain.member[compared],
                self.fpr,
                clusters=optional_take(plain.persons, compared),
            ),
        )
        if not target.scale.has_classes:
            return summary
        after = np.asarray(query(target.predict, pool.x)).argmax(axis=1) == target.classes_of(pool.y)
        before = plain.records.loc[pool.ids, "correct"].to_numpy() > 0
        clusters = None if pool.persons is None else consecutive_codes(pool.persons)
        return replace(
            summary,
            right_before=clustered_proportion(before, clusters=clusters),
            right_after=clustered_proportion(after, clusters=clusters),
        )


def trained(target: Target, recipe: Any, members, seed: int) -> Target:
    """Train the target on the members by a recipe; None: by its own recipe."""
    rng = stream(seed, "training", 0)
    with one_thread(), global_generators(rng), model_code():
        return target.needs("retrain")(recipe, members, rng)


ERROR = 0.05
FPR = 0.05


@dataclass(frozen=True)
class Row:
    """Result of one defence.

    Args:
        name, defence: of the candidate.
        failed: reason why there are no results, if any.
        options: number of options of this defence that were evaluated on the same records.
        members: number of compared members, on which both models trained.
        accuracy: on non-members; None for regression.
        auc, tpr: of each audit's own headline attack, with intervals that are not corrected for other rows.
        gap: AUC minus that of the plain model, with an interval corrected for all rows.
        epsilon: guaranteed by one such training, at ``delta``; None without a guarantee, or if it cannot be computed here.
        removed: members that were removed, if any.
    """

    name: str
    defence: str
    failed: str = ""
    options: int = 1
    members: int = 0
    accuracy: Difference | None = None
    auc: Difference | None = None
    tpr: Difference | None = None
    gap: Estimate | None = None
    epsilon: float | None = None
    delta: float | None = None
    removed: Removed | None = None

    @property
    def leaks_less(self) -> bool:
        """Evidence, corrected for all defences tried, that the AUC is smaller, without a larger TPR."""
        less = self.gap is not None and self.gap.high < 0
        return less and not (self.tpr is not None and self.tpr.differs and self.tpr.difference.value > 0)

    @property
    def less_accurate(self) -> bool:
        """Evidence that fewer predictions are correct."""
        return self.accuracy is not None and self.accuracy.differs and self.accuracy.difference.value < 0


@dataclass(frozen=True, repr=False)
class Defended:
    """Defences that were tried, and their results.

    Attributes:
        rows: One per defence, in the order in which they were tried.
        plain: Audit of the model without a defence.
        audits: Name of a defence to its audit.
        compared: ``gl.compare`` of the audits of the same records, which excludes removals; None if there are none.

    Examples:
        >>> model, members, nonmembers = gl.testing.small_model()
        >>> rounded = {"one digit": gl.defences.Rounded(1)}
        >>> defended = gl.defend(
        ...     model, members, nonmembers, defences=rounded, references=4, attacks=["loss"], baseline=False, jobs=1
        ... )
        >>> [row.name for row in defended.rows]
        ['trained again', 'one digit']
        >>> defended.helps
        ()
    """

    rows: tuple[Row, ...]
    plain: Results
    audits: Mapping[str, Results]
    compared: Any = None

    @property
    def helps(self) -> tuple[str, ...]:
        """Defences with evidence of a smaller leak, the most accurate first."""
        table = self.table[self.table["leaks_less"] & (self.table["defence"] != AGAIN)]
        return tuple(table.sort_values(["accuracy", "auc"], ascending=[False, True], kind="stable")["defence"])

    @property
    def table(self) -> pd.DataFrame:
        """One row per defence: differences to the plain model with the ends of their intervals."""
        return pd.DataFrame([_flat(row) for row in self.rows])

    def __repr__(self) -> str:
        return self.table.to_string()

    def document(self) -> list[dict[str, Any]]:
        """Return the rows as JSON."""
        return [to_json(row) for row in self.rows]


def compare_defences(plain: Results, tried: Sequence[Tried], fpr: float) -> Defended:
    """Compare every audited defence with the plain model."""
    done = {attempt.candidate.name: attempt for attempt in tried if attempt.results is not None}
    confidence = together(len(done))
    audits = {name: attempt.results for name, attempt in done.items() if attempt.results is not None}
    same = {name: results for name, results in audits.items() if done[name].removed is None}
    compared = compare({PLAIN: plain, **same}, fpr=fpr) if same else None
    comparisons = {attempt.second: attempt for attempt in compared or ()}
    for name in audits.keys() - same.keys():
        pair = {PLAIN: restricted_to(plain, audits[name]), name: audits[name]}
        comparisons |= {attempt.second: attempt for attempt in compare(pair, fpr=fpr)}
    options = Counter(attempt.candidate.defence for attempt in done.values())
    rows = []
    for attempt in tried:
        candidate = attempt.candidate
        if attempt.results is None:
            rows.append(Row(candidate.name, candidate.defence, failed=attempt.failed))
            continue
        comparison = comparisons[candidate.name]
        differences = {row.metric: row for row in comparison.differences if row.scope != "members"}
        epsilon, delta = _guarantee(candidate.method, comparison.members)
        rows.append(
            Row(
                candidate.name,
                candidate.defence,
                options=options[candidate.defence],
                members=comparison.members,
                accuracy=differences.get("accuracy"),
                auc=differences["auc"],
                tpr=differences["tpr"],
                gap=auc_gap(plain, attempt.results, confidence),
                epsilon=epsilon,
                delta=delta,
                removed=attempt.removed,
            )
        )
    return Defended(tuple(rows), plain, audits, compared)


def together(defences: int) -> float:
    """Return the confidence of each interval for a joint confidence of 95 % (Bonferroni)."""
    return 1 - ERROR / max(1, defences)


def restricted_to(plain: Results, other: Results) -> Results:
    """Return the audit of the plain model, with only the records of another audit."""
    records = table_of(plain)
    return replace(plain, records=records[records["id"].isin(table_of(other)["id"])].reset_index(drop=True))


def table_of(results: Results) -> pd.DataFrame:
    assert results.records is not None, "audits that were just made have their records"
    return results.records


def auc_gap(plain: Results, other: Results, confidence: float) -> Estimate:
    """Return the AUC of an audit's headline attack minus the plain model's, on the records of both."""
    first = side_of(PLAIN, restricted_to(plain, other))
    second = side_of("defended", other)
    return auc_difference(second.scores, first.scores, first.member, clusters=first.persons, confidence=confidence)


def _guarantee(method: Any, members: int) -> tuple[float | None, float | None]:
    """Return epsilon and delta of a private training, if they can be computed; delta is below 1 / members."""
    if not hasattr(method, "privacy"):
        return None, None
    delta = min(1e-5, 0.1 / members)
    try:
        return float(method.privacy(delta).epsilon), delta
    except InputError:  # the accountant is not installed
        return None, None


def _flat(row: Row) -> dict[str, Any]:
    flat: dict[str, Any] = {"defence": row.name}
    for name, difference in (("accuracy", row.accuracy), ("auc", row.auc), ("tpr", row.tpr)):
        flat[name] = np.nan if difference is None else difference.second.value
        flat |= interval_columns(f"{name}_change", WITHHELD if difference is None else difference.difference)
    return flat | {
        "leaks_less": row.leaks_less,
        "less_accurate": row.less_accurate,
        "members": row.members,
        "epsilon": row.epsilon,
        "failed": row.failed,
    }
