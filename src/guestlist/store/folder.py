"""The audit folder on disk: what was asked of which models, and what they said.

    manifest.json            format, fingerprints of data, target's members, recipe and seed; versions; inputs
    pool.parquet             id, label, side and groups of every record; no features
    split.npz                member: (models, records) who trains on what; asked: (records,)
    signals/model-0000.npz   one per model; written aside, then renamed, so present means whole
    answers.npz              the target's full answers
    evidence/distilled/      what else was collected, one folder per kind, with a plan.json
    scores/lira.npy          one per attack
    records.parquet  attacks.parquet  results.json  report.html

A folder made for other data, another recipe or another target is refused; see ``docs/folder.md``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from guestlist.errors import FolderError
from guestlist.games import Design
from guestlist.store.files import names_in_npz, read_npz, write_json, write_npy, write_npz, write_parquet
from guestlist.views.lazily import matrices
from guestlist.views.signals import Rotation, Signals

FORMAT = 1


@dataclass(frozen=True)
class Manifest:
    """What the signals in a folder depend on. Two audits share signals only if all of this is equal."""

    data: str
    recipe: str
    seed: int
    rate: float
    scale: str
    classes: tuple[str, ...]
    format: int = FORMAT
    # What does not decide the signals, and is kept for people and for later commands.
    about: Mapping[str, object] = field(default_factory=dict, compare=False)


# What a user calls each part of the manifest, for messages.
_MEANS = {
    "data": "other records, labels or membership",
    "recipe": "another model or other parameters",
    "seed": "another seed",
    "rate": "another share of records per reference",
    "scale": "answers on another scale",
    "classes": "other classes",
}


class Store:
    """An audit folder. Open one with :func:`open_store`."""

    def __init__(self, folder: Path, manifest: Manifest):
        self.folder = folder
        self.manifest = manifest

    # -- what was planned -------------------------------------------------------------------------------------

    def pool(self) -> pd.DataFrame:
        """One row per record: id, label, class (position of the label), side, and groups."""
        return self._read("pool.parquet", pd.read_parquet)

    def design(self) -> Design:
        member = (self.pool()["side"] == "members").to_numpy()
        return Design(member, self.manifest.rate, self.manifest.seed)

    def asked(self) -> np.ndarray:
        """(records,) true where the target's answer is evaluated: members and non-members, not the population."""
        return (self.pool()["side"] != "population").to_numpy()

    def write_pool(self, pool: pd.DataFrame) -> None:
        write_parquet(self.folder / "pool.parquet", pool)

    def write_split(self, member: np.ndarray) -> None:
        write_npz(self.folder / "split.npz", member=member, asked=self.asked())

    # -- what the models said -----------------------------------------------------------------------------------

    def models(self) -> list[int]:
        """Models whose signals are there; 0 is the target."""
        return numbered(self.folder / "signals", "model")

    def write_model(self, k: int, values: Mapping[str, np.ndarray]) -> None:
        write_npz(model_path(self.folder, k), **values)

    def model(self, k: int) -> dict[str, np.ndarray]:
        """Name to (records,) signals of model ``k``."""
        return self._read(f"signals/{model_path(self.folder, k).name}", read_npz)

    def write_answers(self, answers: np.ndarray) -> None:
        write_npz(self.folder / "answers.npz", answers=answers)

    def answers(self) -> np.ndarray | None:
        """(records, classes) what the target answered, or None before it was asked."""
        if not (self.folder / "answers.npz").exists():
            return None
        return self._read("answers.npz", read_npz)["answers"]

    def member(self) -> np.ndarray:
        """(models, records) who trains on what, of all models that were planned."""
        return self._read("split.npz", read_npz)["member"]

    def rotation(self, references: int | None = None) -> Rotation:
        """All models' signals about all records, with the truth: for evaluation and for mock targets.

        Args:
            references: take only the first so many.
        """
        models = [k for k in self.models() if references is None or k <= references]
        if not models or models[0] != 0:
            raise FolderError(f"{self.folder} holds no signals of the target yet; run the audit first.")
        files = [model_path(self.folder, k) for k in models]

        def load(name: str) -> np.ndarray:
            return np.stack([read_or_explain(path, lambda path: read_npz(path, name)[name]) for path in files])

        # Each signal is read when first asked for: some attacks need but one of them.
        values = matrices(read_or_explain(files[0], names_in_npz), load)
        return Rotation(values, self.member()[models], self.pool()["class"].to_numpy())

    def facing(self, k: int = 0, references: int | None = None) -> Signals:
        """The adversary's view with model ``k`` as the target; holds no membership of it."""
        return self.rotation(references).facing(k)

    # -- what came out --------------------------------------------------------------------------------------

    def write_scores(self, name: str, scores: np.ndarray) -> None:
        write_npy(self.folder / "scores" / f"{name}.npy", scores)

    def _read(self, name: str, reader):
        path = self.folder / name
        if not path.exists():
            raise FolderError(f"{self.folder} has no {name}: it is no audit folder, or the audit was not finished.")
        return read_or_explain(path, reader)


