"""Very many records: which of them the mock targets are looked at, and what was done on part of the records.

To try every attack on every model in turn takes microseconds for each of them and each record. With millions of pairs a
sample of the records says which attack is best, and how models of the recipe do, as well as all of them: it is drawn at random,
without a look at who was a member, so that an audit of the sample is an audit. The target is judged on all its records.

What is said of each single record (is it unusual among models that did not train on it?) is computed for all of them, one block
of records after the other, each as large as the sample and drawn as it was: what an attack learns over records, such as
their common variance, it then learns from tens of thousands of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from guestlist.arrays.columns import as_slice, take_columns
from guestlist.arrays.redraws import needs_shifts
from guestlist.attacks import Attack, score_every_target
from guestlist.case import Case, signal_of
from guestlist.findings.luck import DRAWS
from guestlist.randomness import stream
from guestlist.risks import RISKS, mu, risks_of
from guestlist.store.folder import MANY_RECORDS
from guestlist.views.lazily import lazy_matrices
from guestlist.views.signals import Rotation

MOST_CELLS = 2**20  # mock targets times records


@dataclass(frozen=True)
class Sampling:
    """Computations that used part of the records, because there are very many.

    Args:
        records: of the pool.
        attack_sample: records on which attacks were tried on mock targets; None: on all.
        shifted: whether chance was judged by shifting sides along the records, not by dealing them out anew.
        mu_fitted_on: records that taught how mu is spread; None: all that have one.
        single_precision: whether what models say was kept in single precision.
        classes_fitted_on: records that taught what is common to a class, such as its thresholds; None: all.
    """

    records: int
    attack_sample: int | None
    cyclic_shifts: bool
    mu_fitted_on: int | None = None
    single_precision: bool = False
    classes_fitted_on: int | None = None


def find(case: Case) -> Sampling | None:
    """Report what was computed on part of the records; None if everything used all records."""
    chosen = case.of(sample)
    many = needs_shifts(int(case.truth.evaluated.sum()), DRAWS)
    attack_sample = None if chosen is None else len(chosen)
    sampling = Sampling(
        records=len(case.records),
        attack_sample=attack_sample,
        cyclic_shifts=many,
        mu_fitted_on=_mu_learnt_on(case),
        single_precision=_single(case),
        classes_fitted_on=_taught(case),
    )
    return None if sampling == Sampling(len(case.records), None, False) else sampling


def _taught(case: Case) -> int | None:
    """Records that taught attacks, if any of these learns what is common to a class."""
    return case.view.n_estimation_rows if case.scores else None


def _mu_learnt_on(case: Case) -> int | None:
    with_one = int((~np.isnan(risks_of(case)["mu"])).sum()) if RISKS["mu"].possible(case) else 0
    return mu.AT_ONCE if with_one > mu.AT_ONCE else None


def _single(case: Case) -> bool:
    """Return whether the margins of very many records have single precision."""
    margin = signal_of(case.view, "margin") if len(case.records) > MANY_RECORDS else None
    return margin is not None and np.array_equal(margin, margin.astype(np.float32), equal_nan=True)


def sample(case: Case) -> np.ndarray | None:
    """Return the records on which stand-in targets are evaluated, in order; None: all."""
    parts = case.of(parts_of_records)
    return None if parts is None else parts[0]


def parts_of_records(case: Case) -> list[np.ndarray] | None:
    """Every record in one of several parts that are drawn at random; None where there are few enough for one."""
    models, records = (0, 0) if case.mocks is None else case.mocks.member.shape
    if models * records <= MOST_CELLS:
        return None
    parts = -(-models * records // MOST_CELLS)
    # A pool that was shuffled when it was made is in a random order already, and what follows each other is copied fast.
    shuffled = "row" in case.records and not case.setting.predictions
    order = np.arange(records) if shuffled else stream(case.setting.seed, "parts of records").permutation(records)
    return [np.sort(part) for part in np.array_split(order, parts)]


def sampled_stand_ins(case: Case) -> Rotation | None:
    """The mock targets, on the sample where there is one."""
    records = case.of(sample)
    return case.mocks if records is None or case.mocks is None else case.mocks.take_records(records)


def tried(case: Case) -> np.ndarray:
    """(asked records,) true for those at which mock targets are looked at."""
    records = case.of(sample)
    sampled = np.full(len(case.truth.evaluated), records is None)
    sampled[slice(0) if records is None else records] = True
    return sampled[case.truth.evaluated]


def asked_of_sample(case: Case) -> np.ndarray:
    """(records of the mock targets,) true for those that are asked about."""
    records = case.of(sample)
    return case.truth.evaluated if records is None else case.truth.evaluated[records]


def scores_part_by_part(case: Case, attack: Attack) -> np.ndarray:
    """(mock targets, asked records) scores, each part of the records as a pool of its own; rounded to float32.

    An attack that takes one target at a time would take too long: records beyond the sample have no score then.
    """
    parts = case.of(parts_of_records)
    mocks = case.mocks
    asked = case.truth.evaluated
    assert parts is not None
    assert mocks is not None
    # Whatever it asks for is made once, not for each part.
    mocks = replace(mocks, values=lazy_matrices(mocks.values, mocks.target))
    scores = np.full(mocks.member.shape, np.nan, dtype=np.float32)
    for part in parts if attack.rotates else parts[:1]:
        scores[:, as_slice(part)] = score_every_target(attack, mocks.take_records(part))
    return take_columns(scores, asked)
