"""The models of a configuration: targets, references that serve them all, and models distilled from each target.

One audit folder per target, so that a run that was stopped resumes. All targets draw their members from one pool. The
references are trained in the first target's folder; the others use the same outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np

import guestlist as gl
from papers.hypothesis_tests.configurations import Configuration

FOLDER = Path("audits") / "papers" / "hypothesis_tests"


def collect(
    name: str,
    configuration: Configuration,
    *,
    targets: int,
    models: int,
    left_out: gl.evidence.LeftOut | None = None,
    folder: Path = FOLDER,
    jobs: int = -1,
    progress: Callable[..., Iterable] | None = None,
) -> list[gl.Case]:
    """Train the missing models and return the targets.

    Args:
        models: number of references, and of distilled models per target.
        left_out: whether to also train models without single records, for the first target.
    """
    x, y = configuration.dataset()
    drawn = np.random.default_rng(0).choice(len(y), configuration.pool, replace=False)
    pool = gl.Data(x[drawn], y[drawn], np.array([f"{name} {i}" for i in drawn], dtype=object))
    cases: list[gl.Case] = []
    for t in range(targets):
        target_folder = folder / name.replace(" ", "_") / f"target-{t}"
        evidence = [gl.evidence.Distilled(models=models, records="pool")]
        evidence += [left_out] if left_out and t == 0 else []
        sides = _sides(pool, configuration.members, t)
        references = models if t == 0 else 0
        target = _trained(configuration, sides[0], t)
        options = {"folder": target_folder, "jobs": jobs, "progress": progress}
        case = gl.collect(target, *sides, references=references, evidence=evidence, **options)
        cases.append(_borrowing(case, cases[0] if cases else case))
    return cases


def _sides(pool: gl.Data, members: int, t: int) -> list[gl.Data]:
    order = np.random.default_rng([1, t]).permutation(len(pool))
    return [pool.take(part) for part in np.split(order, [members, 2 * members])]


def _trained(configuration: Configuration, members: gl.Data, t: int) -> gl.Target:
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # identical results on every machine and in every run
    module = configuration.fit(configuration.network(), members, np.random.default_rng([2, t]))
    torch.set_num_threads(threads)
    return gl.torch_target(module, train=configuration.fit)


def _borrowing(case: gl.Case, first: gl.Case) -> gl.Case:
    """Return the case with the first case's references, reordered to its own records."""
    ids, first_ids = case.records["id"].to_numpy(), first.records["id"].to_numpy()
    order = np.argsort(first_ids)[np.searchsorted(first_ids, ids, sorter=np.argsort(first_ids))]
    view = first.view
    values = {name: view.reference(name)[:, order] for name in view.values}
    models = gl.attacks.ModelsView(values, view.reference_member[:, order])
    return replace(case, view=case.view.with_references(models))
