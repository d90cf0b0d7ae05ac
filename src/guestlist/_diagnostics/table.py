"""The table of diagnostics, and their outcomes in an audit.

A diagnostic is something that a reader of the numbers must know, although the audit continues. Its code, rule, message
and remedy are together in one module per topic; ``docs/checks.md`` explains each code.
"""

from collections.abc import Sequence
from dataclasses import replace

from guestlist._case import Case, Check
from guestlist._diagnostics.attacks import ATTACK_RESULTS
from guestlist._diagnostics.core import NOT_RUN, Diagnostic
from guestlist._diagnostics.inputs import INPUTS, of_baseline, of_duplicate_counts, of_duplicates, of_repeats
from guestlist._diagnostics.models import OUTPUTS, REFERENCES, of_consistency, of_stored_members
from guestlist._util import close_matches, short_repr
from guestlist.errors import InputError

__all__ = [
    "CHECKS",
    "changes_answer",
    "check_codes",
    "find",
    "of_baseline",
    "of_consistency",
    "of_duplicate_counts",
    "of_duplicates",
    "of_repeats",
    "of_stored_members",
    "undermines_verdict",
]

CHECKS: dict[str, Diagnostic] = {
    row.code: row
    for row in sorted((*INPUTS, *OUTPUTS, *REFERENCES, *ATTACK_RESULTS), key=lambda diagnostic: diagnostic.code)
}


def find(case: Case) -> tuple[Check, ...]:
    """Return the outcome of every diagnostic, in the order of the table."""
    known = {check.code: check for check in case.checks}
    checks = [
        known.get(code) or Check(code, *(row.rule(case) if row.rule else NOT_RUN)) for code, row in CHECKS.items()
    ]
    return tuple(replace(check, state="ignored") if check.code in case.ignore else check for check in checks)


def changes_answer(check: Check) -> bool:
    """Return whether the audit's answer would be misread without this check."""
    row = CHECKS.get(check.code)
    return check.state == "issue" and row is not None and row.changes(check.values)


def undermines_verdict(check: Check) -> bool:
    """Return whether the audit may have missed a leak because of this check."""
    row = CHECKS.get(check.code)
    return check.state == "issue" and row is not None and row.undermines(check.values)


def check_codes(codes: Sequence[str]) -> tuple[str, ...]:
    """Validate the codes to ignore; the error for an unknown code lists similar ones."""
    if isinstance(codes, str):
        raise InputError(f"ignore={codes!r} must be a list of codes: ignore=({codes!r},).")
    if not isinstance(codes, list | tuple | set | frozenset):
        raise ValueError(f"ignore={short_repr(codes)} must be a list of codes, such as ['GL104'].")
    unknown = [code for code in codes if not isinstance(code, str) or code not in CHECKS]
    if unknown:
        raise InputError(
            f"There is no check {unknown[0]!r} to ignore. Available codes: {close_matches(unknown[0], CHECKS)}. List all with "
            "guestlist show checks."
        )
    return tuple(codes)
