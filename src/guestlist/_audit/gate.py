"""Read a policy, the requirements that a model must meet before its release, and evaluate an audit against it.

A policy file is TOML. Its keys are the fields of :class:`Policy`, and each has the name of the command's option if there is one.
The results include its text and the SHA-256 of its bytes: `sha256sum release.toml` gives the same.
"""

import logging
import math
import re
import tomllib
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Union

import numpy as np

from guestlist import _findings, _report, metrics
from guestlist._diagnostics.table import CHECKS, undermines_verdict
from guestlist._findings import (
    Demand,
    Gated,
    GateInput,
    Limit,
    Measure,
    OpenCheck,
    Sizes,
    Verdict,
    read_gate_input,
)
from guestlist._store import folder_lock, read_json, to_json, write_json
from guestlist._util import choice, close_matches, flag, integer, joined_digest, words
from guestlist.attacks import ATTACKS, RULES
from guestlist.errors import AuditError, AuditWarning, FolderError, InputError
from guestlist.metrics import Estimate

if TYPE_CHECKING:
    from guestlist._findings import Results

REQUIRED = "required"
NOT_REQUIRED = "not required"


@dataclass(frozen=True)
class Policy:
    """Limits and requirements that an audit must meet.

    Args:
        max_auc, max_advantage: largest values that pass.
        max_tpr: one or several such as ``0.05@0.01``: a TPR of at most 0.05 at an FPR of 0.01.
        attacks: one or several that must have been run.
        least_records: minimum number of evaluated members, and of non-members.
        least_references: minimum number of reference models.
        without_references: whether to accept an audit without an attack that compares with reference models.
        model_free_baseline: ``required`` if the audit must include the model-free baseline.
        ignore: codes of checks, such as ``GL106``, that do not fail the gate although they undermine its verdict.
    """

    max_auc: float | None = None
    max_advantage: float | None = None
    max_tpr: tuple[str, ...] = ()
    attacks: tuple[str, ...] = ()
    least_records: int = 0
    least_references: int = 0
    without_references: bool = False
    model_free_baseline: str = NOT_REQUIRED
    ignore: tuple[str, ...] = ()

    def __post_init__(self):
        for name in ("max_auc", "max_advantage"):
            value = getattr(self, name)
            if value is not None and not _is_number(value):
                raise ValueError(f"Expected {name}={value!r} to be a number.")
        rates = [rate for rate in np.atleast_1d(self.max_tpr).tolist() if _is_number(rate)]
        if rates:
            raise ValueError(f'{_without_rate(rates[0])} Write it as text: max_tpr = ["{rates[0]}@0.01"].')
        for name, example in {"max_tpr": "0.05@0.01", "attacks": "lira", "ignore": "GL104"}.items():
            try:
                object.__setattr__(self, name, words(name, getattr(self, name)))
            except ValueError as error:
                raise ValueError(f'{str(error).removesuffix(".")}, as in {name} = ["{example}"].') from error
        unknown = [code for code in self.ignore if code not in CHECKS]
        if unknown:
            raise ValueError(f"There is no check {unknown[0]!r} to ignore. List all with guestlist show checks.")
        integer("least_records", self.least_records)
        integer("least_references", self.least_references)
        flag("without_references", self.without_references)
        choice("model_free_baseline", self.model_free_baseline, (REQUIRED, NOT_REQUIRED))
        if self.least_references and self.without_references:
            raise ValueError(
                f"least_references={self.least_references} and without_references contradict each other. Remove one of them."
            )
        if not self.limits:
            raise ValueError("No limit is set. Set at least one of max_auc, max_advantage and max_tpr.")

    @property
    def limits(self) -> tuple[Limit, ...]:
        """Limits on TPRs, then on the AUC and on the advantage."""
        maxima: dict[Measure, float | None] = {"auc": self.max_auc, "advantage": self.max_advantage}
        others = (Limit(maximum, measure) for measure, maximum in maxima.items() if maximum is not None)
        return (*map(tpr_limit, self.max_tpr), *others)


