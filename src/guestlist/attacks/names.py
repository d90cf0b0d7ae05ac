"""Selection of attacks: those that a user names, or all that can run by default."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from guestlist.arguments import short_repr
from guestlist.attacks.attack import Attack
from guestlist.attacks.combined import Combination, parse_combination
from guestlist.attacks.table import ATTACKS
from guestlist.errors import InputError, NotCollectedError
from guestlist.views.evidence import missing_message


def select_attacks(
    names: Sequence[str | Callable] | None,
    references: int,
    evidence: Collection[str] = (),
    missing: Mapping[str, str] | None = None,
    signals: Collection[str] | None = None,
) -> dict[str, Attack]:
    """Select attacks: those named, a user's functions ``(signals) -> scores``, or the default ones that can run.

    Args:
        names: Names, functions and combinations, made by ``combined`` or written as ``union(loss,lira)``.
        references: Number of reference models.
        evidence: Types of evidence that will be available.
        missing: Type of evidence to the end of the message about an attack that lacks it.
        signals: Names of the target's signals; None: all.
    """
    names = check_attack_names(names)
    if names is None:
        able = {n: a for n, a in ATTACKS.items() if a.default and a.references <= references and _reads(a, signals)}
        return {n: a for n, a in able.items() if not a.evidence or a.evidence in evidence}
    if not names:
        raise InputError(f"No attack is named; there are {', '.join(ATTACKS)}.")
    chosen: dict[str, Attack] = {}
    for item in names:
        name, attack = _resolve(item)
        if not _reads(attack, signals):
            reads, gives = (", ".join(map(repr, names)) for names in (attack.needs, signals or ()))
            if "residual" in gives:
                raise InputError(
                    f"Attack {name!r} needs classes: it reads {reads}, and the target predicts values, which give {gives}. "
                    "Leave it out."
                )
            raise InputError(f"Attack {name!r} reads {reads}, and the target tells no more than {gives}. Leave it out.")
        if attack.references > references:
            raise InputError(f"Attack {name!r} needs at least {attack.references} references, found {references}.")
        if attack.evidence and attack.evidence not in evidence:
            raise NotCollectedError(f"Attack {name!r} {missing_message(attack.evidence, missing or {})}")
        if name in chosen or (callable(item) and name in ATTACKS):
            raise InputError(f"Two attacks are named {name!r}; name your functions differently.")
        chosen[name] = attack
    if all(attack.oracle for attack in chosen.values()):
        raise InputError(
            f"{' and '.join(chosen)} knows the truth, so no answer can rest on it; name another attack too."
        )
    return chosen


def check_attack_names(names: Any) -> Sequence[str | Callable] | None:
    """Return the names; raise an error unless they are a list of names and functions, or None."""
    if names is None:
        return None
    if not isinstance(names, list | tuple) or not all(isinstance(item, str) or callable(item) for item in names):
        raise ValueError(
            f"Expected attacks={short_repr(names)} to be a list of names and functions, such as ['loss', 'lira']."
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
        raise InputError(f"There is no attack {item!r}; there are {', '.join(ATTACKS)}.")
    return item, ATTACKS[item]


def _function_name(function: Callable) -> str:
    """Return the name of a user's attack; it becomes a column and a file, so it must be an identifier."""
    name = getattr(function, "__name__", type(function).__name__).replace("<lambda>", "own")
    if not name.isidentifier():
        raise InputError(f"An attack needs a plain name such as my_attack, found {name!r}.")
    return name
