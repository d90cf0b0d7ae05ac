"""Facts about evidence types, and evidence written to and read from the audit folder."""

import shutil
from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields

from guestlist._collect import CollectContext
from guestlist._store import Store
from guestlist._util import close_matches
from guestlist._views import Evidence, Part
from guestlist.attacks import Attack
from guestlist.data import Data
from guestlist.errors import InputError
from guestlist.evidence import distilled, full_outputs, left_out, model_file, owner_values, perturbed, quantiles
from guestlist.evidence.plan import (
    QUERIES,
    Access,
    AnyPlan,
    EvidenceType,
    FromTarget,
    Plan,
    evidence_folder,
    plan_of,
    resumed,
)
from guestlist.games import Split
from guestlist.models import Target

EVIDENCE: dict[str, EvidenceType] = {
    "distilled": distilled.EVIDENCE_TYPE,
    "left_out": left_out.EVIDENCE_TYPE,
    "perturbed": perturbed.EVIDENCE_TYPE,
    "quantiles": quantiles.EVIDENCE_TYPE,
    "full_outputs": full_outputs.EVIDENCE_TYPE,
    "white_box": model_file.EVIDENCE_TYPE,
    "neighbours": model_file.NEIGHBOURS_TYPE,
    "leaves": model_file.LEAVES_TYPE,
    "leverage": owner_values.LEVERAGE_TYPE,
    "loss_trace": owner_values.LOSS_TRACE_TYPE,
    "spaces": owner_values.SPACES_TYPE,
}

_REMEDY = (
    "Collect it with evidence=[gl.evidence.{plan}()] in gl.audit, or with guestlist collect FOLDER --evidence {name}."
)


def access_of(evidence: str) -> Access:
    """Return the access to the model that an attack on this evidence needs.

    Args:
        evidence: Name from ``EVIDENCE``, or empty.

    Returns:
        ``queries`` or ``model file``; ``queries`` without evidence.

    Examples:
        >>> gl.evidence.access_of("white_box"), gl.evidence.access_of("")
        ('model file', 'queries')
    """
    if evidence not in EVIDENCE:
        return QUERIES
    return EVIDENCE[evidence].access


def attacks_of_access(attacks: Mapping[str, Attack], access: Access) -> dict[str, Attack]:
    """Select the attacks that need this access to the model; those that know the truth are omitted.

    Args:
        attacks: Name to attack.
        access: ``queries`` or ``model file``.

    Returns:
        The selected attacks, by name.
    """
    return {
        name: attack for name, attack in attacks.items() if not attack.oracle and access_of(attack.evidence) == access
    }


def missing_evidence() -> dict[str, str]:
    """Return, by type of evidence, the end of a sentence about an attack that lacks it, with a remedy.

    Returns:
        Name from ``EVIDENCE`` to text.
    """
    messages = {}
    for name, row in EVIDENCE.items():
        messages[name] = row.missing
        if not row.default and not row.owner:
            messages[name] += " " + _REMEDY.format(plan=row.plan.__name__, name=name)
    return messages


def shared_with_stand_ins() -> frozenset[str]:
    """Return the types of evidence that stand-in targets share with the target.

    Returns:
        Names from ``EVIDENCE``.
    """
    return frozenset(name for name, row in EVIDENCE.items() if row.on_stand_ins)


def owner_evidence() -> frozenset[str]:
    """Return the types of evidence that only the model owner has, since they depend on membership.

    Returns:
        Names from ``EVIDENCE``.
    """
    return frozenset(name for name, row in EVIDENCE.items() if row.owner)


def with_perfect_fit(evidence: Evidence) -> Evidence:
    """Return the evidence about a target that fits every record perfectly.

    Args:
        evidence: Evidence about the target.

    Returns:
        The same, with the types that measure the fit replaced.
    """
    for name, row in EVIDENCE.items():
        if row.perfect_fit is not None and name in evidence.parts:
            evidence = evidence.with_part(name, row.perfect_fit(evidence.need(name)))
    return evidence


def parse_plan(text: str) -> AnyPlan:
    """Parse a plan of the command line: ``distilled``, or ``distilled:models=32``; ``+`` joins several values.

    Args:
        text: Name from ``EVIDENCE``, then options.

    Returns:
        The plan.

    Raises:
        InputError: If the evidence or an option is unknown, or a value has the wrong type.

    Examples:
        >>> gl.evidence.parse_plan("distilled:models=32").models
        32
    """
    name, _, options = text.partition(":")
    if name not in EVIDENCE:
        raise InputError(
            f"There is no evidence {name!r}. Available names: {close_matches(name, EVIDENCE)}. List all with guestlist show "
            "evidence."
        )
    known: dict[str, type] = {field.name: type(field.default) for field in fields(EVIDENCE[name].plan)}
    values = {}
    for option in filter(None, options.split(",")):
        key, _, value = option.partition("=")
        if key not in known:
            raise InputError(f"Evidence {name!r} has no option {key!r}. Its options are: {', '.join(known) or 'none'}.")
        try:
            values[key] = tuple(value.split("+")) if known[key] is tuple else known[key](value)
        except ValueError as error:
            kind = {int: "integer", float: "number"}[known[key]]
            raise InputError(f"Option {key!r} of {name!r} must be of type {kind}, found {value!r}.") from error
    try:
        return EVIDENCE[name].plan(**values)
    except ValueError as error:
        raise InputError(str(error)) from error


