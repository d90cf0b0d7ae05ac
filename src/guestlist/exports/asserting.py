"""A line for a test suite: the audit keeps its limits, or the test fails and says by how much it does not."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from guestlist.arguments import words
from guestlist.errors import AuditError, AuditWarning, InputError
from guestlist.findings.checks import CHECKS
from guestlist.findings.gated import Gated, OpenCheck
from guestlist.findings.results import Results, read_results
from guestlist.gate import Policy, evaluate_policy, evaluate_policy_file, read_policy
from guestlist.report.gate import gate_texts, open_check_text

logger = logging.getLogger(__name__)


def assert_private(
    audit: Results | str | Path,
    *,
    max_auc: float | None = None,
    max_advantage: float | None = None,
    max_tpr: str | Sequence[str] | None = None,
    policy: str | Path | None = None,
    attacks: str | Sequence[str] | None = None,
    without_references: bool = False,
    ignore: str | Sequence[str] = (),
) -> None:
    """Raise an AssertionError unless an audit keeps all limits and could have seen a leak; it names no member.

    Open checks that do not fail it are warnings (:class:`~guestlist.AuditWarning`).

    pytest shows the line of your test and the message only: the frames of guestlist are hidden.

    Args:
        audit: results, or an audit folder.
        max_auc, max_advantage: largest that pass.
        max_tpr: such as ``0.05@0.01``, a TPR of at most 0.05 at an FPR of 0.01; one or several.
        policy: a TOML file with all limits, instead of the other arguments.
        attacks: judge only these, one or several; by default all that were run.
        without_references: let figures pass although no attack compared with references, which find far more.
        ignore: codes of checks, one or several, such as ``GL106``, that do not fail it although they undermine the verdict.
    """
    __tracebackhide__ = True  # pytest reads it
    limits = {"max_auc": max_auc, "max_advantage": max_advantage, "max_tpr": () if max_tpr is None else max_tpr}
    try:
        gated = _gated(audit, policy, limits, () if attacks is None else attacks, without_references, ignore)
    except AuditError as error:
        raise error.with_traceback(None) from None  # the message names the mistake, which is in the test
    if not gated.passed:
        raise AssertionError("\n".join(["The audit does not keep its limits.", *gate_texts(gated)]))
    for check in gated.checks:
        if not check.ignored:
            _report(check)


def _report(check: OpenCheck) -> None:
    """Warn of an open check; of one that may be chance only in the log, as warnings may be errors."""
    if check.code in CHECKS and CHECKS[check.code].by_chance:
        logger.warning("%s", open_check_text(check))
    else:
        warnings.warn(open_check_text(check), AuditWarning, stacklevel=3)


def _gated(
    audit: Results | str | Path,
    policy: str | Path | None,
    limits: dict[str, Any],
    attacks: str | Sequence[str],
    without_references: bool,
    ignore: str | Sequence[str],
) -> Gated:
    results = audit if isinstance(audit, Results) else read_results(Path(audit))
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
