"""A line for a test suite: the audit keeps its limits, or the test fails and says by how much it does not."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from guestlist.arguments import words
from guestlist.errors import AuditError, InputError
from guestlist.findings.gated import Gated
from guestlist.findings.results import Results
from guestlist.gate import Policy, hold, hold_file, read_policy
from guestlist.report.gate import lines
from guestlist.report.readable import read_results


def assert_private(
    audit: Results | str | Path,
    *,
    max_auc: float | None = None,
    max_advantage: float | None = None,
    max_tpr: str | Sequence[str] | None = None,
    policy: str | Path | None = None,
    attacks: str | Sequence[str] | None = None,
    without_references: bool = False,
) -> None:
    """Raise an AssertionError unless the upper ends of an audit's intervals keep all limits; it names no member.

    pytest shows the line of your test and the message only: the frames of guestlist are hidden.

    Args:
        audit: results, or an audit folder.
        max_auc, max_advantage: largest that pass.
        max_tpr: such as ``0.05@0.01``, a TPR of at most 0.05 at an FPR of 0.01; one or several.
        policy: a TOML file with all limits, instead of the other arguments.
        attacks: judge only these, one or several; by default all that were run.
        without_references: let figures pass although no attack compared with references, which find far more.
    """
    __tracebackhide__ = True  # pytest reads it
    limits = {"max_auc": max_auc, "max_advantage": max_advantage, "max_tpr": () if max_tpr is None else max_tpr}
    try:
        gated = _gated(audit, policy, limits, () if attacks is None else attacks, without_references)
    except AuditError as error:
        raise error.with_traceback(None) from None  # the message names the mistake, which is in the test
    if not gated.passed:
        raise AssertionError("\n".join(["The audit does not keep its limits.", *lines(gated)]))


def _gated(
    audit: Results | str | Path,
    policy: str | Path | None,
    limits: dict[str, Any],
    attacks: str | Sequence[str],
    without_references: bool,
) -> Gated:
    results = audit if isinstance(audit, Results) else read_results(Path(audit))
    if policy is not None:
        if any(limit not in (None, ()) for limit in limits.values()) or attacks or without_references:
            raise InputError(
                "policy= cannot be combined with max_auc=, max_advantage=, max_tpr=, attacks= or without_references=. Put "
                "them into the policy file."
            )
        return hold_file(results, read_policy(policy))
    try:
        own = Policy(**limits, without_references=without_references)
        only = words("attacks", attacks)
    except ValueError as error:
        raise InputError(str(error)) from error
    return hold(results, own, only)
