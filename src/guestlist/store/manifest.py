"""What the signals in a folder depend on: two audits share signals only if all of it is equal."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from guestlist.errors import FolderError
from guestlist.games import Game, game_of
from guestlist.store.files import read_json
from guestlist.store.seals import IntegrityError, read_checked_json, write_checked_json

FORMAT = 4
# Stands for a recipe where there is no model, only what it answered.
PREDICTIONS = "predictions"


@dataclass(frozen=True)
class Manifest:
    """What the signals in a folder depend on.

    Args:
        data: digest of the records: features, labels, ids and groups.
        split: digest of whom the target was trained on and who is asked about.
        recipe: digest of how models are trained.
        seed: of everything random.
        game: name and options of the game that draws who trains on what.
        scale: of the answers.
        classes: labels, as text, in the order of the answers; none for regression.
        about: what does not decide the signals, and is kept for people and for later commands.
        files: name to digest of the files whose content the audit rests on: the records, and what the target answered.
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
        """Of the references' training sets: its own for every seed, pool and choice of members.

        From the seed alone, every pool of one size would have references in the same places, and members that somebody drew
        by the same generator could be those of a reference. The same records are drawn whatever the recipe is, so that
        two models of the same members can be compared.
        """
        return int(hashlib.sha256(f"{self.seed} {self.data} {self.split}".encode()).hexdigest()[:16], 16)

    def make_game(self) -> Game:
        return game_of(dict(self.game))


# What decides whose audit a folder holds.
PARTS = ("data", "split", "recipe", "seed", "game", "scale", "classes")


def differences(one: Manifest, other: Manifest) -> list[str]:
    """The parts in which two manifests differ."""
    return [name for name in PARTS if getattr(one, name) != getattr(other, name)]


def write_manifest(path: Path, manifest: Manifest) -> None:
    write_checked_json(path, _SEAL, {**asdict(manifest), "classes": list(manifest.classes)})


_SEAL = {"file": "manifest.json"}


def read_manifest(path: Path) -> Manifest:
    try:
        found = read_json(path)
        if "format" not in found:
            raise ValueError("no format number")
    except (OSError, ValueError) as error:
        raise FolderError(f"{path} is damaged or was not written by guestlist ({error}).") from error
    if found["format"] != FORMAT:
        raise FolderError(
            f"{path.parent} has format {found['format']}, this version of guestlist reads format {FORMAT}. "
            "Run the audit again in a new folder."
        )
    try:
        content, _ = read_checked_json(path, _SEAL)
        return Manifest(**{**content, "classes": tuple(content["classes"])})
    except IntegrityError as error:
        raise FolderError(
            f"{path} is not as guestlist wrote it: {error}. Put it back as it was, or run the audit again in a new folder."
        ) from error
    except (TypeError, KeyError, ValueError) as error:
        raise FolderError(f"{path} is damaged ({error}). Run the audit again in a new folder.") from error
