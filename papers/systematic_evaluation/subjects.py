"""The models whose risk scores are looked at: our own, over several targets, and the authors' of Location30."""

from __future__ import annotations

from pathlib import Path

from guestlist.datasets import local
from papers.systematic_evaluation.data import PREDICTIONS, Records
from papers.systematic_evaluation.models import EARLY, NO_DEFENCE
from papers.systematic_evaluation.pairs import LOCATION, Pair, Study, published, trained

AUTHORS, MEMGUARD = "authors' model", "authors' model, MemGuard"


def subjects(study: Study, records: Records, place: Path, *, repeats: int) -> dict[str, list[Pair]]:
    """Name of a way to train to a pair for each target; the authors' models are there once."""
    own = {
        training: [trained(study, records, place, seed=seed, epochs=epochs) for seed in range(repeats)]
        for training, epochs in ((NO_DEFENCE, study.epochs), (EARLY, study.early))
    }
    if study.name != LOCATION or local(PREDICTIONS) is None:
        return own
    return own | {AUTHORS: [published(defended=False)], MEMGUARD: [published(defended=True)]}
