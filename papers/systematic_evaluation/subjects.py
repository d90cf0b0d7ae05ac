"""The models whose risk scores are looked at: our own, over several targets, and the authors' of Location30."""

from __future__ import annotations

from pathlib import Path

from guestlist.datasets import local
from papers.systematic_evaluation.data import PREDICTIONS, Records
from papers.systematic_evaluation.pairs import (
    EARLY,
    LOCATION,
    NO_DEFENCE,
    PUBLIC,
    Pair,
    Study,
    published,
    stopped,
    trained,
)

AUTHORS, AUTHORS_MEMGUARD = "authors' model", "authors' model, MemGuard"


def own(study: Study, records: Records, place: Path, *, repeats: int) -> dict[str, list[Pair]]:
    """Name of a way to train, or to answer, to a pair for each target of ours."""
    seeds = range(repeats)
    found = {NO_DEFENCE: [trained(study, records, place, seed=seed) for seed in seeds]}
    for defence in study.defences:
        if defence == EARLY:
            found[EARLY] = [stopped(study, records, place, seed=seed)[1] for seed in seeds]
        else:
            found[defence] = [trained(study, records, place, seed=seed, training=defence) for seed in seeds]
    return found


def subjects(study: Study, records: Records, place: Path, *, repeats: int) -> dict[str, list[Pair]]:
    """The same, and on Location30 the authors' models, which are there once."""
    found = own(study, records, place, repeats=repeats)
    if study.name not in (LOCATION, PUBLIC) or local(PREDICTIONS) is None:
        return found
    return found | {AUTHORS: [published(defended=False)], AUTHORS_MEMGUARD: [published(defended=True)]}