@dataclass(frozen=True)
class PolicyFile:
    """A policy, the text that it was read from, and the hash of the file."""

    policy: Policy
    text: str
    sha256: str


def tpr_limit(text: str) -> Limit:
    """Parse a limit such as ``0.05@0.01``: a TPR of at most 0.05 at an FPR of 0.01."""
    limit, at, fpr = text.partition("@")
    if not at:
        raise ValueError(_without_rate(text))
    expected = f"Expected TPR@FPR such as 0.05@0.01, found {text!r}"
    try:
        numbers = float(limit), float(fpr)
    except ValueError as error:
        raise ValueError(f"{expected}. Both parts must be numbers.") from error
    try:
        return Limit(numbers[0], "tpr", numbers[1])
    except ValueError as error:
        raise ValueError(f"{expected}. {error}") from error


def read_policy(path: str | Path) -> PolicyFile:
    """Read the policy in a TOML file."""
    try:
        content = Path(path).read_bytes()
        text = content.decode("utf-8")
        keys = tomllib.loads(text)
    except (OSError, ValueError) as error:
        raise InputError(f"Cannot read the policy {path}: {error}. Check that it is a TOML file in UTF-8.") from error
    known = [field.name for field in fields(Policy)]
    unknown = sorted(set(keys) - set(known))
    if unknown:
        raise InputError(
            f"The policy {path} has the unknown key {unknown[0]!r}. Available keys: {close_matches(unknown[0], known)}."
        )
    try:
        policy = Policy(**keys)
    except ValueError as error:
        raise InputError(f"The policy {path} is not valid: {error}") from error
    return PolicyFile(policy, text, joined_digest(content))


def _without_rate(tpr: str | float) -> str:
    return (
        f"Expected TPR@FPR, found {tpr!r}. A TPR limit needs a false positive rate: {tpr or '0.05'}@0.01 limits the TPR at "
        "an FPR of 0.01."
    )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def sample_size_factor(estimate: Estimate, limit: Limit) -> float:
    """Return the factor by which the audit must grow; infinite if no size suffices, NaN if unknown.

    An upper end of 1 gives no information, so the factor is unknown then.

    >>> round(sample_size_factor(Estimate(0.55, 0.5, 0.6), Limit(0.575)), 1)
    4.1
    """
    numbers = np.array([estimate.value, estimate.high, limit.maximum])
    if limit.measure == "advantage":  # in [-1, 1]; as a balanced accuracy it is a share
        numbers = (1 + numbers) / 2
    value, high, limit_share = numbers.tolist()
    if value >= limit_share:
        return np.inf
    if not high < 1:  # also true for a withheld estimate
        return np.nan
    if limit_share >= 1:
        return 0.0

    def looseness(end: float) -> float:
        """Return the squared half-width over the variance at the upper end; it falls as 1/n."""
        return (end - value) ** 2 / (end * (1 - end))

    return looseness(high) / looseness(limit_share)


MAX_DRIVERS = 10
AuditResults = Union["Results", GateInput]  # results of an audit, or the part of them that a gate reads
Judged = tuple[Any, ...]  # metrics of the attacks that are compared with the limits


def limited_attacks(results: AuditResults, attacks: tuple[str, ...] = ()) -> Judged:
    """Return the attacks to compare with the limits: those named, or all that were run."""
    outcomes = tuple(results.attack(name) for name in attacks) or (results.outcomes or ())
    if not outcomes:
        raise FolderError(
            "The results have no attack to compare with the limits. Run the audit again with at least one attack."
        )
    return outcomes


