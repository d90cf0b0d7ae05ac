"""Models whose risk scores are evaluated: ours, over several targets, and the authors' models of Location30."""

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


def our_pairs(study: Study, records: Records, cache: Path, *, repeats: int) -> dict[str, list[Pair]]:
    """Return the name of a training or output defence to one pair for each of our targets."""
    seeds = range(repeats)
    pairs = {NO_DEFENCE: [trained(study, records, cache, seed=seed) for seed in seeds]}
    for defence in study.defences:
        if defence == EARLY:
            pairs[EARLY] = [stopped(study, records, cache, seed=seed)[1] for seed in seeds]
        else:
            pairs[defence] = [trained(study, records, cache, seed=seed, training=defence) for seed in seeds]
    return pairs


def subjects(study: Study, records: Records, cache: Path, *, repeats: int) -> dict[str, list[Pair]]:
    """Return the same and, for Location30, the authors' models, of which there is one pair each."""
    pairs = our_pairs(study, records, cache, repeats=repeats)
    if study.name not in (LOCATION, PUBLIC) or local(PREDICTIONS) is None:
        return pairs
    return pairs | {AUTHORS: [published(defended=False)], AUTHORS_MEMGUARD: [published(defended=True)]}
