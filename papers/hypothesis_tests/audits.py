"""The models of a configuration: targets, references that serve them all, and models distilled from each target.

One audit folder per target, so that a run that was stopped goes on where it was. All targets draw their members from
one pool. The references are trained in the first target's folder; the others borrow what they said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import guestlist as gl
from guestlist.collecting.evidence.gathering import read_evidence
from guestlist.collecting.view import rotation_of
from guestlist.store import Store, open_store
from guestlist.views.evidence import ModelsView
from guestlist.views.signals import Signals
from papers.hypothesis_tests.configurations import Configuration

FOLDER = Path("audits") / "papers" / "hypothesis_tests"


@dataclass(frozen=True)
class Case:
    """One target as an attacker sees it, and the truth.

    Args:
        signals: of the target and its references; its evidence has the distilled models, and those trained
            without a record if they were collected.
        member: (records,) who trained it.
        asked: (records,) true for members and as many non-members; the rest is population.
        ids: (records,) names.
    """

    signals: Signals
    member: np.ndarray
    asked: np.ndarray
    ids: np.ndarray


def collect(
    name: str,
    configuration: Configuration,
    *,
    targets: int,
    models: int,
    left_out: gl.LeftOut | None = None,
    folder: Path = FOLDER,
    jobs: int = -1,
    progress: Callable[..., Iterable] | None = None,
) -> list[Case]:
    """Train whatever is missing and return the targets.

    Args:
        models: how many references, and how many distilled models per target.
        left_out: also train models without some records, for the first target.
    """
    x, y = configuration.dataset()
    drawn = np.random.default_rng(0).choice(len(y), configuration.pool, replace=False)
    pool = gl.Data(x[drawn], y[drawn], np.array([f"{name} {i}" for i in drawn], dtype=object))
    stores = []
    for t in range(targets):
        place = folder / name.replace(" ", "_") / f"target-{t}"
        evidence = [gl.Distilled(models=models, records="pool")]
        evidence += [left_out] if left_out and t == 0 else []
        sides = _sides(pool, configuration.members, t)
        references = models if t == 0 else 0
        target = _trained(configuration, sides[0], t)
        # The attacks are run below, with references that are borrowed; here one is enough.
        options = {"attacks": ["loss"], "folder": place, "jobs": jobs, "progress": progress}
        gl.audit(target, *sides, references=references, evidence=evidence, **options)
        stores.append(open_store(place))
    return [_case(store, stores[0]) for store in stores]


def _sides(pool: gl.Data, members: int, t: int) -> list[gl.Data]:
    order = np.random.default_rng([1, t]).permutation(len(pool))
    return [pool.take(part) for part in np.split(order, [members, 2 * members])]


def _trained(configuration: Configuration, members: gl.Data, t: int) -> gl.Target:
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # the same bits on every machine and in every run
    module = configuration.fit(configuration.network(), members.x, members.y, np.random.default_rng([2, t]))
    torch.set_num_threads(threads)
    return gl.torch_target(module, train=configuration.fit)


def _case(store: Store, first: Store) -> Case:
    pool = store.pool()
    asked, ids = store.asked(), pool["id"].to_numpy()
    signals = rotation_of(store, read_evidence(store)).facing(0).among(_borrowed(first, ids))
    return Case(signals, (pool["side"] == "members").to_numpy(), asked, ids)


def _borrowed(first: Store, ids: np.ndarray) -> ModelsView:
    """What the references said, with the records in another audit's order."""
    there = first.pool()["id"].to_numpy()
    order = np.argsort(there)[np.searchsorted(there, ids, sorter=np.argsort(there))]
    rotation = first.rotation()
    return ModelsView({name: values[1:] for name, values in rotation.values.items()}, rotation.member[1:]).take(order)