def evaluate_limit(
    results: AuditResults, limit: Limit, attacks: tuple[str, ...] = (), *, name_drivers: bool = True
) -> Verdict:
    """Compare the audit's attacks (all of them, or those named) with one limit.

    Args:
        results: of the audit, or the part that a gate reads.
        limit: the limit.
        attacks: names of the attacks to evaluate; by default all that were run.
        name_drivers: whether to name the members that drive the number up, which takes the table of records.
    """
    estimates = {outcome.name: _estimate(results, outcome, limit) for outcome in limited_attacks(results, attacks)}
    # A withheld number cannot pass, so NaN counts as the worst.
    worst = max(estimates, key=lambda name: np.nan_to_num(estimates[name].high, nan=np.inf))
    estimate = estimates[worst]
    passed = bool(estimate.high <= limit.maximum)
    drivers: tuple[str, ...] = ()
    tied = 0
    sample_size_needed = None
    if not passed:
        times = sample_size_factor(estimate, limit)
        if results.subject is not None and np.isfinite(times):
            sample_size_needed = Sizes(
                members=int(np.ceil(times * results.subject.members)),
                nonmembers=int(np.ceil(times * results.subject.nonmembers)),
            )
        if name_drivers:
            drivers, tied = _drivers(results, worst, limit)
    return Verdict(
        limit=limit,
        attack=worst,
        estimate=estimate,
        passed=passed,
        margin=limit.maximum - estimate.high,
        sample_size_needed=sample_size_needed,
        drivers=drivers,
        tied=tied,
    )


def _estimate(results: AuditResults, outcome: Any, limit: Limit) -> Estimate:
    if limit.fpr is None:
        if limit.measure == "auc":
            return outcome.auc
        return outcome.advantage
    for rate in outcome.rates:
        if np.isclose(rate.fpr, limit.fpr):
            return rate.tpr
    records = results.records
    if records is None:
        raise FolderError(
            f"The results have no TPR at an FPR of {limit.fpr:g}, and records.parquet, which it is computed from, is "
            "missing. Run the audit again."
        )
    return metrics.tpr_at_fpr(
        records[f"score_{outcome.name}"].to_numpy(),
        records["member"].to_numpy(),
        limit.fpr,
        clusters=records["person"].to_numpy() if "person" in records else None,
    )


def _drivers(results: AuditResults, attack: str, limit: Limit) -> tuple[tuple[str, ...], int]:
    """Return the members that drive the number up, and the number of members tied for the next rank.

    They have the highest scores, with a small p-value among non-members; for a TPR only flagged members count.
    """
    if results.records is None or np.isnan(_estimate(results, results.attack(attack), limit).high):
        return (), 0
    member = results.records["member"].to_numpy(bool)
    scores = results.records[f"score_{attack}"].to_numpy(float)
    outside = scores[~member & ~np.isnan(scores)]
    candidates = member & (metrics.conformal_p_values(scores, outside) <= _findings.MAX_P_VALUE)
    if limit.fpr is not None:
        candidates &= scores >= metrics.threshold_at_fpr(outside, limit.fpr)
    names = results.records["id"].to_numpy()[candidates]
    top = _findings.top_k_ties([-scores[candidates]], names, MAX_DRIVERS, MAX_DRIVERS)
    return tuple(str(names[row]) for row in top.rows), top.left_out


# Evidence that replaces references: other models trained for the same records, or the exact distribution over all models.
IN_THEIR_PLACE = ("distilled", "left_out", "neighbours")
GL112 = "GL112"  # the headline attack ranks members below non-members
CHANCE = 0.5  # AUC of guessing
ERROR = 0.05  # of a 95% interval


