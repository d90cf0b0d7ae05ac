"""Evidence brought into the audit folder, and read from it: which plans there are, and what came of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields

from guestlist.collecting.evidence.plan import AnyPlan, FromTarget, Plan, forget_if_empty, plan_of
from guestlist.collecting.evidence.table import EVIDENCE, missing_evidence, shared_with_mocks
from guestlist.collecting.site import CollectContext
from guestlist.data import Data
from guestlist.errors import InputError
from guestlist.games import Split
from guestlist.store import Store
from guestlist.targets.target import Target
from guestlist.views.evidence import Evidence, Part


def parse_plan(text: str) -> AnyPlan:
    """A plan from a command line: ``distilled``, or ``distilled:models=32,records=pool``; ``+`` joins several names."""
    name, _, options = text.partition(":")
    if name not in EVIDENCE:
        raise InputError(f"There is no evidence {name!r}; there are {', '.join(EVIDENCE)}.")
    known: dict[str, type] = {field.name: type(field.default) for field in fields(EVIDENCE[name].plan)}
    given = {}
    for option in filter(None, options.split(",")):
        key, _, value = option.partition("=")
        if key not in known:
            raise InputError(f"Evidence {name!r} has no option {key!r}; it has {', '.join(known) or 'none'}.")
        try:
            given[key] = tuple(value.split("+")) if known[key] is tuple else known[key](value)
        except ValueError as error:
            kind = {int: "whole number", float: "number"}[known[key]]
            raise InputError(f"Option {key!r} of {name!r} must be a {kind}, found {value!r}.") from error
    try:
        return EVIDENCE[name].plan(**given)
    except ValueError as error:
        raise InputError(str(error)) from error


def check_plans(plans: Sequence[AnyPlan]) -> None:
    """Each kind of evidence is planned once, and is one that we know."""
    if not isinstance(plans, list | tuple):
        raise InputError(f"Expected evidence=[...], a list of plans such as [gl.Distilled()], found {plans!r}.")
    for plan in plans:
        if type(plan) not in {kind.plan for kind in EVIDENCE.values()}:
            raise InputError(f"Expected evidence=[...] to hold plans such as gl.Distilled(), found {plan!r}.")
    names = [plan.name for plan in plans]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"Evidence {twice[0]!r} is asked for twice; give one plan with all its options.")


def default_plans(plans: Sequence[AnyPlan], target: Target, pool: Data, split: Split) -> list[AnyPlan]:
    """The plans asked for, and those that run unasked where the target can."""
    asked = {plan.name for plan in plans}
    scale = target.scale.name
    kinds = [kind for name, kind in EVIDENCE.items() if name not in asked]
    unasked = [kind.plan() for kind in kinds if kind.default or scale in kind.default_scales]
    return [*plans, *(plan for plan in unasked if _can(plan, target, pool, split))]


def resume_plans(store: Store, plans: Sequence[AnyPlan]) -> list[Plan]:
    """The plans to collect, and those begun before: one that was killed goes on, and new references are answered for."""
    names = {plan.name for plan in plans}
    kept = {name: plan_of(store, name) for name in EVIDENCE if name not in names}
    begun = (EVIDENCE[name].plan(**options) for name, options in kept.items() if options is not None)
    return [plan for plan in (*plans, *begun) if isinstance(plan, Plan)]


def collect_evidence(plans: Sequence[Plan], context: CollectContext) -> None:
    """Collect what every plan asks for."""
    for plan in plans:
        try:
            plan.collect(context)
        except Exception:
            forget_if_empty(context.store, plan.name)
            raise


def from_target(plans: Sequence[AnyPlan], target: Target, pool: Data, split: Split) -> dict[str, Part]:
    """What the target gives at once, by name."""
    return {plan.name: plan.take(target, pool, split) for plan in plans if isinstance(plan, FromTarget)}


def collected_types(store: Store) -> set[str]:
    """The kinds that were collected, or begun, in a folder."""
    return {name for name in EVIDENCE if plan_of(store, name) is not None}


def read_evidence(
    store: Store, kinds: Collection[str] | None = None, more: Mapping[str, Part] | None = None
) -> Evidence:
    """Everything in the folder, or everything of some kinds.

    Args:
        more: what is not in the folder, since the target gives it at once.
    """
    kinds = collected_types(store) if kinds is None else [name for name in kinds if EVIDENCE[name].kept]
    found = {name: EVIDENCE[name].read(store) for name in kinds}
    parts = {name: part for name, part in found.items() if part is not None}
    return Evidence({**parts, **(more or {})}, missing_evidence(), shared_with_mocks())


def _can(plan: AnyPlan, target: Target, pool: Data, split: Split) -> bool:
    try:
        plan.check(target, pool, split)
    except InputError:
        return False
    return True
