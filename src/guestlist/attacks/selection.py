"""Select attacks by name, including combinations of several attacks."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, cast, get_args

import numpy as np

from guestlist import metrics
from guestlist._util import close_matches, short_repr
from guestlist._views import Signals, missing_message
from guestlist.attacks.attack import Attack, score_every_target
from guestlist.attacks.table import ATTACKS
from guestlist.errors import InputError, NotCollectedError

Rule = Literal["union", "majority", "intersection"]
RULES: tuple[str, ...] = get_args(Rule)
_WORDS = {"union": "any of", "majority": "more than half of", "intersection": "all of"}
_WRITTEN = re.compile(r"\s*(\w+)\s*\((.*)\)\s*")


@dataclass(frozen=True)
class Combination:
    """Attacks and the rule that combines them: a function ``(signals) -> scores``, as every attack.

    Args:
        names: Names of two attacks or more, from ``ATTACKS``.
        rule: A record is flagged if any attack flags it (``union``), more than half of them (``majority``), or all
            (``intersection``).
    """

    names: tuple[str, ...]
    rule: Rule

    def __post_init__(self):
        if self.rule not in RULES:
            raise InputError(f"There is no rule {self.rule!r} to combine attacks. Choose one of {', '.join(RULES)}.")
        if len(self.names) < 2:
            raise InputError(f"A combination needs at least two attacks, found {list(self.names)}.")
        for name in self.names:
            if name not in ATTACKS:
                raise InputError(
                    f"There is no attack {name!r} to combine. Available names: {close_matches(name, ATTACKS)}. List all with "
                    "guestlist show attacks."
                )
        target_only = [name for name in self.names if not ATTACKS[name].on_stand_ins]
        if target_only:
            evidence = sorted({ATTACKS[name].evidence for name in target_only})
            raise InputError(
                f"{', '.join(target_only)} cannot be combined: a combination is calibrated on reference models as "
                f"stand-in targets, which have no {', '.join(evidence)}. Remove it."
            )

    def __str__(self) -> str:
        return f"{self.rule}({','.join(self.names)})"

    @property
    def __name__(self) -> str:
        """Return an identifier; it becomes the name of a column and a file."""
        return "_".join((self.rule, *self.names))

    @property
    def attack(self) -> Attack:
        """Return the combination as an attack."""
        parts = [ATTACKS[name] for name in self.names]
        evidence = next((part.evidence for part in parts if part.evidence), "")
        return Attack(
            score=self,
            summary=f"{_WORDS[self.rule]} {', '.join(self.names)}",
            paper="guestlist",
            needs=tuple(dict.fromkeys(signal for part in parts for signal in part.needs)),
            # A stand-in target has one reference fewer, and needs one even if the attacks need none.
            references=1 + max(1, *(part.references for part in parts)),
            p_value=self.p_value,
            default=False,
            evidence=evidence,
            stand_in_evidence=bool(evidence),  # Otherwise it could not be combined.
        )

    def __call__(self, signals: Signals) -> np.ndarray:
        """Return minus the log of the smallest (union), middle (majority) or largest (intersection) p-value.

        NaN where no attack has a score; for the intersection, where any has none.
        """
        return -np.log(self._level(signals, self._stand_in_scores(signals)))

    def p_value(self, signals: Signals) -> np.ndarray:
        """Return (records,) shares of the stand-in targets' non-members that score as high, counting the record itself."""
        stand_in_scores = self._stand_in_scores(signals)
        stand_in_levels = _joint(np.stack([_share_as_high(scores) for scores in stand_in_scores]), self.rule)
        return metrics.conformal_p_values(-self._level(signals, stand_in_scores), -stand_in_levels)

    def _stand_in_scores(self, signals: Signals) -> list[np.ndarray]:
        """Return each attack's scores of the non-members of stand-in targets, in the same order for all attacks."""
        if signals.references < 2:
            raise InputError(
                f"A combination needs at least 2 reference models, found {signals.references}. Train more of them: "
                "references= (--references)."
            )
        stand_ins = signals.stand_ins

        def rounded(name: str) -> np.ndarray:
            scores = score_every_target(ATTACKS[name], stand_ins)[~stand_ins.member]
            return _rounded(scores, scores)

        # Other combinations, and the p-values of this one, may need the same scores.
        return [stand_ins.once(("combined", name), partial(rounded, name)) for name in self.names]

    def _level(self, signals: Signals, stand_in_scores: list[np.ndarray]) -> np.ndarray:
        """Return (records,) the lowest level at which the rule flags a record of the target."""
        levels = [
            metrics.conformal_p_values(_rounded(ATTACKS[name].score(signals), null_scores), null_scores)
            for name, null_scores in zip(self.names, stand_in_scores, strict=True)
        ]
        return _joint(np.stack(levels), self.rule)


def combined(names: Sequence[str], rule: Rule = "union") -> Combination:
    """Combine attacks into one, for ``audit(attacks=[...])``.

    Args:
        names: Names of two attacks or more, from ``ATTACKS``; not those that read evidence of the target only.
        rule: A record is flagged if any attack flags it (``union``), more than half of them (``majority``), or all
            (``intersection``).

    Returns:
        A function ``(signals) -> scores``, as every attack.

    Raises:
        InputError: If the rule or an attack is unknown, or an attack cannot be combined.

    Examples:
        >>> str(gl.attacks.combined(["loss", "lira"]))
        'union(loss,lira)'
    """
    return Combination(tuple(names), rule)


def parse_combination(text: str) -> Combination | None:
    """Parse a combination such as ``union(loss, lira)``; None if the text is a plain name."""
    match = _WRITTEN.fullmatch(text)
    if match is None:
        return None
    names = tuple(name.strip() for name in match[2].split(",") if name.strip())
    return Combination(names, cast(Rule, match[1]))  # raises an error for other rules