def demands(results: AuditResults, judged: Judged, policy: Policy) -> tuple[Demand, ...]:
    """Return the requirements of a policy on the audit itself, and whether the audit meets them.

    * ``sides``: no attack ranks members significantly below non-members, because an AUC below 0.5 would meet every limit. The
      members and non-members may have been interchanged, or a sign inverted. With many attacks, one of them has an interval
      below 0.5 by chance, so the upper ends hold together (Bonferroni), with the error of one side of a 95 % interval. A user
      who ignores GL112, the same check of the headline attack, accepts that.
    * ``comparison``: an attack compares models on the same record, unless the policy waives it.
    * ``attacks``: the attacks named by the policy were run.
    * ``records``, ``references``: there are enough evaluated members and non-members, and enough reference models.
    * ``model_free_baseline``: the audit includes the model-free baseline.
    """
    demanded = []
    references = results.references.count if results.references else 0
    headline = results.check(GL112)
    if GL112 not in policy.ignore and (headline is None or headline.state != "ignored"):
        highs = {outcome.name: upper_end(outcome.auc, ERROR / 2 / len(judged)) for outcome in judged}
        lowest = min(judged, key=lambda outcome: np.nan_to_num(highs[outcome.name], nan=np.inf))
        high = highs[lowest.name]
        demanded.append(
            Demand(
                code="sides",
                passed=not high < CHANCE,
                values={"attack": lowest.name, "auc": lowest.auc.value, "high": high},
            )
        )
    if not policy.without_references:
        demanded.append(
            Demand(
                code="comparison",
                passed=any(compares(outcome.name) for outcome in judged),
                values={"references": references, "judged": len(judged)},
            )
        )
    if policy.attacks:
        ran = [outcome.name for outcome in results.outcomes or ()]
        missing = [name for name in policy.attacks if name not in ran]
        demanded.append(Demand("attacks", not missing, {"missing": ", ".join(missing), "ran": ", ".join(ran)}))
    if policy.least_records:
        subject = results.subject or Sizes(0, 0)
        demanded.append(
            Demand(
                code="records",
                passed=min(subject.members, subject.nonmembers) >= policy.least_records,
                values={
                    "least": policy.least_records,
                    "members": subject.members,
                    "nonmembers": subject.nonmembers,
                },
            )
        )
    if policy.least_references:
        demanded.append(
            Demand(
                code="references",
                passed=references >= policy.least_references,
                values={"least": policy.least_references, "references": references},
            )
        )
    if policy.model_free_baseline == REQUIRED:
        demanded.append(Demand("model_free_baseline", results.baseline is not None, {}))
    return tuple(demanded)


def upper_end(estimate: Estimate, error: float) -> float:
    """Return the upper end of the 95% interval of an AUC, converted to another one-sided error.

    The interval is symmetric in log-odds, so that its half-width there grows with the normal quantile.
    """
    if not 0 < estimate.value < 1 or not 0 < estimate.high < 1:  # they have no log-odds, or there is no estimate
        return estimate.high
    odds = [math.log(share / (1 - share)) for share in (estimate.value, estimate.high)]
    quantile = NormalDist().inv_cdf
    return 1 / (1 + math.exp(-odds[0] - (odds[1] - odds[0]) * quantile(error) / quantile(ERROR / 2)))


def compares(name: str) -> bool:
    """Return whether an attack compares models on the same record.

    A user-defined attack has no known properties, so it does not count.
    """
    if name in ATTACKS:
        attack = ATTACKS[name]
        return attack.compares != "nothing" or attack.evidence in IN_THEIR_PLACE
    if name.split("_")[0] not in RULES:
        return False
    return any(compares(part) and re.search(rf"_{part}(_|$)", name) for part in ATTACKS)


def evaluate_policy(
    results: AuditResults, policy: Policy, attacks: tuple[str, ...] = (), *, name_drivers: bool = True
) -> Gated:
    """Compare an audit with all limits and demands of a policy.

    Args:
        results: of the audit, or the part that a gate reads.
        policy: limits and demands.
        attacks: names of the attacks to evaluate; by default all that were run.
        name_drivers: whether to name the members that drive a number above its limit, which takes the table of records.
    """
    against = limited_attacks(results, attacks)
    verdicts = tuple(evaluate_limit(results, limit, attacks, name_drivers=name_drivers) for limit in policy.limits)
    demanded = demands(results, against, policy)
    unresolved = []  # checks that found an issue, and those that are ignored
    for check in results.checks or ():
        if check.state == "ignored":
            unresolved.append(OpenCheck(check.code, check.values, undermines=False, ignored="audit"))
        elif check.state == "issue":
            ignored = "gate" if check.code in policy.ignore else ""
            unresolved.append(OpenCheck(check.code, check.values, undermines_verdict(check), ignored))
    passed = all(part.passed for parts in (verdicts, demanded, unresolved) for part in parts)
    return Gated(passed, verdicts, demanded, checks=tuple(unresolved))


def evaluate_policy_file(results: AuditResults, file: PolicyFile) -> Gated:
    """Compare an audit with the policy in a file; the result includes the text of the file and its hash."""
    return replace(evaluate_policy(results, file.policy), policy=file.text, sha256=file.sha256)


