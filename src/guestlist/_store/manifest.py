"""Manifest of an audit folder: everything that its signals depend on."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from guestlist._store.files import read_json
from guestlist._store.integrity import IntegrityError, read_checked_json, text_digest, write_checked_json
from guestlist.errors import FolderError
from guestlist.games import Game, game_of

FORMAT = 4
# Recipe of an audit of predictions, which has no model.
PREDICTIONS = "predictions"
_PROVENANCE = {"file": "manifest.json"}


@dataclass(frozen=True)
class Manifest:
    """Everything that the signals in a folder depend on.

    Two audits share signals only if all of it is equal, ``about`` and ``files`` excepted.

    Args:
        data: Digest of the records: features, labels, ids and groups.
        split: Digest of the target's members and of the evaluated records.
        recipe: Digest of the training recipe.
        seed: Random seed.
        game: Name and options of the game that draws the training sets.
        scale: Name of the scale of the outputs.
        classes: Labels, as text, in the order of the outputs; empty for regression.
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
    about: Mapping[str, Any] = field(default_factory=dict, compare=False)
    files: Mapping[str, str] = field(default_factory=dict, compare=False)

    @property
    def rows_seed(self) -> int:
        """Seed of the references' training sets, which depends on seed, pool and members.

        From the seed alone, references of all pools of one size would train on records at the same positions, and members that
        a user drew with the same generator could be those of a reference. The recipe plays no part, so that two models of the
        same members can be compared.
        """
        return int(text_digest(f"{self.seed} {self.data} {self.split}")[:16], 16)

    def make_game(self) -> Game:
        """Return the game that draws the training sets."""
        return game_of(dict(self.game))


# Fields that decide which audit a folder holds.
PARTS = ("data", "split", "recipe", "seed", "game", "scale", "classes")


def differences(first: Manifest, second: Manifest) -> list[str]:
    """Return the names of the fields in which two manifests differ."""
    return [name for name in PARTS if getattr(first, name) != getattr(second, name)]


def write_manifest(path: Path, manifest: Manifest) -> None:
    """Write a manifest with integrity metadata."""
    write_checked_json(path, _PROVENANCE, {**asdict(manifest), "classes": list(manifest.classes)})


def read_manifest(path: Path) -> Manifest:
    """Read a manifest; raise a FolderError if it is damaged or of a different format."""
    try:
        document = read_json(path)
        if "format" not in document:
            raise ValueError("no format number")
    except (OSError, ValueError) as error:
        raise FolderError(f"{path} is damaged or was not written by guestlist ({error}).") from error
    if document["format"] != FORMAT:
        raise FolderError(
            f"{path.parent} has format {document['format']}, this version of guestlist reads format {FORMAT}. "
            "Run the audit again in a new folder."
        )
    try:
        content, _ = read_checked_json(path, _PROVENANCE)
        return Manifest(**{**content, "classes": tuple(content["classes"])})
    except IntegrityError as error:
        raise FolderError(
            f"{path} is not as guestlist wrote it: {error}. Put it back as it was, or run the audit again in a new folder."
        ) from error
    except (TypeError, KeyError, ValueError) as error:
        raise FolderError(f"{path} is damaged ({error}). Run the audit again in a new folder.") from error
