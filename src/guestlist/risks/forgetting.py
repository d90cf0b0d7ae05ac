"""A preview of a deletion request: about whom an attack is likelier right in models that were trained without someone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.stats import false_discovery_control

from guestlist.attacks import ATTACKS, score_every_target
from guestlist.case import Case
from guestlist.errors import InputError
from guestlist.evaluate import flags_at_fpr
from guestlist.risks.influence import privacy_influence

ATTACK, FPR = "lira_bayes", 0.05


def forgetting(case: Case, ids: Sequence[str]) -> pd.DataFrame:
    """One row per pair of a leaving and a staying member, those that become most exposed first.

    ``exposed`` is how much likelier the attack, calling at 5 % false alarms, is right about the staying record in references
    that did not train on the leaving one; ``p_value`` of this pair alone, and ``p_adjusted`` for the number of pairs
    (Benjamini & Hochberg 1995), NaN where references do not tell.
    """
    if case.mocks is None or case.setting.predictions or "margin" not in case.mocks.values:
        raise InputError(
            "A preview of forgetting needs references, and this audit has none that are compared on one record."
        )
    names = case.records["id"].astype(str).to_numpy()
    members = np.flatnonzero(case.truth.member & case.truth.evaluated)
    unknown = sorted(set(ids) - set(names[members]))
    if unknown:
        raise InputError(f"Expected ids of members, found {', '.join(unknown)}.")
    leaving = members[np.isin(names[members], list(ids))]
    staying = np.setdiff1d(members, leaving)
    member = case.mocks.member
    scores = score_every_target(ATTACKS[ATTACK], case.mocks)
    called = np.stack([flags_at_fpr(row, truth, FPR) for row, truth in zip(scores, member, strict=True)])
    found = privacy_influence(called, member, leaving)
    pairs = pd.DataFrame(
        {
            "leaving": np.tile(names[leaving], len(staying)),
            "staying": np.repeat(names[staying], len(leaving)),
            "exposed": -found.raised[staying].ravel(),
            "p_value": found.p_value[staying].ravel(),
        }
    )
    told = pairs["p_value"].notna()
    pairs["p_adjusted"] = np.nan
    if told.any():
        pairs.loc[told, "p_adjusted"] = false_discovery_control(pairs.loc[told, "p_value"])
    by = {"exposed": False, "p_value": True, "staying": True, "leaving": True}
    return pairs.sort_values([*by], ascending=[*by.values()], kind="stable", ignore_index=True)
