"""Tables 3 and 6, Figures 3 and 8 on Location30 models with the public recipe (``papers.location``).

Thresholds and risk scores come from shadow models of 1,000 or of 500 members, or from half of the target's own records.
"""

from __future__ import annotations

from pathlib import Path

from papers.systematic_evaluation.calibrations import Calibrated, validation
from papers.systematic_evaluation.class_gaps import Gaps, class_gaps
from papers.systematic_evaluation.confident import Calls, confident
from papers.systematic_evaluation.data import Records
from papers.systematic_evaluation.pairs import Study
from papers.systematic_evaluation.thresholds import Trained, comparison


def recipe(
    study: Study, records: Records, cache: Path, *, repeats: int
) -> tuple[list[Trained], list[Calibrated], list[Gaps], list[Calls]]:
    """Return the rows of Table 3, Figure 3, Figure 8 and Table 6; the models are trained once."""
    return (
        *comparison(study, records, cache, repeats=repeats),
        *validation(study, records, cache, repeats=repeats),
        *class_gaps(study, records, cache, repeats=repeats),
        *confident(study, records, cache, repeats=repeats),
    )
