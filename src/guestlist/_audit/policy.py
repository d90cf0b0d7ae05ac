"""A policy: requirements that a model must meet before its release, in a file that can be reviewed.

The file is TOML. Its keys are the fields of :class:`Policy`, and each has the name of the command's option if there is one.
The results include its text and the SHA-256 of its bytes: `sha256sum release.toml` gives the same.
"""

import hashlib
import tomllib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from guestlist._diagnostics.table import CHECKS
from guestlist._findings.results import Limit
from guestlist.errors import InputError

REQUIRED = "required"
NOT_REQUIRED = "not required"


@dataclass(frozen=True)
class Policy:
    """Limits and requirements that an audit must meet.

    Args:
        max_auc, max_advantage: largest values that may pass.
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
        for name in ("max_tpr", "attacks", "ignore"):  # one text is a list of one
            value = getattr(self, name)
            if isinstance(value, str):
                value = (value,)
            elif isinstance(value, list):
                value = tuple(value)
            object.__setattr__(self, name, value)
        for name in ("max_auc", "max_advantage"):
            value = getattr(self, name)
            _expect(value is None or _number(value), name, value, "a number")
        tprs: Any = self.max_tpr
        if not isinstance(tprs, tuple):
            tprs = (tprs,)
        numbers = [item for item in tprs if _number(item)]
        if numbers:
            raise ValueError(f'{_without_rate(numbers[0])} It is a text: max_tpr = ["{numbers[0]}@0.01"].')
        for name, example in {"max_tpr": "0.05@0.01", "attacks": "lira", "ignore": "GL104"}.items():
            value = getattr(self, name)
            texts = isinstance(value, tuple) and all(isinstance(item, str) for item in value)
            _expect(texts, name, value, f'a text or a list of texts, as in {name} = ["{example}"]')
        unknown = [code for code in self.ignore if code not in CHECKS]
        if unknown:
            raise ValueError(f"There is no check {unknown[0]!r} to ignore. List them with: guestlist show checks.")
        for name in ("least_records", "least_references"):
            value = getattr(self, name)
            _expect(type(value) is int and value >= 0, name, value, "a whole number, 0 or more")
        _expect(type(self.without_references) is bool, "without_references", self.without_references, "true or false")
        known = (REQUIRED, NOT_REQUIRED)
        _expect(
            self.model_free_baseline in known,
            "model_free_baseline",
            self.model_free_baseline,
            " or ".join(map(repr, known)),
        )
        if self.least_references and self.without_references:
            raise ValueError(f"Expected least_references={self.least_references} or without_references, not both.")
        if not self.limits:
            raise ValueError("Expected a limit: max_auc, max_advantage or max_tpr.")

    @property
    def limits(self) -> tuple[Limit, ...]:
        tprs = tuple(tpr_limit(text) for text in self.max_tpr)
        plain = (("auc", self.max_auc), ("advantage", self.max_advantage))
        return (*tprs, *(Limit(limit, measure) for measure, limit in plain if limit is not None))  # type: ignore[arg-type]


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
        raise ValueError(f"{expected}, of which one part is not a number.") from error
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
        raise InputError(f"Cannot read the policy {path}: {error}.") from error
    known = [field.name for field in fields(Policy)]
    unknown = sorted(set(keys) - set(known))
    if unknown:
        raise InputError(f"The policy {path} has unknown keys: {', '.join(unknown)}. There are {', '.join(known)}.")
    try:
        policy = Policy(**keys)
    except ValueError as error:
        raise InputError(f"The policy {path} cannot be held to: {error}") from error
    return PolicyFile(policy, text, hashlib.sha256(content).hexdigest())


def _without_rate(tpr: str | float) -> str:
    return (
        f"Expected TPR@FPR, found {tpr!r}. A TPR is one at some rate of false positives: say {tpr or '0.05'}@0.01 for that at an "
        "FPR of 0.01."
    )


def _number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _expect(holds: bool, name: str, value: object, form: str) -> None:
    if not holds:
        raise ValueError(f"Expected {name}={value!r} to be {form}.")
