"""Keys and codes that were renamed on purpose since the expected numbers were written.

``PATHS`` holds pairs ``(pattern, replacement)`` for :func:`re.sub` on the whole path of an expected number, for example
``(r"^results\\.blind\\b", "results.baseline")``. ``VALUES`` holds pairs of a code and its new name. Every entry belongs into the
changelog. ``python -m tests.corpus --update`` writes the new names; the entries can then be removed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

PATHS: tuple[tuple[str, str], ...] = (
    # comparisons
    (r"^(outcome\.pairs\.\d+)\.moved\b", r"\1.risk_changes"),
    # model-free baseline
    (r"^results\.blind\.looked_at\b", "results.baseline.inputs"),
    (r"^results\.blind\.spread\b", "results.baseline.permutation_std"),
    (r"^results\.blind\b", "results.baseline"),
    (r"^results\.beyond_blind\b", "results.gain_over_baseline"),
    (r"^(results\.checks\.\d+\.figures)\.looked_at\b", r"\1.inputs"),
    # predictive value of risks
    (r"^(results\.risks\.\d+)\.called\b", r"\1.flagged"),
    (r"^results\.gain_over_baseline\.gain\b", "results.gain_over_baseline.difference"),
    (r"^results\.gain_over_baseline\.(members|nonmembers)\b", r"results.gain_over_baseline.n_\1"),
    (r"^results\.adjusted\.left\b", "results.adjusted.baseline_auc"),
    # findings
    (r"^results\.standing\b", "results.exposure_summary"),
    (r"^results\.false_alarms\b", "results.per_record_fpr"),
    (r"^(results\.per_record_fpr\.\d+)\.spread\b", r"\1.std"),
    (r"^results\.risk_spread\.spreads\b", "results.risk_distribution.quantiles"),
    (r"^results\.risk_spread\b", "results.risk_distribution"),
    (r"^(results\.(?:group_risks|risk_distribution)\..*)\bof\b", r"\1values"),
    (r"^results\.(headline|file_holder)\.mocks\b", r"results.\1.stand_ins"),
    (r"^(results\.hypothesis_tests\..*)\bleast_fpr\b", r"\1adjusted_fpr_low"),
    (r"^(results\.epsilon|outcome\.\d+)\.together$", r"\1.records_per_person"),
    (r"^(results\.epsilon|outcome\.\d+)\.apart$", r"\1.not_exchangeable"),
    (r"^(results\.epsilon|outcome\.\d+)\.believed$", r"\1.bayesian"),
    (r"^results\.sampling\.tried_on\b", "results.sampling.attack_sample"),
    (r"^results\.sampling\.shifted\b", "results.sampling.cyclic_shifts"),
    (r"^results\.sampling\.(mu|classes)_learnt_on\b", r"results.sampling.\1_fitted_on"),
    (r"^results\.subject\.always\b", "results.subject.always_members"),
    (r"^results\.(exposed\.\d+|exposure)\.listed\b", r"results.\1.flagged"),
    (r"^results\.exposure\.again\b", "results.exposure.rate_in_models"),
    (r"^results\.exposure\.without\b", "results.exposure.rate_out_models"),
    (r"^(results\.exposed_persons\.\d+)\.place\b", r"\1.mean_rank"),
    (r"^(results\.outcomes\.\d+)\.who\b", r"\1.attacker_needs"),
    (r"^(results\.gate\.verdicts\.\d+)\.settled_by\b", r"\1.sample_size_needed"),
    (r"^(results\.gate\.verdicts\.\d+)\.pushing\b", r"\1.drivers"),
    (r"^(results\.checks\.\d+\.figures)\.surer\b", r"\1.margin_shift"),
    (r"^(results\.checks\.\d+\.figures)\.steeper\b", r"\1.margin_slope"),
    (r"^(results\.checks\.\d+\.figures)\.farther\b", r"\1.margin_dispersion"),
    (r"^(results\.checks\.\d+\.figures)\.twins\b", r"\1.duplicates"),
    (r"^(results\.checks\.\d+\.figures)\.asked\b", r"\1.evaluated"),
    (r"^(results\.checks\.\d+\.figures)\.left_out\b", r"\1.removed"),
    (r"^(results\.checks\.\d+)\.figures\b", r"\1.values"),
    (r"^(results\.gate\.(?:checks|demands)\.\d+)\.figures\b", r"\1.values"),
    (r"^(results\.gate\.verdicts\.\d+\.limit)\.most\b", r"\1.maximum"),
    # comparisons, experiments and defences
    (r"^outcome\.table\.(accuracy|auc|tpr)_(low|high)\b", r"outcome.table.\1_change_\2"),
    (r"^(outcome\.(?:pairs\.\d+\.)?differences\.\d+)\.what\b", r"\1.metric"),
    (r"^(outcome\.(?:pairs\.\d+\.)?differences\.\d+)\.of\b", r"\1.scope"),
    (r"^(outcome\.points\.\d+)\.figure\b", r"\1.metric"),
    # table of records
    (r"^records\.listed\b", "records.flagged"),
    (r"^records\.false_alarms\b", "records.per_record_fpr"),
    (r"^records\.called_again\b", "records.per_record_tpr"),
)
VALUES: Mapping[str, str] = {
    "everybody": "all_members",  # risk that flags every member
    "full_answers": "full_outputs",  # evidence
}


def renamed(expected: Mapping[str, Any], computed: Mapping[str, Any]) -> dict[str, Any]:
    """Return expected numbers under their present names; a path that is still there keeps its name."""
    changed = {}
    for path, value in expected.items():
        if path not in computed:
            for pattern, replacement in PATHS:
                path = re.sub(pattern, replacement, path)
        changed[path] = VALUES.get(value, value) if isinstance(value, str) else value
    return changed
