"""Preview of a deletion request: members that become more exposed when others are removed."""

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

ATTACK = "lira_bayes"
FPR = 0.05


def forgetting(case: Case, ids: Sequence[str]) -> pd.DataFrame:
    """Return one row per pair of a leaving and a staying member, those that become most exposed first.

    ``exposed`` is the increase in the probability that the attack, at a 5 % false positive rate, is right about the staying
    record in references that did not train on the leaving one. ``p_value`` is for a single pair, and ``p_adjusted`` for all
    pairs (Benjamini & Hochberg 1995); NaN where there are too few references.
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
    flagged = np.stack([flags_at_fpr(row, truth, FPR) for row, truth in zip(scores, member, strict=True)])
    effect = privacy_influence(flagged, member, leaving)
    pairs = pd.DataFrame(
        {
            "leaving": np.tile(names[leaving], len(staying)),
            "staying": np.repeat(names[staying], len(leaving)),
            "exposed": -effect.raised[staying].ravel(),
            "p_value": effect.p_value[staying].ravel(),
        }
    )
    tested = pairs["p_value"].notna()
    pairs["p_adjusted"] = np.nan
    if tested.any():
        pairs.loc[tested, "p_adjusted"] = false_discovery_control(pairs.loc[tested, "p_value"])
    by = {"exposed": False, "p_value": True, "staying": True, "leaving": True}
    return pairs.sort_values([*by], ascending=[*by.values()], kind="stable", ignore_index=True)
