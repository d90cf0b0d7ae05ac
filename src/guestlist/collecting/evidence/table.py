"""Facts about evidence: the command line, the docs and messages read this table."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields

from guestlist.collecting.evidence.distilled import Distilled
from guestlist.collecting.evidence.full_answers import Answers
from guestlist.collecting.evidence.left_out import LeftOut
from guestlist.collecting.evidence.perturbed import Perturbed
from guestlist.collecting.evidence.plan import Plan, Site, forget_if_empty, noted
from guestlist.collecting.evidence.quantiles import Quantiles
from guestlist.collecting.evidence.white_box import Inner
from guestlist.errors import InputError
from guestlist.store import Store
from guestlist.views.evidence import Evidence


@dataclass(frozen=True)
class Kind:
    """One kind of evidence that is collected when asked for.

    Args:
        plan: makes a plan from options.
        summary: what it is, for people.
        cost: what it takes, for people.
    """

    plan: type[Plan]
    summary: str
    cost: str


KINDS: dict[str, Kind] = {
    "distilled": Kind(Distilled, "models taught by the target's answers", "trains as many models as asked for"),
    "left_out": Kind(
        LeftOut, "models trained without single records", "trains as many models as asked for, for every chosen member"
    ),
    "perturbed": Kind(Perturbed, "the target's labels of perturbed records", "asks the target once per copy"),
    "quantiles": Kind(
        Quantiles, "quantiles of the target's hinge on non-members", "trains one regressor on known non-members"
    ),
    "answers": Kind(
        Answers, "references' whole answers", "trains references that are there already once more; disk for every class"
    ),
    "inner": Kind(Inner, "gradients and activations of a torch target", "one backward pass per record"),
}


def parse_plan(text: str) -> Plan:
    """A plan from a command line: ``distilled``, or ``distilled:models=32,records=pool``; ``+`` joins several names."""
    name, _, options = text.partition(":")
    if name not in KINDS:
        raise InputError(f"There is no evidence {name!r}; there are {', '.join(KINDS)}.")
    known = {field.name: type(field.default) for field in fields(KINDS[name].plan)}
    given = {}
    for option in filter(None, options.split(",")):
        key, _, value = option.partition("=")
        if key not in known:
            raise InputError(f"Evidence {name!r} has no option {key!r}; it has {', '.join(known)}.")
        try:
            given[key] = tuple(value.split("+")) if known[key] is tuple else known[key](value)
        except ValueError as error:
            kind = {int: "whole number", float: "number"}[known[key]]
            raise InputError(f"Option {key!r} of {name!r} must be a {kind}, found {value!r}.") from error
    try:
        return KINDS[name].plan(**given)
    except ValueError as error:
        raise InputError(str(error)) from error


def check_plans(plans: Sequence[Plan]) -> None:
    """Each kind of evidence is planned once, and is one that we know."""
    if not isinstance(plans, list | tuple):
        raise InputError(f"Expected also=[...], a list of evidence such as [gl.Distilled()], found {plans!r}.")
    for plan in plans:
        if type(plan) not in {kind.plan for kind in KINDS.values()}:
            raise InputError(f"Expected also=[...] to hold evidence such as gl.Distilled(), found {plan!r}.")
    names = [plan.name for plan in plans]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"Evidence {twice[0]!r} is asked for twice; give one plan with all its options.")


def keeping_up(store: Store, also: Sequence[Plan]) -> list[Plan]:
    """The plans asked for, and those begun before: one that was killed goes on, and new references are answered for."""
    asked = {plan.name for plan in also}
    begun = {name: noted(store, name) for name in KINDS if name not in asked}
    return [*also, *(KINDS[name].plan(**options) for name, options in begun.items() if options is not None)]


def gather(plans: Sequence[Plan], site: Site) -> None:
    """Collect what every plan asks for."""
    for plan in plans:
        try:
            plan.collect(site)
        except Exception:
            forget_if_empty(site.store, plan.name)
            raise


def collected(store: Store) -> set[str]:
    """The kinds that were collected, or begun, in a folder."""
    return {name for name in KINDS if noted(store, name) is not None}


def read_evidence(store: Store, kinds: Collection[str]) -> Evidence:
    """Everything of these kinds that is in the folder."""
    return Evidence(**{name: KINDS[name].plan.read(store) for name in kinds})