def _rounded(scores: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Round scores to ten digits: the last ones depend on the order of a sum, and equal scores must tie.

    Args:
        scores: Scores of the attack.
        others: Scores of the same attack; values below 1e-13 of the largest are rounded to 0.
    """
    largest = np.abs(others[np.isfinite(others)]).max(initial=0)
    mantissa, exponent = np.frexp(np.where(np.abs(scores) < 1e-13 * largest, 0.0, scores))
    return np.ldexp(np.round(mantissa, 10), exponent)


def _share_as_high(scores: np.ndarray) -> np.ndarray:
    """Return the share of the scores that are as high as each of them, counting itself; NaN where there is none.

    It is the p-value of a score among the others, on the scale of the target's p-values.
    """
    ordered = np.sort(scores[~np.isnan(scores)])
    as_high = len(ordered) - np.searchsorted(ordered, scores, "left")
    return np.where(np.isnan(scores), np.nan, as_high / max(len(ordered), 1))


def _joint(levels: np.ndarray, rule: Rule) -> np.ndarray:
    """Return (records,) the lowest level at which the rule flags a record, from (attacks, records) levels."""
    if rule == "intersection":
        return levels.max(axis=0)
    ordered = np.sort(levels, axis=0)  # NaN last: attacks without a score have no vote
    votes = (~np.isnan(levels)).sum(axis=0)
    needed = np.zeros_like(votes)
    if rule == "majority":
        needed = np.minimum(votes // 2, len(levels) - 1)
    return np.take_along_axis(ordered, needed[None], axis=0)[0]


def select_attacks(
    names: Sequence[str | Callable] | None,
    references: int,
    evidence: Collection[str] = (),
    missing: Mapping[str, str] | None = None,
    signals: Collection[str] | None = None,
) -> dict[str, Attack]:
    """Select attacks: those named, a user's functions ``(signals) -> scores``, or the default ones that can run.

    Args:
        names: Names, functions and combinations, made by ``combined`` or written as ``union(loss,lira)``; None for the
            default ones.
        references: Number of reference models.
        evidence: Types of evidence that will be available.
        missing: Type of evidence to the end of the message about an attack that lacks it.
        signals: Names of the target's signals; None for all.

    Returns:
        Name to attack.

    Raises:
        InputError: If an attack is unknown, named twice, or cannot run on this target with this number of references.
        NotCollectedError: If an attack reads evidence that is not available.

    Examples:
        >>> list(gl.attacks.select_attacks(["loss", "lira"], references=16))
        ['loss', 'lira']
    """
    names = check_attack_names(names)
    if names is None:
        return {
            name: attack
            for name, attack in ATTACKS.items()
            if attack.default
            and attack.references <= references
            and _reads(attack, signals)
            and (not attack.evidence or attack.evidence in evidence)
        }
    if not names:
        raise InputError("attacks= is empty. Name at least one attack; guestlist show attacks lists all.")
    chosen: dict[str, Attack] = {}
    for item in names:
        name, attack = _resolve(item)
        if not _reads(attack, signals):
            reads, gives = (", ".join(map(repr, names)) for names in (attack.needs, signals or ()))
            if "residual" in gives:
                raise InputError(
                    f"Attack {name!r} needs classes: it reads {reads}, and the target predicts values, which give "
                    f"{gives}. Remove it."
                )
            raise InputError(f"Attack {name!r} reads {reads}, and the target gives only {gives}. Remove it.")
        if attack.references > references:
            raise InputError(
                f"Attack {name!r} needs at least {attack.references} reference models, found {references}. Set references= "
                "(--references), or remove it."
            )
        if attack.evidence and attack.evidence not in evidence:
            raise NotCollectedError(f"Attack {name!r} {missing_message(attack.evidence, missing or {})}")
        if name in chosen or (callable(item) and name in ATTACKS):
            raise InputError(f"Two attacks are named {name!r}. Rename one of your functions.")
        chosen[name] = attack
    if all(attack.oracle for attack in chosen.values()):
        raise InputError(
            f"{' and '.join(chosen)} knows the true membership, so the verdict cannot be based on it. Add another attack."
        )
    return chosen


def check_attack_names(names: Any) -> Sequence[str | Callable] | None:
    """Check that attacks are given as a list of names and functions, or None.

    Args:
        names: Value that the user passed.

    Returns:
        The names.

    Raises:
        ValueError: If it is something else.
    """
    if names is None:
        return None
    if not isinstance(names, list | tuple) or not all(isinstance(item, str) or callable(item) for item in names):
        raise ValueError(
            f"attacks={short_repr(names)} must be a list of names and functions, such as ['loss', 'lira']."
        )
    return names


def _reads(attack: Attack, signals: Collection[str] | None) -> bool:
    """Return True if all signals that the attack reads are available."""
    return signals is None or set(attack.needs) <= set(signals)


def _resolve(item: str | Callable) -> tuple[str, Attack]:
    combination = parse_combination(item) if isinstance(item, str) else item
    if isinstance(combination, Combination):
        return combination.__name__, combination.attack
    if callable(item):
        return _function_name(item), Attack(score=item, summary="given by the user", custom=True)
    if item not in ATTACKS:
        raise InputError(
            f"There is no attack {item!r}. Available names: {close_matches(item, ATTACKS)}. List all with guestlist show attacks."
        )
    return item, ATTACKS[item]


def _function_name(function: Callable) -> str:
    """Return the name of a user's attack; it becomes a column and a file, so it must be an identifier."""
    name = getattr(function, "__name__", type(function).__name__).replace("<lambda>", "own")
    if not name.isidentifier():
        raise InputError(f"An attack needs a plain name such as my_attack, found {name!r}. Rename the function.")
    return name