def write_gate(folder: Path, gated: Gated) -> None:
    """Add the gate's verdict to the results of an audit folder."""
    with folder_lock(folder):  # otherwise the results of an audit that ends now could be overwritten by older ones
        path = folder / "results.json"
        write_json(path, {**read_json(path), "gate": to_json(gated)})


logger = logging.getLogger(__name__)


def assert_private(
    audit: "Results | str | Path",
    *,
    max_auc: float | None = None,
    max_advantage: float | None = None,
    max_tpr: str | Sequence[str] | None = None,
    policy: str | Path | None = None,
    attacks: str | Sequence[str] | None = None,
    without_references: bool = False,
    ignore: str | Sequence[str] = (),
) -> None:
    """Raise an AssertionError unless an audit meets all limits and could have detected a leak; it names no member.

    Open checks that do not fail it are warnings (:class:`~guestlist.AuditWarning`).
    pytest shows the line of your test and the message only: the frames of guestlist are hidden.

    Args:
        audit: Results, or the path of an audit folder.
        max_auc: Largest upper end of the 95% interval of an attack's AUC that passes; by default no limit.
        max_advantage: The same for the membership advantage, TPR minus FPR.
        max_tpr: Limit such as ``0.05@0.01``: a TPR of at most 0.05 at an FPR of 0.01; one or several.
        policy: TOML file with all limits, instead of the other arguments.
        attacks: Names of the attacks to evaluate, one or several; by default all that were run.
        without_references: Whether to accept an audit without an attack that compares with reference models, although such
            attacks identify far more members.
        ignore: Codes of checks, one or several, such as ``GL106``, that do not fail it although they undermine the verdict.

    Raises:
        AssertionError: If a limit is exceeded, or the audit could not have detected a leak.
        InputError: If no limit is given, ``policy`` is combined with other limits, or an attack was not run.
        FolderError: If the folder has no results, or they are damaged.

    Examples:
        >>> results = gl.testing.small_audit()
        >>> gl.assert_private(results, max_auc=0.9)
        >>> gl.assert_private(results, max_auc=0.55)
        Traceback (most recent call last):
        AssertionError: The audit exceeds its limits...
    """
    __tracebackhide__ = True  # pytest reads it
    limits = {"max_auc": max_auc, "max_advantage": max_advantage, "max_tpr": () if max_tpr is None else max_tpr}
    try:
        gated = _gated(audit, policy, limits, () if attacks is None else attacks, without_references, ignore)
    except AuditError as error:
        raise error.with_traceback(None) from None  # the message describes the mistake, which is in the user's test
    if not gated.passed:
        raise AssertionError("\n".join(["The audit exceeds its limits.", *_report.gate_texts(gated)]))
    for check in gated.checks:
        if check.ignored:
            continue
        if check.code in CHECKS and CHECKS[check.code].by_chance:
            # It may be a false positive, and warnings may be errors.
            logger.warning("%s", _report.open_check_text(check))
        else:
            warnings.warn(_report.open_check_text(check), AuditWarning, stacklevel=2)


def _gated(
    audit: "Results | str | Path",
    policy: str | Path | None,
    limits: dict[str, Any],
    attacks: str | Sequence[str],
    without_references: bool,
    ignore: str | Sequence[str],
) -> Gated:
    results = read_gate_input(Path(audit)) if isinstance(audit, str | Path) else audit
    if policy is not None:
        if any(limit not in (None, ()) for limit in limits.values()) or attacks or without_references or ignore:
            raise InputError(
                "policy= cannot be combined with max_auc=, max_advantage=, max_tpr=, attacks=, without_references= or ignore=. "
                "Put them into the policy file."
            )
        return evaluate_policy_file(results, read_policy(policy))
    try:
        policy_from_limits = Policy(**limits, without_references=without_references, ignore=words("ignore", ignore))
        only = words("attacks", attacks)
    except ValueError as error:
        raise InputError(str(error)) from error
    return evaluate_policy(results, policy_from_limits, only)
