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

A folder made for other data, another recipe or another target is refused, and so is a file in it that was made for another
place, another audit or another plan; see ``docs/folder.md``.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pandas as pd

from guestlist.arguments import place
from guestlist.arrays.columns import in_a_row
from guestlist.errors import FolderError
from guestlist.games import Split
from guestlist.reaching import is_there
from guestlist.store.files import write_parquet
from guestlist.store.lock import check_not_a_file
from guestlist.store.manifest import Manifest, differences, read_manifest, write_manifest
from guestlist.store.seals import (
    MEANS,
    IntegrityError,
    check_npz,
    digest,
    read_checked_json,
    read_checked_npz,
    write_checked_json,
    write_checked_npz,
)
from guestlist.unpacking import read_parquet
from guestlist.views.lazily import lazy_matrices
from guestlist.views.signals import Rotation, Signals

T = TypeVar("T")
POOL, SPLIT, ANSWERS = "pool.parquet", "split.npz", "answers.npz"
MANY_RECORDS = 100_000  # whose signals are kept in single precision
MANY_CELLS = 2**24  # models times records: not all signals are in memory at once
KEPT = ("margin", "loss")  # of so many: what is asked for again and again, record by record
AT_ONCE = 3  # signals of so many that are in memory: these, and one of the others


class Store:
    """An audit folder. Open one with :func:`open_store`."""

    def __init__(self, folder: Path, manifest: Manifest):
        self.folder = folder
        self.manifest = manifest
        self._wrote_pool = False
        self._split: Split | None = None
        self._row_digests: dict[int, str] = {}
        self._looked_at: dict[Path, _Look] = {}

    # -- what was planned -------------------------------------------------------------------------------------

    @cached_property
    def pool(self) -> pd.DataFrame:
        """One row per record: id, label, class (position of the label), and groups."""
        path = self._there(POOL)
        content = read_or_explain(path, Path.read_bytes)
        if self.manifest.files.get(POOL) != digest(content):
            raise FolderError(f"{path} was changed after it was written. Run the audit again, which writes it anew.")
        # What this process wrote is not looked through for what others might have made it unpack to.
        return pd.read_parquet(io.BytesIO(content)) if self._wrote_pool else read_or_explain(path, read_parquet)

    @property
    def split(self) -> Split:
        """Who trains on what, of all models that were planned, and who is asked about: the truth."""
        if self._split is None:
            path = self._there(SPLIT)
            found = read_or_explain(path, lambda path: read_checked_npz(path, self._of_audit(SPLIT)))
            try:
                split = Split(found["member"], found["asked"])
            except (KeyError, ValueError) as error:
                raise FolderError(f"{path} is damaged ({error}).") from error
            read_or_explain(path, lambda path: check_npz(path, self._of_split(split)))
            self._split = split
        return self._split

    def write_pool(self, pool: pd.DataFrame) -> None:
        self.__dict__.pop("pool", None)
        write_parquet(self.folder / POOL, pool)
        self._note(POOL, _digest_of_file(self.folder / POOL))
        self._wrote_pool = True

    def write_split(self, split: Split) -> None:
        write_checked_npz(
            self.folder / SPLIT, self._of_split(split), {"member": split.member, "asked": split.evaluated}
        )
        self._split = split
        self._row_digests.clear()

    # -- what the models said -----------------------------------------------------------------------------------

    def models(self) -> list[int]:
        """Models whose signals are there; 0 is the target. A number that was never planned is not a model."""
        if not (self.folder / SPLIT).exists():
            return []
        return [k for k in file_numbers(self.folder / "signals", "model") if k < len(self.split)]

    def write_model(self, k: int, values: Mapping[str, np.ndarray]) -> None:
        self.write(model_path(self.folder, k), values)

    def model(self, k: int) -> dict[str, np.ndarray]:
        """Name to (records,) signals of model ``k``."""
        return {name: values.astype(np.float64) for name, values in self._signals(k).items()}

    def write_answers(self, answers: np.ndarray) -> None:
        self._note(ANSWERS, write_checked_npz(self.folder / ANSWERS, self._of_audit(ANSWERS), {"answers": answers}))

    def answers(self) -> np.ndarray | None:
        """(records, classes) what the target answered, or None before it was asked."""
        # An audit that was killed between the two had not noted yet what it wrote.
        if not (self.folder / ANSWERS).exists() or ANSWERS not in self.manifest.files:
            return None
        return self.required_answers()

    def required_answers(self) -> np.ndarray:
        """The same, where it must have been asked."""
        path, noted = self._there(ANSWERS), self.manifest.files.get(ANSWERS, "")
        seal = {**self._of_audit(ANSWERS), "holds": noted}
        return read_or_explain(path, lambda path: read_checked_npz(path, seal))["answers"]

    # -- files that are tied to the audit ---------------------------------------------------------------------------

    def write(self, path: Path, arrays: Mapping[str, np.ndarray]) -> None:
        """Write signals or evidence, with a seal that says what they were made of.

        Signals of very many records are kept in single precision: what it rounds away is far below what differs between models.
        Those that are 0 or 1 take a byte each.
        """
        if path.parent.name == "signals":
            arrays = {
                name: values
                if len(values) <= MANY_RECORDS
                else values.astype(bool if _two_valued(values) else np.float32)
                for name, values in arrays.items()
            }
        seal = self._seal(path)
        write_checked_npz(path, seal, arrays)
        self._looked_at[path] = _Look(_state(path, seal), list(arrays), set(arrays))

    def read(self, path: Path, *names: str) -> dict[str, np.ndarray]:
        """Arrays of a file, all or those named; an error where it was made for another place, audit or plan."""

        def reader(path: Path) -> dict[str, np.ndarray]:
            seal = self._seal(path)
            look = self._known(path, seal)
            if look is None:
                return read_checked_npz(path, seal, *names)
            found = read_checked_npz(path, seal, *names, known=True, compared=look.compared)
            look.compared.update(found)
            return found

        return read_or_explain(self._there(self._name(path)), reader)

    def check(self, path: Path) -> list[str]:
        """The names of the arrays in a file, which are not read; the same errors. Looked at again only where it has changed."""
        return list(read_or_explain(path, self._names))

    def _names(self, path: Path) -> list[str]:
        seal = self._seal(path)
        if self._known(path, seal) is None:
            state = _state(path, seal)
            self._looked_at[path] = _Look(state, check_npz(path, seal), set())
        return self._looked_at[path].names

    def _known(self, path: Path, seal: dict[str, str]) -> _Look | None:
        """What is known of a file that was looked at, or written, and has not changed since."""
        look = self._looked_at.get(path)
        return look if look is not None and look.state == _state(path, seal) else None

    def checked(self, paths: Mapping[int, Path]) -> set[int]:
        """The numbers of these files, each of which is checked: before the long work, not after it."""
        for path in paths.values():
            self.check(path)
        return set(paths)

    def write_json(self, path: Path, content: Mapping[str, Any]) -> None:
        """Write figures as JSON, with a seal."""
        write_checked_json(path, self._of_audit(self._name(path)), content)

    def read_json(self, path: Path) -> dict[str, Any]:
        """Figures that were kept as JSON."""
        return read_or_explain(path, lambda path: read_checked_json(path, self._of_audit(self._name(path))))[0]

    def write_plan(self, path: Path, options: Mapping[str, Any], fixed: Mapping[str, Any]) -> None:
        """Write the plan of a kind of evidence.

        Args:
            options: all of them.
            fixed: those that decide what each file holds; the others only say how many there are.
        """
        plan = digest(json.dumps(fixed, sort_keys=True))
        write_checked_json(path, {**self._of_audit(self._name(path)), "plan": plan}, options)

    def read_plan(self, path: Path) -> dict[str, Any]:
        """The options in the plan of a kind of evidence."""
        return self._plan(path)[0]

    def _plan(self, path: Path) -> tuple[dict[str, Any], Mapping[str, str]]:
        try:
            return read_checked_json(path, self._of_audit(self._name(path)))
        except IntegrityError as error:
            raise FolderError(
                f"{path} does not belong to this audit: {error}. Remove {path.parent} and collect it again."
            ) from error
        except (OSError, ValueError) as error:
            raise FolderError(f"{path} is damaged ({error}). Remove {path.parent} and collect it again.") from error

    def _seal(self, path: Path) -> dict[str, str]:
        """What a file of signals or evidence must have been made of."""
        name = self._name(path)
        seal, kind = self._of_audit(name), path.parent
        if kind.name == "signals":
            k = int(path.stem.removeprefix("model-"))
            seal["rows"] = self._rows(k)
            return seal if k else {**seal, "answers": self.manifest.files.get(ANSWERS, "")}
        if kind.parent.name == "evidence":
            plan = self._plan(kind / "plan.json")[1]["plan"]
            return {**seal, "plan": plan, "answers": self.manifest.files.get(ANSWERS, "")}
        return seal

    def _of_audit(self, name: str) -> dict[str, str]:
        """What every file of the folder was made of."""
        known = self.manifest
        return {
            "file": name,
            "data": known.data,
            "split": known.split,
            "recipe": known.recipe,
            "seed": str(known.seed),
            "scale": known.scale,
            "classes": digest(*known.classes),
        }

    def _rows(self, k: int) -> str:
        """Digest of whom model ``k`` trains on and is asked about."""
        if k not in self._row_digests:
            rows = (self.split.member[k], self.split.evaluated[k])
            self._row_digests[k] = digest(*(np.packbits(row).tobytes() for row in rows))
        return self._row_digests[k]

    def _of_split(self, split: Split) -> dict[str, str]:
        # The game of a folder without references may still change: it has drawn nothing.
        game = json.dumps(dict(self.manifest.game), sort_keys=True) if len(split) > 1 else ""
        return {**self._of_audit(SPLIT), "game": game}

    def _note(self, name: str, found: str) -> None:
        """Keep the digest of a file in the manifest."""
        if self.manifest.files.get(name) != found:
            self.manifest = replace(self.manifest, files={**self.manifest.files, name: found})
            write_manifest(self.folder / "manifest.json", self.manifest)

    def _name(self, path: Path) -> str:
        return path.relative_to(self.folder).as_posix()

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
        there = [self.check(path) for path in files][0]  # noqa: RUF015  # each is checked before anything is computed
        wanted, loaded = [name for name in there if name in together], dict[str, np.ndarray]()
        member = self.split.member[in_a_row(np.array(models))]
        many = member.size > MANY_CELLS

        def load(name: str) -> np.ndarray:
            if name not in loaded:
                names = wanted if name in wanted and not many else [name]
                parts = (self._signals(k, *names) for k in models)
                loaded.update(_stacked(parts, names, len(models)))
            # Of very many, single precision stays what it is: who computes with them makes it double, block by block.
            return loaded.pop(name).astype(np.float32 if many else np.float64, copy=False)

        def some(name: str, records: np.ndarray) -> np.ndarray | None:
            if not many or name in KEPT:
                return None
            parts = ({name: self._signals(k, name)[name][records].astype(np.float32)} for k in models)
            return _stacked(parts, [name], len(models))[name]

        return Rotation(
            lazy_matrices(there, load, AT_ONCE if many else None, some), member, self.pool["class"].to_numpy()
        )

    def facing(self, k: int = 0, references: int | None = None) -> Signals:
        """The adversary's view with model ``k`` as the target; holds no membership of it."""
        return self.rotation(references).facing(k)

    def _signals(self, k: int, *names: str) -> dict[str, np.ndarray]:
        """Signals of one model, all or those named; NaN may only stand where it was not asked."""
        path, asked = model_path(self.folder, k), self.split.evaluated[k]
        found = self.read(path, *names)
        for name, values in found.items():
            if values.shape != asked.shape or _missing(values, asked):
                raise FolderError(
                    f"{path} is damaged ({name!r} has no number for each record that the model was asked about). Remove that "
                    "file and run the audit again."
                )
        return found

    def _there(self, name: str) -> Path:
        path = self.folder / name
        if not path.exists():
            raise FolderError(f"{self.folder} has no {name}: it is not an audit folder, or the audit was not finished.")
        return path


