"""The audit folder on disk: the signals of all models, and the split that they were trained on.

    manifest.json            format, fingerprints of data, target's members and recipe, game, seed; inputs
    pool.parquet             id, label and groups of every record; no features
    split.npz                member and asked, both (models, records): training sets and evaluated records
    signals/model-0000.npz   one per model; written atomically, so present means complete
    baseline.json            the model-free baseline
    outputs.npz              the target's outputs
    evidence/distilled/      other evidence, one folder per type, with a plan.json
    scores/lira.npy          one per attack
    records.parquet  attacks.parquet  results.json  report.html

guestlist rejects a folder of different data, a different recipe or a different target, and a file in it that was written
for a different path, audit or plan; see ``docs/folder.md``.
"""

import io
import json
import os
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pandas as pd

from guestlist._kernels import as_slice
from guestlist._store.files import check_not_a_file, read_json, write_parquet
from guestlist._store.integrity import (
    CONTENT,
    DESCRIPTIONS,
    IntegrityError,
    check_npz,
    digest,
    read_checked_json,
    read_checked_npz,
    text_digest,
    write_checked_json,
    write_checked_npz,
)
from guestlist._util import as_path, lazy_matrices, path_exists, read_parquet
from guestlist._views import Rotation
from guestlist.errors import FolderError
from guestlist.games import Game, Split, game_of

FORMAT = 4
# Recipe of an audit of predictions, which has no model.
PREDICTIONS = "predictions"
_PROVENANCE = {"file": "manifest.json"}


@dataclass(frozen=True)
class Manifest:
    """Everything that the signals in a folder depend on.

    Two audits share signals only if all fields except ``stacked``, ``about`` and ``files`` are equal.

    Args:
        data: Digest of the records: features, labels, ids and groups.
        split: Digest of the target's members and of the evaluated records.
        recipe: Digest of the training recipe.
        seed: Random seed.
        game: Name and options of the game that draws the training sets.
        scale: Name of the scale of the outputs.
        classes: Labels, as text, in the order of the outputs; empty for regression.
        stacked: Whether networks are trained in stacks: rounding differs from networks that are trained one by one.
        about: Notes for people and for later commands, which do not affect the signals.
        files: Name to digest of the files that the audit rests on: the records and the target's outputs.
    """

    data: str
    split: str
    recipe: str
    seed: int
    game: Mapping[str, Any]
    scale: str
    classes: tuple[str, ...]
    format: int = FORMAT
    stacked: bool = field(default=False, compare=False)
    about: Mapping[str, Any] = field(default_factory=dict, compare=False)
    files: Mapping[str, str] = field(default_factory=dict, compare=False)

    @property
    def rows_seed(self) -> int:
        """Seed of the references' training sets, which depends on seed, pool and members.

        If it depended only on the seed, references of all pools of one size would train on records at the same
        positions, and members that a user drew with the same generator could be those of a reference. It does not
        depend on the recipe, so that two models of the same members can be compared.
        """
        return int(text_digest(f"{self.seed} {self.data} {self.split}")[:16], 16)

    def make_game(self) -> Game:
        """Return the game that draws the training sets."""
        return game_of(dict(self.game))


# Fields that decide which audit a folder holds.
PARTS = ("data", "split", "recipe", "seed", "game", "scale", "classes")


def write_manifest(path: Path, manifest: Manifest) -> None:
    """Write a manifest with integrity metadata."""
    write_checked_json(path, _PROVENANCE, {**asdict(manifest), "classes": list(manifest.classes)})


def read_manifest(path: Path) -> Manifest:
    """Read a manifest; raise a FolderError if it is damaged or of a different format."""
    try:
        document = read_json(path)
        if "format" not in document:
            raise ValueError("it has no format number")
    except (OSError, ValueError) as error:
        raise FolderError(
            f"{path} is damaged, or guestlist did not write it ({error}). Choose another folder."
        ) from error
    if document["format"] != FORMAT:
        raise FolderError(
            f"{path.parent} has format {document['format']}; this version of guestlist reads format {FORMAT}. Run the "
            "audit again in a new folder."
        )
    try:
        content, _ = read_checked_json(path, _PROVENANCE)
        return Manifest(**{**content, "classes": tuple(content["classes"])})
    except IntegrityError as error:
        raise FolderError(
            f"{path} was changed: {error}. Restore it, or run the audit again in a new folder."
        ) from error
    except (TypeError, KeyError, ValueError) as error:
        raise FolderError(f"{path} is damaged ({error}). Run the audit again in a new folder.") from error


