"""Tables 3 and 6, Figures 3, 8 and 11 on classes of unequal difficulty.

Texas100 has classes of very different difficulty, Location30 has not. Noisy labels make half of the classes of Location30
harder. The control has the same amount of noise in all classes.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from papers.systematic_evaluation.calibrations import Calibrated
from papers.systematic_evaluation.class_gaps import Gaps
from papers.systematic_evaluation.confident import Calls
from papers.systematic_evaluation.data import Records
from papers.systematic_evaluation.difficulty import with_noise
from papers.systematic_evaluation.pairs import HALF, SHADOW, Study
from papers.systematic_evaluation.recipe import recipe
from papers.systematic_evaluation.thresholds import Trained


def uneven(
    study: Study, records: Records, cache: Path, *, repeats: int
) -> tuple[list[Trained], list[Calibrated], list[Gaps], list[Calls]]:
    """Return the rows of each table and figure on both changes of the records, without a defence."""
    tables: tuple[list[Trained], list[Calibrated], list[Gaps], list[Calls]] = ([], [], [], [])
    for name, changed in with_noise(records).items():
        undefended = replace(
            study, name=named(study.name, name), defences=(), steps=(study.epochs,), sources=(SHADOW, HALF)
        )
        parts = recipe(undefended, changed, cache / name.replace(" ", "-"), repeats=repeats)
        for table, rows in zip(tables, parts, strict=True):
            table.extend(rows)
    return tables


def named(study: str, change: str) -> str:
    """Return the name of a study on changed records."""
    return f"{study}, {change}"
