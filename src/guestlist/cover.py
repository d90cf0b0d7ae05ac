"""Cover of a report: title, owner, dataset, purpose and date. Nothing is computed from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from guestlist.arguments import short_repr
from guestlist.errors import InputError

MAX_LENGTH = 500  # letters


@dataclass(frozen=True)
class Cover:
    """Cover of a report, as its owner writes it; entries may be empty.

    Args:
        title: of the report, in place of the model's name.
        owner: who answers for the model, or for the audit.
        dataset: what the model was trained on.
        purpose: what the audit, or the model, is for.
        date: of the audit, as you write it. A report reads no clock: equal results give equal pages.
    """

    title: str = ""
    owner: str = ""
    dataset: str = ""
    purpose: str = ""
    date: str = ""

    def __post_init__(self):
        for name, text in self.entries().items():
            if not isinstance(text, str):
                raise InputError(f"Expected the cover's {name}={text!r} to be text.")
            if len(text) > MAX_LENGTH:
                raise InputError(f"The cover's {name} has {len(text)} letters, and a cover has room for {MAX_LENGTH}.")

    def entries(self) -> dict[str, str]:
        """Return the non-empty entries by name."""
        texts = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: text for name, text in texts.items() if text != ""}

    def over(self, other: Cover | None) -> Cover:
        """Return this cover, with empty entries taken from another cover."""
        return self if other is None else replace(other, **self.entries())


def common_cover(covers: Iterable[Cover | None]) -> Cover | None:
    """Return the entries on which all covers agree, without the title; None if there are none."""
    values: dict[str, set[str]] = {}
    for cover in covers:
        for name, texts in ({} if cover is None else cover.entries()).items():
            values.setdefault(name, set()).add(texts)
    same = {name: texts.pop() for name, texts in values.items() if len(texts) == 1 and name != "title"}
    return Cover(**same) if same else None


def notes_with_cover(about: Mapping[str, Any] | None, cover: Cover | None) -> dict[str, Any]:
    """Return the notes for the manifest, including the cover if there is one."""
    if about is not None and not isinstance(about, Mapping):
        raise ValueError(f"Expected about={short_repr(about)} to be names with texts or numbers: {{'owner': 'us'}}.")
    if cover is not None and not isinstance(cover, Cover):
        raise InputError(f"Expected cover={short_repr(cover)} to be gl.Cover(title=…, owner=…, …).")
    return {**(about or {}), **({} if cover is None else {"cover": cover.entries()})}