T = TypeVar("T")
POOL = "pool.parquet"
SPLIT = "split.npz"
OUTPUTS = "outputs.npz"
MANY_RECORDS = 100_000  # more records have their signals in single precision
MANY_CELLS = 2**24  # models times records; with more, not all signals are in memory at once
ALWAYS_WHOLE = ("margin", "loss")  # signals that are read often; with many cells the others are read in parts
AT_ONCE = 3  # signals in memory with many cells: these two, and one other


class Store:
    """An audit folder. Open one with :func:`open_store`."""

    def __init__(self, folder: Path, manifest: Manifest):
        self.folder = folder
        self.manifest = manifest
        self._wrote_pool = False
        self._row_digests: dict[int, str] = {}
        self._checked_files: dict[Path, _CheckedFile] = {}

    # -- plan --------------------------------------------------------------------------------------------------

    @cached_property
    def pool(self) -> pd.DataFrame:
        """One row per record: id, label, class (position of the label), and groups."""
        path = self._existing(POOL)
        content = read_or_explain(path, Path.read_bytes)
        if self.manifest.files.get(POOL) != digest(content):
            raise FolderError(f"{path} was changed after it was written. Run the audit again to rewrite it.")
        if self._wrote_pool:  # This process wrote the file, so it needs no check of its unpacked size.
            return pd.read_parquet(io.BytesIO(content))
        return read_or_explain(path, read_parquet)

    @cached_property
    def split(self) -> Split:
        """Training sets and evaluated records of all planned models: the truth."""
        path = self._existing(SPLIT)
        arrays = read_or_explain(path, lambda path: read_checked_npz(path, self._audit_provenance(SPLIT)))
        try:
            split = Split(arrays["member"], arrays["asked"])
        except (KeyError, ValueError) as error:
            raise FolderError(f"{path} is damaged ({error}). Run the audit again in a new folder.") from error
        read_or_explain(path, lambda path: check_npz(path, self._split_provenance(split)))
        return split

    def write_pool(self, pool: pd.DataFrame) -> None:
        """Write the table of records."""
        self.__dict__.pop("pool", None)
        write_parquet(self.folder / POOL, pool)
        self._write_digest(POOL, digest((self.folder / POOL).read_bytes()))
        self._wrote_pool = True

    def write_split(self, split: Split) -> None:
        """Write the split of all planned models."""
        write_checked_npz(
            self.folder / SPLIT, self._split_provenance(split), {"member": split.member, "asked": split.evaluated}
        )
        self.split = split
        self._row_digests.clear()

    # -- outputs of models ----------------------------------------------------------------------------------------

    def models(self) -> list[int]:
        """Return the numbers of models with signals; 0 is the target. Models that were not planned are ignored."""
        if not (self.folder / SPLIT).exists():
            return []
        return [k for k in file_numbers(self.folder / "signals", "model") if k < len(self.split)]

    def write_model(self, k: int, values: Mapping[str, np.ndarray]) -> None:
        """Write the signals of model ``k``."""
        self.write(model_path(self.folder, k), values)

    def model(self, k: int) -> dict[str, np.ndarray]:
        """Return (records,) signals of model ``k`` by name."""
        return {name: values.astype(np.float64) for name, values in self._signals(k).items()}

    def write_outputs(self, outputs: np.ndarray) -> None:
        """Write the (records, classes) outputs of the target."""
        path = self.folder / OUTPUTS
        self._write_digest(OUTPUTS, write_checked_npz(path, self._audit_provenance(OUTPUTS), {"outputs": outputs}))

    def outputs(self) -> np.ndarray | None:
        """Return the (records, classes) outputs of the target; None before it was queried."""
        # An audit that was killed between the two writes has the file, and no digest of it in the manifest.
        if not (self.folder / OUTPUTS).exists() or OUTPUTS not in self.manifest.files:
            return None
        return self.required_outputs()

    def required_outputs(self) -> np.ndarray:
        """Return the (records, classes) outputs of the target; raise if it was not queried."""
        path = self._existing(OUTPUTS)
        provenance = {**self._audit_provenance(OUTPUTS), CONTENT: self.manifest.files.get(OUTPUTS, "")}
        return read_or_explain(path, lambda path: read_checked_npz(path, provenance))["outputs"]

    # -- files with integrity metadata ------------------------------------------------------------------------------

    def write(self, path: Path, arrays: Mapping[str, np.ndarray]) -> None:
        """Write signals or evidence, with the provenance that belongs to the path.

        Signals of more than ``MANY_RECORDS`` records are in single precision, whose rounding is far below the differences between
        models. Those that are 0 or 1 take a byte each.
        """
        if path.parent.name == "signals":
            arrays = {name: _compact(values) for name, values in arrays.items()}
        provenance = self._provenance(path)
        write_checked_npz(path, provenance, arrays)
        self._checked_files[path] = _CheckedFile(_state(path, provenance), list(arrays))

    def read(self, path: Path, *names: str) -> dict[str, np.ndarray]:
        """Read arrays of a file, all or those named; raise if it was written for a different path, audit or plan."""

        def read_arrays(path: Path) -> dict[str, np.ndarray]:
            provenance = self._provenance(path)
            return read_checked_npz(path, provenance, *names, known=self._is_unchanged(path, provenance))

        return read_or_explain(self._existing(self._name(path)), read_arrays)

    def check(self, path: Path) -> list[str]:
        """Check a file unless it was checked and has not changed since; return the names of its arrays."""

        def array_names(path: Path) -> list[str]:
            provenance = self._provenance(path)
            if not self._is_unchanged(path, provenance):
                state = _state(path, provenance)
                self._checked_files[path] = _CheckedFile(state, check_npz(path, provenance))
            return list(self._checked_files[path].names)

        return read_or_explain(path, array_names)

    def _is_unchanged(self, path: Path, provenance: dict[str, str]) -> bool:
        """Return whether a file was checked, and has not changed since."""
        return path in self._checked_files and self._checked_files[path].state == _state(path, provenance)

    def check_files(self, paths: Mapping[int, Path]) -> set[int]:
        """Check files by number and return the numbers; call it before the long work."""
        for path in paths.values():
            self.check(path)
        return set(paths)

    def write_json(self, path: Path, content: Mapping[str, Any]) -> None:
        """Write numbers as JSON, with integrity metadata."""
        write_checked_json(path, self._audit_provenance(self._name(path)), content)

    def read_json(self, path: Path) -> dict[str, Any]:
        """Read numbers that :meth:`write_json` wrote."""
        provenance = self._audit_provenance(self._name(path))
        return read_or_explain(path, lambda path: read_checked_json(path, provenance))[0]

    def write_plan(self, path: Path, options: Mapping[str, Any], fixed: Mapping[str, Any]) -> None:
        """Write the plan of one type of evidence.

        Args:
            options: All options.
            fixed: The options that decide the content of each file; the others decide the number of files.
        """
        plan = digest(json.dumps(fixed, sort_keys=True))
        write_checked_json(path, {**self._audit_provenance(self._name(path)), "plan": plan}, options)

    def read_plan(self, path: Path) -> dict[str, Any]:
        """Read the options in the plan of one type of evidence."""
        return self._read_plan(path)[0]

    def _read_plan(self, path: Path) -> tuple[dict[str, Any], Mapping[str, str]]:
        provenance = self._audit_provenance(self._name(path))
        remedy = f"Delete {path.parent}, then collect this evidence again"
        return read_or_explain(path, lambda path: read_checked_json(path, provenance), remedy)

    def _provenance(self, path: Path) -> dict[str, str]:
        """Return the digests of everything that a file of signals or evidence depends on."""
        provenance = self._audit_provenance(self._name(path))
        outputs = self.manifest.files.get(OUTPUTS, "")
        if path.parent.name == "signals":
            k = int(path.stem.removeprefix("model-"))
            provenance["rows"] = self._rows_digest(k)
            if k == 0:
                provenance["outputs"] = outputs
        elif path.parent.parent.name == "evidence":
            provenance["plan"] = self._read_plan(path.parent / "plan.json")[1]["plan"]
            provenance["outputs"] = outputs
        return provenance

    def _audit_provenance(self, name: str) -> dict[str, str]:
        """Return the digests of everything that all files of the folder depend on."""
        manifest = self.manifest
        return {
            "file": name,
            "data": manifest.data,
            "split": manifest.split,
            "recipe": manifest.recipe,
            "seed": str(manifest.seed),
            "scale": manifest.scale,
            "classes": digest(*manifest.classes),
        }

    def _rows_digest(self, k: int) -> str:
        """Return a digest of the training set and the evaluated records of model ``k``."""
        if k not in self._row_digests:
            rows = (self.split.member[k], self.split.evaluated[k])
            self._row_digests[k] = digest(*(np.packbits(row).tobytes() for row in rows))
        return self._row_digests[k]

    def _split_provenance(self, split: Split) -> dict[str, str]:
        # The game of a folder without references may still change, because no training set was drawn.
        game = json.dumps(dict(self.manifest.game), sort_keys=True) if len(split) > 1 else ""
        return {**self._audit_provenance(SPLIT), "game": game}

    def add_devices(self, what: str, names: Collection[str]) -> None:
        """Add devices to the notes in the manifest: those on which the target, references or evidence ran."""
        devices = self.manifest.about.get("devices", {})
        known = set(devices.get(what, ()))
        if not known.issuperset(names):
            devices = {**devices, what: sorted(known.union(names))}
            self.change_manifest(about={**self.manifest.about, "devices": dict(sorted(devices.items()))})

    def _write_digest(self, name: str, content: str) -> None:
        """Write the digest of a file into the manifest."""
        if self.manifest.files.get(name) != content:
            self.change_manifest(files={**self.manifest.files, name: content})

    def change_manifest(self, **changes: Any) -> None:
        """Change fields of the manifest, and write it."""
        self.manifest = replace(self.manifest, **changes)
        write_manifest(self.folder / "manifest.json", self.manifest)

    def _name(self, path: Path) -> str:
        return path.relative_to(self.folder).as_posix()

    def rotation(self, references: int | None = None, preload: Collection[str] = ()) -> Rotation:
        """Return all models' signals of all records, with the truth: for evaluation and stand-in targets.

        Each signal is read when it is first used: some attacks need only one of them.

        Args:
            references: Number of references to take; all by default.
            preload: Signals that will be used, and are read together with the first of them.
        """
        models = [k for k in self.models() if references is None or k <= references]
        if not models or models[0] != 0:
            raise FolderError(f"{self.folder} has no outputs of the target yet. Run the audit first.")
        # Every file is checked before anything is computed.
        names_by_model = [self.check(model_path(self.folder, k)) for k in models]
        signal_names = names_by_model[0]
        preloaded = [name for name in signal_names if name in preload]
        loaded: dict[str, np.ndarray] = {}
        member = self.split.member[as_slice(np.array(models))]
        many = member.size > MANY_CELLS

        def load(name: str) -> np.ndarray:
            if name not in loaded:
                names = [name]
                if name in preloaded and not many:
                    names = preloaded
                loaded.update(_stack((self._signals(k, *names) for k in models), names, len(models)))
            # With many cells, single precision stays: computations make it double block by block.
            return loaded.pop(name).astype(np.float32 if many else np.float64, copy=False)

        def load_records(name: str, records: np.ndarray) -> np.ndarray | None:
            if not many or name in ALWAYS_WHOLE:
                return None
            parts = ({name: self._signals(k, name)[name][records].astype(np.float32)} for k in models)
            return _stack(parts, [name], len(models))[name]

        values = lazy_matrices(signal_names, load, AT_ONCE if many else None, load_records)
        return Rotation(values, member, self.pool["class"].to_numpy())

    def _signals(self, k: int, *names: str) -> dict[str, np.ndarray]:
        """Read signals of one model, all or those named; raise if an evaluated record has none."""
        path = model_path(self.folder, k)
        evaluated = self.split.evaluated[k]
        signals = self.read(path, *names)
        for name, values in signals.items():
            if values.shape != evaluated.shape or np.isnan(values[evaluated]).any():
                raise FolderError(
                    f"{path} is damaged ({name!r} lacks a number for some queried records). Delete this file and run the "
                    "audit again."
                )
        return signals

    def _existing(self, name: str) -> Path:
        path = self.folder / name
        if not path.exists():
            raise FolderError(
                f"{self.folder} has no {name}: it is not an audit folder, or the audit did not finish. Run the audit again."
            )
        return path