def open_store(folder: str | Path, manifest: Manifest | None = None) -> Store:
    """The store in ``folder``: made if there is none, refused if it belongs to another audit.

    Without a manifest the folder must exist; its own manifest is taken.
    """
    folder = Path(folder)
    path = folder / "manifest.json"
    _check_no_file(folder)
    if not path.exists():
        if manifest is None:
            raise FolderError(f"{folder} is no audit folder: it has no manifest.json.")
        if folder.exists() and any(p for p in folder.iterdir() if not p.name.startswith(".")):
            raise FolderError(f"{folder} holds files that are no audit. Choose another folder, or empty it.")
        folder.mkdir(parents=True, exist_ok=True)
        write_json(path, _as_json(manifest))
        return Store(folder, manifest)
    found = _read_manifest(path)
    if manifest is None:
        return Store(folder, found)
    if found.about != manifest.about and not _differences(found, manifest):
        write_json(path, _as_json(manifest))  # where the inputs are now, and with which options
        return Store(folder, manifest)
    differs = _differences(found, manifest)
    if differs:
        raise FolderError(
            f"{folder} holds an audit of {' and '.join(_MEANS[name] for name in differs)}. "
            "Its signals say nothing about this one: choose another folder."
        )
    return Store(folder, found)


def _check_no_file(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise FolderError(f"{folder} is a file; an audit needs a folder.")


def _differences(one: Manifest, other: Manifest) -> list[str]:
    return [name for name in _MEANS if getattr(one, name) != getattr(other, name)]


@contextmanager
def locked(folder: Path):
    """Hold the folder's lock while an audit works in it; the system lets go of it however the process ends."""
    try:
        import fcntl
    except ImportError:  # not on Windows
        yield
        return
    _check_no_file(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / ".lock", "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise FolderError(
                f"Another audit is writing to {folder}. Wait for it, or choose another folder."
            ) from error
        yield


def numbered(folder: Path, kind: str) -> list[int]:
    """The numbers of the files ``<kind>-<number>.npz`` in a folder, in order."""
    names = (path.stem.removeprefix(f"{kind}-") for path in folder.glob(f"{kind}-*.npz"))
    return sorted(int(name) for name in names if name.isdigit())


def read_or_explain(path: Path, reader):
    """What ``reader`` finds in a file of the folder; an error that says what to do where it is damaged."""
    try:
        return reader(path)
    except (OSError, ValueError, KeyError) as error:
        raise FolderError(f"{path} is damaged ({error}). Remove that file and run the audit again.") from error


def model_path(folder: Path, k: int) -> Path:
    return folder / "signals" / f"model-{k:04d}.npz"


def _read_manifest(path: Path) -> Manifest:
    try:
        content = json.loads(path.read_text("utf-8"))
        if not isinstance(content, dict) or "format" not in content:
            raise ValueError("no format number")
    except (OSError, ValueError) as error:
        raise FolderError(f"{path} is damaged or was not written by guestlist ({error}).") from error
    if content["format"] != FORMAT:
        raise FolderError(
            f"{path.parent} has format {content['format']}, this version of guestlist reads format {FORMAT}. "
            "Run the audit again in a new folder."
        )
    try:
        return Manifest(**{**content, "classes": tuple(content["classes"])})
    except (TypeError, KeyError) as error:
        raise FolderError(f"{path} is damaged ({error}).") from error


def _as_json(manifest: Manifest) -> dict:
    return {**asdict(manifest), "classes": list(manifest.classes)}
