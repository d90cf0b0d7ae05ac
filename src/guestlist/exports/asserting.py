"""A line for a test suite: the audit keeps its limits, or the test fails and says by how much it does not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from guestlist.arguments import words
from guestlist.errors import InputError
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

    Args:
        audit: results, or an audit folder.
        max_auc, max_advantage: largest that pass.
        max_tpr: such as ``0.05@0.01``, a TPR of at most 0.05 at an FPR of 0.01; one or several.
        policy: a TOML file that says all of it, in the place of the other limits.
        attacks: judge only these, one or several; by default all that were run.
        without_references: let figures pass although no attack compared with references, which find far more.
    """
    results = audit if isinstance(audit, Results) else read_results(Path(audit))
    if policy is not None:
        if max_auc is not None or max_advantage is not None or max_tpr or attacks or without_references:
            raise InputError("A policy says it all: leave the other limits out.")
        gated = hold_file(results, read_policy(policy))
    else:
        try:
            limits = Policy(max_auc, max_advantage, _several(max_tpr), without_references=without_references)
            only = words("attacks", () if attacks is None else attacks)
        except ValueError as error:
            raise InputError(str(error)) from error
        gated = hold(results, limits, only)
    if not gated.passed:
        raise AssertionError("\n".join(["The audit does not keep its limits.", *lines(gated)]))


def _several(max_tpr: Any) -> Any:
    """One limit or several as a policy has them; what is neither it refuses, with the form that it wants."""
    if max_tpr is None or isinstance(max_tpr, str):
        return () if max_tpr is None else (max_tpr,)
    return tuple(max_tpr) if isinstance(max_tpr, Iterable) else max_tpr