def open_store(folder: str | Path, manifest: Manifest | None = None) -> Store:
    """Open the store in a folder, or create it; raise if the folder holds a different audit.

    Args:
        folder: The audit folder.
        manifest: Manifest of the new audit; by default the folder must exist and have a manifest.
    """
    folder = as_path("folder", folder)
    path = folder / "manifest.json"
    check_not_a_file(folder)
    if not path_exists(path):
        if manifest is None:
            raise FolderError(f"{folder} has no manifest.json, so it is not an audit folder. Check the path.")
        if folder.exists() and any(p for p in folder.iterdir() if not p.name.startswith(".")):
            raise FolderError(
                f"{folder} holds files that do not belong to an audit. Choose another folder, or empty it."
            )
        manifest = replace(manifest, about={"date": today(), **manifest.about})
        write_manifest(path, manifest)
        return Store(folder, manifest)
    stored = read_manifest(path)
    if manifest is None:
        return Store(folder, stored)
    different = [DESCRIPTIONS[name] for name in PARTS if getattr(stored, name) != getattr(manifest, name)]
    if different:
        raise FolderError(
            f"{folder} holds a different audit, with {' and '.join(different)}. Choose another folder= (--out)."
        )
    about = {**stored.about, **manifest.about}  # The inputs may have moved; notes of other commands stay.
    if about != stored.about:
        stored = replace(stored, about=about)
        write_manifest(path, stored)
    return Store(folder, stored)


