"""Files of public datasets: from the user's folder, the cache, or a download with a checksum."""

from __future__ import annotations

import hashlib
import http.client
import os
import urllib.error
import urllib.request
from pathlib import Path

from guestlist.errors import InputError
from guestlist.store.files import write_bytes

DATA_VARIABLE = "GUESTLIST_DATA"


def local(name: str) -> Path | None:
    """Return the path of a file in ``$GUESTLIST_DATA``; None if it is not there."""
    folder = os.environ.get(DATA_VARIABLE)
    if folder and (Path(folder) / name).exists():
        return Path(folder) / name
    return None


def fetched(url: str, sha256: str) -> Path:
    """Return the file at ``url`` from the cache, or download it; raise unless it has this checksum."""
    path = cache_folder() / url.rsplit("/", 1)[-1]
    if not path.exists() or _digest(path.read_bytes()) != sha256:
        content = _download(url)
        if _digest(content) != sha256:
            raise InputError(f"{url} does not hold the file it held when guestlist was written (its checksum differs).")
        write_bytes(path, content)
    return path


def cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "guestlist"


def _download(url: str) -> bytes:
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:
            return answer.read()
    except (urllib.error.URLError, http.client.HTTPException, OSError, ValueError) as error:  # refused or interrupted
        raise InputError(
            f"{url} cannot be fetched ({error}). Put the file where ${DATA_VARIABLE} points, or go online."
        ) from error


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
