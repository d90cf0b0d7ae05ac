"""Which attacks to run: those that a user names, or all that can."""

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
    """The attacks to run: those named, a user's own functions ``(signals) -> scores``, or all that can by default.

    Args:
        names: also combinations, made by ``combined`` or written as ``union(loss,lira)``.
        evidence: the kinds of evidence that there will be.
        missing: kind to the rest of a sentence about an attack that lacks it.
        signals: those that the target gives; None: all.
    """
    names = chosen_names(names)
    if names is None:
        able = {n: a for n, a in ATTACKS.items() if a.default and a.references <= references and _reads(a, signals)}
        return {n: a for n, a in able.items() if not a.evidence or a.evidence in evidence}
    if not names:
        raise InputError(f"No attack is named; there are {', '.join(ATTACKS)}.")
    chosen: dict[str, Attack] = {}
    for given in names:
        name, attack = _one(given)
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
        if name in chosen or (callable(given) and name in ATTACKS):
            raise InputError(f"Two attacks are named {name!r}; name your functions differently.")
        chosen[name] = attack
    if all(attack.oracle for attack in chosen.values()):
        raise InputError(
            f"{' and '.join(chosen)} knows the truth, so no answer can rest on it; name another attack too."
        )
    return chosen


def chosen_names(names: Any) -> Sequence[str | Callable] | None:
    """The names as they were given; an error where they are no list of names and functions."""
    if names is None:
        return None
    if not isinstance(names, list | tuple) or not all(isinstance(one, str) or callable(one) for one in names):
        raise ValueError(
            f"Expected attacks={short_repr(names)} to be a list of names and functions, such as ['loss', 'lira']."
        )
    return names


def _reads(attack: Attack, signals: Collection[str] | None) -> bool:
    """Whether there are all the signals that an attack reads."""
    return signals is None or set(attack.needs) <= set(signals)


def _one(given: str | Callable) -> tuple[str, Attack]:
    combination = parse_combination(given) if isinstance(given, str) else given
    if isinstance(combination, Combination):
        return combination.__name__, combination.attack
    if callable(given):
        return _own_name(given), Attack(score=given, summary="given by the user", custom=True)
    if given not in ATTACKS:
        raise InputError(f"There is no attack {given!r}; there are {', '.join(ATTACKS)}.")
    return given, ATTACKS[given]


def _own_name(function: Callable) -> str:
    """The name of a user's attack; it becomes a column and a file, so it must be a plain word."""
    name = getattr(function, "__name__", type(function).__name__).replace("<lambda>", "own")
    if not name.isidentifier():
        raise InputError(f"An attack needs a plain name such as my_attack, found {name!r}.")
    return name
