"""Cover of the report, as the owner specified it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from guestlist.case import Case
from guestlist.cover import Cover
from guestlist.store import folder_lock, open_store
from guestlist.store.files import read_json, write_json
from guestlist.store.jsonable import to_json
from guestlist.store.manifest import write_manifest


def find(case: Case) -> Cover | None:
    """Return the cover that is stored in the audit folder."""
    return case.setting.cover


def keep(folder: Path, cover: Cover) -> None:
    """Write a cover into an audit folder, for the results there and for those of later runs; all else stays as it is."""
    with folder_lock(folder):  # an audit that ends meanwhile would have its results overwritten by older ones
        known = open_store(folder).manifest
        write_manifest(folder / "manifest.json", replace(known, about={**known.about, "cover": to_json(cover)}))
        path = folder / "results.json"
        write_json(path, {**read_json(path), "cover": to_json(cover)})
