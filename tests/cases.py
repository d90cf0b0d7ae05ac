"""Cases to judge, made of worlds whose answer is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from guestlist import Case, Results
from guestlist._audit.evaluate import evaluate
from guestlist._case import Setting, Truth, score
from guestlist._findings.selection import stand_in_targets
from guestlist._views import Rotation
from guestlist.attacks import ATTACKS
from worlds import gaussian_simulation

SOME = ("loss", "entropy", "lira_bayes")


def case_of(world: Rotation, names=SOME, population: int = 0, **changes) -> Case:
    """The first model of a world as the target; its last records are a population."""
    records = len(world.labels)
    ids = [f"r{i}" for i in range(records)]
    table = pd.DataFrame({"id": ids, "label": world.labels.astype(str), "class": world.labels})
    table["group_half"] = np.where(np.arange(records) < records / 2, "first", "second")
    truth = Truth(world.member[0].copy(), np.arange(records) < records - population)
    setting = Setting("a model", 2, "logits", fingerprints={"data": "d", "seed": "0"})
    stand_ins = stand_in_targets(world) if len(world.member) > 2 else None
    case = Case(world.facing(0), truth, table, stand_ins, {name: ATTACKS[name] for name in names}, setting)
    return replace(case, **changes).scored()


def judge(case: Case) -> Results:
    """Run the attacks of a case and evaluate their scores."""
    return evaluate(case, score(case.view, case.attacks))


def leaking(records: int = 400, models: int = 11, **changes) -> Case:
    return case_of(gaussian_simulation(1.5, records=records, models=models, seed=1), **changes)


def with_signals(case: Case, **signals: np.ndarray) -> Case:
    """The same case in which the target says something else."""
    values = {name: matrix.copy() for name, matrix in case.view.values.items()}
    for name, row in signals.items():
        values[name][0] = row
    return replace(case, view=replace(case.view, values=values)).scored()


def regression(records: int = 200) -> Case:
    """A target that answers with a number: members' residuals are half as large."""
    rng = np.random.default_rng(0)
    member, y = np.arange(records) < records // 2, rng.normal(10, 2, records)
    residual = rng.normal(size=(1, records)) * np.where(member, 0.5, 1.0)
    world = Rotation({"residual": residual, "loss": residual**2}, member[None], np.zeros(records, int))
    case = case_of(world, ("loss",))
    return replace(
        case, records=case.records.assign(label=y.astype(str)), setting=replace(case.setting, classes=0, scale="values")
    )