def check_plans(plans: Sequence[AnyPlan]) -> None:
    """Check that each type of evidence is known and planned once.

    Args:
        plans: Plans of the user.

    Raises:
        InputError: If they are not a list of different plans.
    """
    if not isinstance(plans, list | tuple):
        raise InputError(f"evidence={plans!r} must be a list of plans, such as [gl.evidence.Distilled()].")
    for plan in plans:
        if type(plan) not in {kind.plan for kind in EVIDENCE.values()}:
            raise InputError(f"evidence= must hold plans such as gl.evidence.Distilled(); found {plan!r}.")
    names = [plan.name for plan in plans]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"Evidence {twice[0]!r} is requested twice. Pass one plan with all its options.")


def default_plans(plans: Sequence[AnyPlan], target: Target, pool: Data, split: Split) -> list[AnyPlan]:
    """Return the user's plans, and the default ones that the target supports.

    Args:
        plans: Plans of the user.
        target: Target of the audit.
        pool: All records.
        split: Training sets and evaluated records.

    Returns:
        Plans to collect.
    """
    chosen = {plan.name for plan in plans}
    defaults = [
        row.plan()
        for name, row in EVIDENCE.items()
        if name not in chosen and (row.default or target.scale.name in row.default_scales)
    ]
    return [*plans, *(plan for plan in defaults if _is_supported(plan, target, pool, split))]


def resume_plans(store: Store, plans: Sequence[AnyPlan]) -> list[Plan]:
    """Return the plans to collect, with those begun in an earlier run and with growing options at their largest.

    Args:
        store: Audit folder.
        plans: Plans of this run.

    Returns:
        Plans whose evidence is written into the folder.

    Raises:
        FolderError: If the folder holds evidence with different options.
    """
    names = {plan.name for plan in plans}
    stored = {name: plan_of(store, name) for name in EVIDENCE if name not in names}
    begun = [EVIDENCE[name].plan(**options) for name, options in stored.items() if options is not None]
    return [resumed(store, plan) for plan in (*plans, *begun) if isinstance(plan, Plan)]


def collect_evidence(plans: Sequence[Plan], context: CollectContext) -> None:
    """Collect the evidence of every plan; a plan that fails before anything was collected is removed.

    Args:
        plans: Plans whose evidence is written into the folder.
        context: Folder, target and records.

    Raises:
        AuditError: If a plan cannot be carried out.
    """
    for plan in plans:
        try:
            plan.collect(context)
        except Exception:
            folder = evidence_folder(context.store, plan.name)
            if folder.exists() and {path.name for path in folder.iterdir()} <= {"plan.json"}:
                shutil.rmtree(folder)
            raise


def evidence_from_target(plans: Sequence[AnyPlan], target: Target, pool: Data, split: Split) -> dict[str, Part]:
    """Return the evidence that the target gives at once.

    Args:
        plans: All plans.
        target: Target of the audit.
        pool: All records.
        split: Training sets and evaluated records.

    Returns:
        Name of the evidence to its data.
    """
    return {plan.name: plan.take(target, pool, split) for plan in plans if isinstance(plan, FromTarget)}


def collected_types(store: Store) -> set[str]:
    """Return the types of evidence that were collected, or begun, in a folder.

    Args:
        store: Audit folder.

    Returns:
        Names from ``EVIDENCE``.
    """
    return {name for name in EVIDENCE if plan_of(store, name) is not None}


def read_evidence(
    store: Store, names: Collection[str] | None = None, unstored: Mapping[str, Part] | None = None
) -> Evidence:
    """Read the evidence in a folder.

    Args:
        store: Audit folder.
        names: Types of evidence to read; all by default.
        unstored: Evidence that is not in the folder, since the target gives it at once.

    Returns:
        The evidence.
    """
    if names is None:
        names = collected_types(store)
    parts = dict(unstored or {})
    for name in names:
        part = EVIDENCE[name].read(store)
        if part is not None:
            parts.setdefault(name, part)
    return Evidence(parts, missing_evidence(), shared_with_stand_ins())


def _is_supported(plan: AnyPlan, target: Target, pool: Data, split: Split) -> bool:
    try:
        plan.check(target, pool, split)
    except InputError:
        return False
    return True
