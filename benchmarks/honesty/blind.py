"""Is the blind baseline honest? ``python -m benchmarks.honesty.blind [WORLD …]``, a minute or two per world.

Worlds in which members and non-members are of one source, where it may be flagged in one of twenty; worlds in which they are
not, where an audit of a model that saw neither must not say "Yes"; and whether what is called the smallest difference that would
have been seen is seen four times in five. Worlds that are named are run anew, and the others keep their figures in blind.json.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import guestlist as gl
from guestlist.blind.baseline import Blind, blind
from guestlist.datasets import load
from guestlist.report.sections.answer import answer

FOUND = Path(__file__).with_suffix(".json")
VISITS = 10


@dataclass(frozen=True)
class Sides:
    """Records of both sides, members where ``member`` is true."""

    x: Any
    y: np.ndarray
    member: np.ndarray
    persons: np.ndarray | None = None


@cache
def adult() -> tuple[pd.DataFrame, np.ndarray]:
    table = load("adult").drop(columns="split", errors="ignore")
    return table.drop(columns="income"), table["income"].to_numpy()


# -- one source ---------------------------------------------------------------------------------------------------------


def people(members: int, nonmembers: int, rng: np.random.Generator) -> Sides:
    """People of the census, dealt out at random."""
    x, y = adult()
    rows = rng.choice(len(y), members + nonmembers, replace=False)
    return Sides(x.iloc[rows].reset_index(drop=True), y[rows], np.arange(len(rows)) < members)


def persons(each: int, by_record: bool, rng: np.random.Generator) -> Sides:
    """Persons with one to ten visits that are alike (ICC .5), dealt out by person or by visit."""
    visits = rng.integers(1, VISITS + 1, 2 * each)
    whose = np.repeat(np.arange(2 * each), visits)
    x = np.sqrt(0.5) * (rng.normal(size=(2 * each, 6))[whose] + rng.normal(size=(len(whose), 6)))
    y = (rng.normal(size=2 * each)[whose] + rng.normal(size=len(whose)) > 0).astype(int)
    member = rng.random(len(whose)) < 0.5 if by_record else whose < each
    return Sides(x, y, member, whose.astype(str))


def repeated(each: int, copies: int, rng: np.random.Generator) -> Sides:
    """Members that stand there several times each, to weigh more."""
    rows = np.r_[np.repeat(np.arange(each), copies), np.arange(each, 2 * each)]
    x, y = rng.normal(size=(2 * each, 5)), rng.integers(2, size=2 * each)
    return Sides(x[rows], y[rows], rows < each)


def few_values(members: int, nonmembers: int, rng: np.random.Generator) -> Sides:
    """Three questions answered yes or no: most records are equal to another by accident."""
    records = members + nonmembers
    x = (rng.random((records, 3)) < 0.25).astype(int)
    return Sides(x, rng.integers(2, size=records), np.arange(records) < members)


ONE_SOURCE: dict[str, tuple[Callable[[np.random.Generator], Sides], int]] = {
    "adult 50 + 50": (partial(people, 50, 50), 400),
    "adult 200 + 200": (partial(people, 200, 200), 200),
    "adult 300 + 60": (partial(people, 300, 60), 600),
    "30 + 30 persons, by person": (partial(persons, 30, False), 200),
    "60 persons, by visit": (partial(persons, 30, True), 200),
    "100 + 100, members three times": (partial(repeated, 100, 3), 300),
    "few values, 300 + 60": (partial(few_values, 300, 60), 300),
}


def judged(sides: Sides, rng: np.random.Generator) -> Blind:
    found = blind(sides.x, sides.y, sides.member, sides.persons, rng=rng)
    assert found is not None
    return found


def one_source(name: str, repeats: int | None = None) -> dict:
    """How often the baseline is flagged where there is nothing to see."""
    draw, usual = ONE_SOURCE[name]
    rngs = [np.random.default_rng([9, k]) for k in range(repeats or usual)]
    found = [judged(draw(rng), rng) for rng in rngs]
    flagged = float(np.mean([one.told for one in found]))
    return {
        "repeats": len(found),
        "flagged": round(flagged, 4),
        "at_most": round(0.05 + 2 * float(np.sqrt(0.05 * 0.95 / len(found))), 4),
        "auc": round(float(np.mean([one.auc for one in found])), 4),
        "smallest_seen": round(float(np.mean([one.detectable_auc for one in found])), 4),
    }


# -- two kinds ----------------------------------------------------------------------------------------------------------

KINDS: dict[str, tuple[Callable[[pd.DataFrame], pd.Series], tuple[str, ...]]] = {
    "women against men": (lambda x: x["sex"].astype(str).str.strip() == "Female", ()),
    "women against men, column left out": (lambda x: x["sex"].astype(str).str.strip() == "Female", ("sex",)),
    "age <= 30 against others": (lambda x: x["age"] <= 30, ()),
    "age <= 30 against others, column left out": (lambda x: x["age"] <= 30, ("age",)),
}
AUDITS = 40


def model_of(x: pd.DataFrame, y: np.ndarray):
    words = make_column_selector(dtype_exclude="number")
    encoded = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), words), remainder=StandardScaler())
    return make_pipeline(encoded, LogisticRegression(max_iter=500)).fit(x, y)


def two_kinds(name: str, repeats: int = AUDITS, each: int = 200) -> dict:
    """How often an audit of a model that saw neither side says "Yes", with the baseline and without."""
    of_kind, left_out = KINDS[name]
    x, y = adult()
    kind, x = of_kind(x).to_numpy(), x.drop(columns=list(left_out))
    yes, without, found = [], [], []
    for k in range(repeats):
        rng = np.random.default_rng([19, k])
        rows = rng.permutation(len(y))
        train, rest = rows[:2000], rows[2000:]
        sides = [rest[kind[rest] == side][:each] for side in (True, False)]
        results = gl.audit(
            model_of(x.iloc[train], y[train]),
            *((x.iloc[side].reset_index(drop=True), y[side]) for side in sides),
            references=0,
            seed=k,
            jobs=1,
            duplicates="drop",
            ignore=("GL119",),  # what is expected need not be said in every round
        )
        assert results.blind is not None
        yes.append(answer(results).startswith("Yes"))
        without.append(answer(replace(results, blind=None)).startswith("Yes"))
        found.append(results.blind)
    return {
        "audits": repeats,
        "members": each,
        "says_yes": float(np.mean(yes)),
        "would_say_yes_without_it": round(float(np.mean(without)), 4),
        "flagged": round(float(np.mean([one.told for one in found])), 4),
        "auc": round(float(np.mean([one.auc for one in found])), 4),
        "smallest_seen": round(float(np.mean([one.detectable_auc for one in found])), 4),
    }


# -- the smallest difference that is seen -------------------------------------------------------------------------------

SHIFTS = (0.0, 0.4, 0.6, 0.8, 1.0)


def shifted(each: int, shift: float, rng: np.random.Generator) -> Sides:
    """Ten columns of which one is larger for members."""
    member = np.arange(2 * each) < each
    x = rng.normal(size=(2 * each, 10))
    x[member, 2] += shift
    return Sides(x, rng.integers(2, size=2 * each), member)


def smallest_seen(each: int = 100, repeats: int = 50, shifts: tuple[float, ...] = SHIFTS) -> dict:
    """The share of worlds that are flagged, read off where the classifier's AUC is what is called the smallest seen."""
    rows = []
    for shift in shifts:
        rngs = [np.random.default_rng([29, k]) for k in range(repeats)]
        found = [judged(shifted(each, shift, rng), rng) for rng in rngs]
        means = [float(np.mean(v)) for v in zip(*((f.auc, f.told, f.detectable_auc) for f in found), strict=True)]
        rows.append(dict(zip(("auc", "flagged", "smallest_seen"), (round(v, 4) for v in means), strict=True)))
    called = float(np.mean([row["smallest_seen"] for row in rows]))
    assert rows[0]["auc"] < called < rows[-1]["auc"], "read off between shifts, never beyond them"
    power = np.interp(called, [row["auc"] for row in rows], [row["flagged"] for row in rows])
    shown = [{"shift": shift, **row} for shift, row in zip(shifts, rows, strict=True)]
    return {"repeats": repeats, "members": each, "flagged_there": round(float(power), 4), "shifts": shown}


def cost() -> dict:
    """Seconds of one core for 2,000 + 2,000 records of the census."""
    times = {}
    for name, kind in {"one source": None, "women against men": "sex"}.items():
        rng = np.random.default_rng(0)
        sides = people(2000, 2000, rng)
        if kind:
            sides = replace(sides, member=(sides.x["sex"].astype(str).str.strip() == "Female").to_numpy())
        start = time.process_time()
        judged(sides, rng)
        times[name] = round(time.process_time() - start, 1)
    return {"seconds": times}


WORLDS: dict[str, Callable[[], dict]] = {
    **{name: partial(one_source, name) for name in ONE_SOURCE},
    **{name: partial(two_kinds, name) for name in KINDS},
    "smallest seen": smallest_seen,
    "cost": cost,
}


def main(names: list[str]) -> None:
    found = json.loads(FOUND.read_text("utf-8"))["worlds"] if FOUND.exists() else {}
    for name in names or WORLDS:
        found[name] = WORLDS[name]()
        print(f"{name:44} {found[name]}", flush=True)
        content = {
            "command": "python -m benchmarks.honesty.blind",
            "worlds": {name: found[name] for name in WORLDS if name in found},
        }
        FOUND.write_text(json.dumps(content, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
