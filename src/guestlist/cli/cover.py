"""The options for what stands on the cover of a report."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from guestlist.cover import Cover
    from guestlist.store import Store

COVER_HELP = {
    "title": "Of the report, in place of the model's name.",
    "owner": "Who answers for the model; stands on the report's cover. An empty text clears it.",
    "dataset": "What the model was trained on; likewise.",
    "purpose": "What the audit, or the model, is for; likewise.",
    "date": "Of the audit, as you write it; likewise.",
}


def cover_options(command):
    """The options that make a cover."""
    for name, said in reversed(COVER_HELP.items()):
        command = click.option(f"--{name}", metavar="TEXT", help=said)(command)
    return command


def cover_from(options: dict) -> Cover | None:
    """The cover that these options make; None where none was given."""
    return updated_cover(options, None)


def updated_cover(options: dict, kept: Cover | None) -> Cover | None:
    """A cover with what these options say: an empty text clears what was there, and what they do not name stays."""
    from guestlist.cover import Cover

    given = {field.name: options[field.name] for field in fields(Cover) if options[field.name] is not None}
    return replace(kept or Cover(), **given) if given else kept


def updated_stored_cover(options: dict, store: Store) -> Cover | None:
    """The same for an audit that is there; None where nothing is said anew."""
    from guestlist.cover import Cover
    from guestlist.store.jsonable import from_json

    kept = store.manifest.about.get("cover")
    said = cover_from(options)
    return said if said is None or kept is None else updated_cover(options, from_json(Cover, kept))