def open_store(folder: str | Path, manifest: Manifest | None = None) -> Store:
    """The store in ``folder``: made if there is none, refused if it belongs to another audit.

    Without a manifest the folder must exist; its own manifest is taken.
    """
    folder = place("folder", folder)
    path = folder / "manifest.json"
    check_not_a_file(folder)
    if not is_there(path):
        if manifest is None:
            raise FolderError(f"{folder} is not an audit folder: it has no manifest.json.")
        if folder.exists() and any(p for p in folder.iterdir() if not p.name.startswith(".")):
            raise FolderError(f"{folder} holds files that are not an audit. Choose another folder, or empty it.")
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


class _Look(NamedTuple):
    """What is known of a file: its state then, its arrays, and those of them whose checksums were compared."""

    state: tuple
    names: list[str]
    compared: set[str]


def _state(path: Path, seal: dict[str, str]) -> tuple:
    """What tells whether a file has changed since it was looked at, or what is expected of it."""
    status = path.stat()
    return status.st_ino, status.st_mtime_ns, status.st_size, seal


def _missing(values: np.ndarray, asked: np.ndarray) -> bool:
    """Whether a number is missing that should be there."""
    missing = np.isnan(values) if values.dtype.kind == "f" else np.zeros(1, dtype=bool)
    return bool(missing.any() and (missing & asked).any())


