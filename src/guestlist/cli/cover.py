"""Options for the cover of a report."""

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
    """Add the options of the cover."""
    for name, text in reversed(COVER_HELP.items()):
        command = click.option(f"--{name}", metavar="TEXT", help=text)(command)
    return command


def cover_from(options: dict) -> Cover | None:
    """Build a cover from its options; None where none is given."""
    return updated_cover(options, None)


def updated_cover(options: dict, cover: Cover | None) -> Cover | None:
    """Return a cover updated by the options: an empty text clears a field, other fields stay."""
    from guestlist.cover import Cover

    changes = {field.name: options[field.name] for field in fields(Cover) if options[field.name] is not None}
    return replace(cover or Cover(), **changes) if changes else cover


def updated_stored_cover(options: dict, store: Store) -> Cover | None:
    """Return the stored cover of an audit updated by the options; None where no option is given."""
    from guestlist.cover import Cover
    from guestlist.store.jsonable import from_json

    stored = store.manifest.about.get("cover")
    if cover_from(options) is None:
        return None
    return updated_cover(options, None if stored is None else from_json(Cover, stored))
