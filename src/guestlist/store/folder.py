"""The audit folder on disk: what was asked of which models, and what they said.

    manifest.json            format, fingerprints of data, target's members and recipe, game, seed; inputs
    pool.parquet             id, label and groups of every record; no features
    split.npz                member and asked, both (models, records): who trains on what, and who is asked about
    signals/model-0000.npz   one per model; written aside, then renamed, so present means whole
    blind.json               how well members are told without the model
    answers.npz              the target's full answers
    evidence/distilled/      what else was collected, one folder per kind, with a plan.json
    scores/lira.npy          one per attack
    records.parquet  attacks.parquet  results.json  report.html

A folder made for other data, another recipe or another target is refused; see ``docs/folder.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import numpy as np
import pandas as pd

from guestlist.errors import FolderError
from guestlist.games import Split
from guestlist.store.files import names_in_npz, read_npz, write_npz, write_parquet
from guestlist.store.lock import check_not_a_file
from guestlist.store.manifest import MEANS, Manifest, differences, read_manifest, write_manifest
from guestlist.views.lazily import matrices
from guestlist.views.signals import Rotation, Signals

T = TypeVar("T")


class Store:
    """An audit folder. Open one with :func:`open_store`."""

    def __init__(self, folder: Path, manifest: Manifest):
        self.folder = folder
        self.manifest = manifest
        self._split: Split | None = None

    # -- what was planned -------------------------------------------------------------------------------------

    @cached_property
    def pool(self) -> pd.DataFrame:
        """One row per record: id, label, class (position of the label), and groups."""
        return self._read("pool.parquet", pd.read_parquet)

    @property
    def split(self) -> Split:
        """Who trains on what, of all models that were planned, and who is asked about: the truth."""
        if self._split is None:
            kept = self._read("split.npz", read_npz)
            try:
                self._split = Split(kept["member"], kept["asked"])
            except (KeyError, ValueError) as error:
                raise FolderError(f"{self.folder / 'split.npz'} is damaged ({error}).") from error
        return self._split

    def write_pool(self, pool: pd.DataFrame) -> None:
        self.__dict__.pop("pool", None)
        write_parquet(self.folder / "pool.parquet", pool)

    def write_split(self, split: Split) -> None:
        write_npz(self.folder / "split.npz", member=split.member, asked=split.asked)
        self._split = split

    # -- what the models said -----------------------------------------------------------------------------------

    def models(self) -> list[int]:
        """Models whose signals are there; 0 is the target. A number that was never planned is not a model."""
        if not (self.folder / "split.npz").exists():
            return []
        return [k for k in numbered(self.folder / "signals", "model") if k < len(self.split)]

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
        return self.the_answers()

    def the_answers(self) -> np.ndarray:
        """The same, where it must have been asked."""
        return self._read("answers.npz", read_npz)["answers"]

    def rotation(self, references: int | None = None, together: Collection[str] = ()) -> Rotation:
        """All models' signals about all records, with the truth: for evaluation and for mock targets.

        Each signal is read when first asked for: some attacks need but one of them.

        Args:
            references: take only the first so many.
            together: signals that will be asked for, and are read in one go with the first of them.
        """
        models = [k for k in self.models() if references is None or k <= references]
        if not models or models[0] != 0:
            raise FolderError(f"{self.folder} holds no signals of the target yet; run the audit first.")
        files = [model_path(self.folder, k) for k in models]
        there = read_or_explain(files[0], names_in_npz)
        wanted, loaded = [name for name in there if name in together], dict[str, np.ndarray]()

        def load(name: str) -> np.ndarray:
            if name not in loaded:
                names = wanted if name in wanted else [name]
                parts = [read_or_explain(path, lambda path: read_npz(path, *names)) for path in files]
                loaded.update({one: np.stack([part[one] for part in parts]) for one in names})
            return loaded.pop(name)

        return Rotation(matrices(there, load), self.split.member[models], self.pool["class"].to_numpy())

    def facing(self, k: int = 0, references: int | None = None) -> Signals:
        """The adversary's view with model ``k`` as the target; holds no membership of it."""
        return self.rotation(references).facing(k)

    def _read(self, name: str, reader: Callable[[Path], T]) -> T:
        path = self.folder / name
        if not path.exists():
            raise FolderError(f"{self.folder} has no {name}: it is not an audit folder, or the audit was not finished.")
        return read_or_explain(path, reader)


def open_store(folder: str | Path, manifest: Manifest | None = None) -> Store:
    """The store in ``folder``: made if there is none, refused if it belongs to another audit.

    Without a manifest the folder must exist; its own manifest is taken.
    """
    folder = Path(folder)
    path = folder / "manifest.json"
    check_not_a_file(folder)
    if not path.exists():
        if manifest is None:
            raise FolderError(f"{folder} is not an audit folder: it has no manifest.json.")
        if folder.exists() and any(p for p in folder.iterdir() if not p.name.startswith(".")):
            raise FolderError(f"{folder} holds files that are not an audit. Choose another folder, or empty it.")
        folder.mkdir(parents=True, exist_ok=True)
        write_manifest(path, manifest)
        return Store(folder, manifest)
    found = read_manifest(path)
    if manifest is None:
        return Store(folder, found)
    differs = differences(found, manifest)
    if differs:
        raise FolderError(
            f"{folder} holds an audit of {' and '.join(MEANS[name] for name in differs)}. "
            "Its signals say nothing about this one: choose another folder."
        )
    about = {**found.about, **manifest.about}  # where the inputs are now; what others noted stays
    if about != found.about:
        found = replace(found, about=about)
        write_manifest(path, found)
    return Store(folder, found)


def numbered(folder: Path, kind: str) -> list[int]:
    """The numbers of the files ``<kind>-<number>.npz`` in a folder, in order."""
    names = (path.stem.removeprefix(f"{kind}-") for path in folder.glob(f"{kind}-*.npz"))
    return sorted(int(name) for name in names if name.isdigit())


def read_or_explain(path: Path, reader: Callable[[Path], T]) -> T:
    """What ``reader`` finds in a file of the folder; an error that says what to do where it is damaged."""
    try:
        return reader(path)
    except (OSError, ValueError, KeyError) as error:
        raise FolderError(f"{path} is damaged ({error}). Remove that file and run the audit again.") from error


def model_path(folder: Path, k: int) -> Path:
    return folder / "signals" / f"model-{k:04d}.npz"
