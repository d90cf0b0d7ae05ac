"""``collect``: add references or other evidence to an audit."""

from __future__ import annotations

from dataclasses import replace

import click

from guestlist.cli.common import as_json, attacks, evidence, ignore, print_results, show_warnings
from guestlist.cli.cover import cover_options, updated_stored_cover
from guestlist.cli.kinds import MAX_REFERENCES, PATH, REFERENCES, SHARE, WholeNumber
from guestlist.cli.request import run_options, run_options_from, run_request, stored_request


@click.command()
@click.argument("folder", type=PATH)
@click.option("--references", type=REFERENCES, help="How many there should be in all.")
@click.option("--until-width", type=SHARE, help="Or: until the interval of the recipe's AUC is this narrow.")
@evidence
@attacks
@click.option(
    "--at-most",
    type=WholeNumber(1, MAX_REFERENCES),
    default=512,
    show_default=True,
    help="With --until-width: the most references to train.",
)
@ignore
@cover_options
@run_options
@as_json
def collect(folder, references, until_width, at_most, as_json, **options):
    """Add references or other evidence to the audit in FOLDER, and evaluate it again.

    With --attack, other attacks than before are run.
    """
    from guestlist.store import open_store

    if references is not None and until_width is not None:
        raise click.UsageError("Give either --references or --until-width.")
    requested = [references, until_width, *(options[name] for name in ("evidence", "attacks", "ignore"))]
    if not any(value not in (None, ()) for value in requested):
        raise click.UsageError(
            "What is to be collected? Give --references, --until-width, --evidence, --attack or --ignore."
        )
    folder = folder.resolve()
    store = open_store(folder)
    request = stored_request(store, "gl.audit(model, members, nonmembers, folder={folder}, references=…)")
    count = _references(max(store.models(), default=0), references, until_width, at_most)
    request = replace(
        request,
        attacks=options["attacks"] or _with_attacks_for(options["evidence"], request.attacks),
        evidence=options["evidence"],
        ignore=options["ignore"] or request.ignore,
    )
    with show_warnings():
        results = run_request(request, folder, count, run_options_from(options), updated_stored_cover(options, store))
    print_results(results, folder, as_json)


def _references(existing: int, references: int | None, until_width: float | None, at_most: int):
    """Return the total number of references, or the width until which to train."""
    from guestlist.collecting.until import UntilWidth

    if references is not None and references < existing:
        raise click.UsageError(
            f"There are {existing} references already; --references says how many there should be in all."
        )
    if until_width is None:
        return existing if references is None else references
    try:
        return UntilWidth(until_width, start=max(existing, 16), at_most=max(at_most, existing, 16))
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def _with_attacks_for(evidence: tuple[str, ...], attacks: tuple[str, ...]) -> tuple[str, ...]:
    """Add the attacks that new evidence makes possible; empty stands for all that can run."""
    from guestlist.attacks import ATTACKS

    kinds = {text.partition(":")[0] for text in evidence}
    new = [name for name, attack in ATTACKS.items() if attack.evidence in kinds and attack.default]
    if not attacks:
        return ()
    return (*attacks, *(name for name in new if name not in attacks))