def today() -> str:
    """Return the date in UTC as ``2026-11-18``; that of the variable SOURCE_DATE_EPOCH if it is set."""
    return datetime.fromtimestamp(float(os.environ.get("SOURCE_DATE_EPOCH") or time.time()), UTC).date().isoformat()


class _CheckedFile(NamedTuple):
    """State of a file when it was checked, and the names of its arrays."""

    state: tuple
    names: list[str]


def _state(path: Path, provenance: dict[str, str]) -> tuple:
    """Return a value that changes with a file, or with its expected provenance."""
    status = path.stat()
    return status.st_ino, status.st_mtime_ns, status.st_size, provenance


def _compact(values: np.ndarray) -> np.ndarray:
    """Return signals of many records in single precision, or as booleans if all are 0 or 1."""
    if len(values) <= MANY_RECORDS:
        return values
    is_binary = ((values == 0) | (values == 1)).all()
    return values.astype(bool if is_binary else np.float32)


def _stack(parts: Iterable[Mapping[str, np.ndarray]], names: Sequence[str], models: int) -> dict[str, np.ndarray]:
    """Return (models, records) signals by name from the signals of each model in turn."""
    matrices: dict[str, np.ndarray] = {}
    for row, part in enumerate(parts):
        for name in names:
            matrices.setdefault(name, np.empty((models, *part[name].shape), part[name].dtype))[row] = part[name]
    return matrices


def file_numbers(folder: Path, prefix: str, width: int = 4) -> list[int]:
    """Return the numbers of the files ``<prefix>-<number>.npz`` in a folder, sorted.

    Names with a number of a different width are ignored.
    """
    names = (path.stem.removeprefix(f"{prefix}-") for path in folder.glob(f"{prefix}-*.npz"))
    numbers = (int(name) for name in names if name.isascii() and name.isdigit() and name == f"{int(name):0{width}d}")
    return sorted(numbers)


def read_or_explain(
    path: Path, reader: Callable[[Path], T], remedy: str = "Delete this file and run the audit again"
) -> T:
    """Return the result of ``reader`` on a file of the folder; if it is damaged, raise an error with a remedy."""
    try:
        return reader(path)
    except IntegrityError as error:
        raise FolderError(f"{path} does not belong to this audit: {error}. {remedy}.") from error
    except (OSError, ValueError, KeyError) as error:
        raise FolderError(f"{path} is damaged ({error}). {remedy}.") from error


def model_path(folder: Path, k: int) -> Path:
    """Return the path of the signals of model ``k``."""
    return folder / "signals" / f"model-{k:04d}.npz"