def _two_valued(values: np.ndarray, some: int = 1000) -> bool:
    """Whether all are 0 or 1; most of what is not is found out by looking at some."""
    return all(bool(((part == 0) | (part == 1)).all()) for part in (values[:some], values[some:]))


def _stacked(parts: Iterable[Mapping[str, np.ndarray]], names: Sequence[str], models: int) -> dict[str, np.ndarray]:
    """Name to (models, records), from what each model said in turn."""
    found: dict[str, np.ndarray] = {}
    for row, part in enumerate(parts):
        for name in names:
            found.setdefault(name, np.empty((models, *part[name].shape), part[name].dtype))[row] = part[name]
    return found


def file_numbers(folder: Path, kind: str, width: int = 4) -> list[int]:
    """The numbers of the files ``<kind>-<number>.npz`` in a folder, in order; a number written otherwise is none."""
    names = (path.stem.removeprefix(f"{kind}-") for path in folder.glob(f"{kind}-*.npz"))
    numbers = (int(name) for name in names if name.isascii() and name.isdigit() and name == f"{int(name):0{width}d}")
    return sorted(numbers)


def read_or_explain(path: Path, reader: Callable[[Path], T]) -> T:
    """What ``reader`` finds in a file of the folder; an error that says what to do where it is damaged."""
    try:
        return reader(path)
    except IntegrityError as error:
        raise FolderError(
            f"{path} does not belong there: {error}. Remove that file and run the audit again."
        ) from error
    except (OSError, ValueError, KeyError) as error:
        raise FolderError(f"{path} is damaged ({error}). Remove that file and run the audit again.") from error


def _digest_of_file(path: Path) -> str:
    return digest(path.read_bytes())


def model_path(folder: Path, k: int) -> Path:
    return folder / "signals" / f"model-{k:04d}.npz"
