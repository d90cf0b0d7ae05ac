"""Influence of members on each other, deletion previews, and leave-one-out retraining."""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import stdtr
from scipy.stats import false_discovery_control

from guestlist._case import Case
from guestlist._collect import Progress, SignalExtractor
from guestlist._util import integer, stream
from guestlist.attacks import ATTACKS, score_every_target
from guestlist.data import Data
from guestlist.errors import InputError
from guestlist.metrics import flags_at_fpr
from guestlist.models import as_target, query
from guestlist.risks.model_internal import checked_records
from guestlist.risks.score import SMALLEST


class Influence(NamedTuple):
    """Effects (records, chosen) of a chosen record's membership on the values of a record, and p-values.

    The p-value is of Student's two-sided test for a single pair. Both are NaN without IN or without OUT models; the p-value
    also if models do not differ, or are fewer than three.
    """

    raised: np.ndarray
    p_value: np.ndarray


def membership_influence(values: np.ndarray, member: np.ndarray, chosen: np.ndarray) -> Influence:
    """Estimate the effect of training on chosen records on all records (Feldman & Zhang 2020).

    It is the mean over models that trained on a chosen record minus that over the others. A record's influence on itself is
    memorisation; for margins, the numerator of mu.

    Args:
        values: (models, records), such as the references' ``correct`` or ``margin``. NaN: not queried.
        member: (models, records) true where a model trained on a record.
        chosen: Indices of the records whose effect is estimated.
    """
    known = ~np.isnan(values)
    with np.errstate(invalid="ignore"):  # 0 / 0: no model was queried on a record
        centre = np.where(known, values, 0.0).sum(axis=0) / known.sum(axis=0)
    x = np.where(known, values - centre, 0.0)  # large means would cause cancellation in the squares
    inside = member[:, chosen].astype(np.float64)
    queried = known.astype(np.float64)
    n_in = queried.T @ inside
    n_out = queried.sum(axis=0)[:, None] - n_in
    sum_in = x.T @ inside
    sum_out = x.sum(axis=0)[:, None] - sum_in
    with np.errstate(invalid="ignore", divide="ignore"):  # no IN or no OUT models, or models that do not differ
        mean_in = sum_in / n_in
        mean_out = sum_out / n_out
        within = np.square(x).sum(axis=0)[:, None] - n_in * mean_in**2 - n_out * mean_out**2
        dof = n_in + n_out - 2
        # Rounding can turn a variance of 0 into a tiny positive one.
        within = np.where(within > 1e-12 * np.square(x).sum(axis=0)[:, None], within, np.nan)
        t = (mean_in - mean_out) / np.sqrt(within / dof * (1 / n_in + 1 / n_out))
        p_value = np.where(dof > 0, 2 * stdtr(dof, -np.abs(t)), np.nan)
    return Influence(mean_in - mean_out, p_value)


def privacy_influence(flagged: np.ndarray, member: np.ndarray, chosen: np.ndarray) -> Influence:
    """Estimate the effect of chosen records on an attack's accuracy (Carlini et al. 2022b).

    The effect on a record is negative where it becomes more exposed when the chosen one is removed: the onion effect.

    Args:
        flagged: (models, records) 1 where the attack flags a record as a member of the model, 0 where not, NaN: no score.
        member: (models, records) true where a model trained on a record.
        chosen: Indices of the records whose effect is estimated.
    """
    return membership_influence(np.where(np.isnan(flagged), np.nan, flagged == member), member, chosen)


ATTACK = "lira_bayes"
FPR = 0.05


def forgetting(case: Case, ids: Sequence[str]) -> pd.DataFrame:
    """Preview the effect of removing members on the exposure of those that stay.

    Args:
        case: An audit with reference models.
        ids: Ids of the members to remove.

    Returns:
        One row per pair of a leaving and a staying member, those that become most exposed first. ``exposed`` is the increase in
        the probability that the attack, at a 5% false positive rate, is right about the staying record in references that did
        not train on the leaving one. ``p_value`` is for a single pair, and ``p_adjusted`` for all pairs (Benjamini & Hochberg
        1995); NaN with too few references.

    Raises:
        InputError: If the audit has no reference models, or an id is not that of a member.
    """
    if case.stand_ins is None or case.setting.predictions or "margin" not in case.stand_ins.values:
        raise InputError(
            "A preview of forgetting needs reference models that were compared on single records, and this audit has "
            "none. Audit again with references= (--references)."
        )
    names = case.records["id"].astype(str).to_numpy()
    members = np.flatnonzero(case.truth.member & case.truth.evaluated)
    unknown = sorted(set(ids) - set(names[members]))
    if unknown:
        raise InputError(
            f"No member has the id {' or '.join(unknown)}. Check ids= (--ids): the id of a member is, for example, "
            f"{names[members[0]]}."
        )
    leaving = members[np.isin(names[members], list(ids))]
    staying = np.setdiff1d(members, leaving)
    member = case.stand_ins.member
    targets = zip(score_every_target(ATTACKS[ATTACK], case.stand_ins), member, strict=True)
    flagged = np.stack([flags_at_fpr(scores, truth, FPR) for scores, truth in targets])
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


def leave_one_out(
    model,
    members,
    *,
    rows: Sequence[int] | None = None,
    ids: Sequence[Any] | None = None,
    label: str | None = None,
    id: str | None = None,
    repeats: int = 1,
    seed: int = 0,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Compare the model trained on all members with models trained without chosen members.

    Args:
        model: A fitted scikit-learn-style model, or a target with a training recipe; both models are trained by the recipe.
        members: The records it was trained on: ``(x, y)``, a table with a ``label`` column, or a path to one.
        rows: Row numbers of the chosen members; or
        ids: Their ids.
        label, id: Columns of a table.
        repeats: Number of trainings of both models, each with a different seed; signals are means over these.
        seed: Random seed.
        progress: Function that wraps an iterable and takes ``total=``, as ``tqdm`` does.

    Returns:
        One row per chosen member: ``id``, ``label``, and for classifiers ``p_with`` and ``p_without``, the probability of the
        true label; ``leave_one_out``, their difference (differential training privacy: Long et al. 2017); ``sensitivity``, the
        logarithm of the modified entropy without the member over that with it (Song & Mittal 2021, Figure 7). For
        regressions ``error_with`` and ``error_without``, true value minus prediction; ``leave_one_out``, the increase of the
        absolute error without the member.

    Raises:
        InputError: If the model cannot be trained again, outputs only labels, or a chosen member does not exist.
        ValueError: If ``repeats`` is less than 1.
    """
    target = as_target(model)
    train = target.needs(
        "train", "Leave-one-out retrains the model, but {name} has no training recipe{why}. Pass train=."
    )
    data = checked_records(target, {"members": members}, label=label, id=id)["members"]
    integer("repeats", repeats, 1)
    if "p_y" not in target.scale.signal_names and target.scale.has_classes:
        raise InputError(
            f"{target.name} predicts only labels, so the effect of one record on its outputs cannot be measured. Use a "
            "model with probabilities."
        )
    chosen = _chosen(data, rows, ids)
    outputs = query(target.predict, data.x)
    labels = target.labels_of(data.y)
    scale = target.scale.resolved(np.asarray(outputs, dtype=np.float64).reshape(len(data), target.columns), labels)
    extractor = SignalExtractor(labels, target.columns, scale)

    signal_names = ("p_y", "mentr") if scale.has_classes else ("residual",)

    def signals(without: int | None, repeat: int, queried: np.ndarray) -> np.ndarray:
        """Return (signals, queried) values of one model, trained on all members or without one of them."""
        rng = stream(seed, "one less", repeat)
        rows = np.arange(len(data))
        name = "The model of all members"
        if without is not None:
            rows = np.delete(rows, without)
            name = f"The model without {data.ids[without]!r}"
        outputs = extractor.train_and_query(name, partial(train, data.copied(rows), rng), data.take(queried).x, rng)
        values = extractor.take(queried).signals(outputs)
        return np.stack([values[signal] for signal in signal_names])

    with_all = np.mean([signals(None, repeat, chosen) for repeat in range(repeats)], axis=0)
    omitted: Iterable[int] = chosen.tolist()
    if progress is not None:
        omitted = progress(omitted, total=len(chosen))
    without = [np.mean([signals(i, repeat, np.array([i])) for repeat in range(repeats)], axis=0)[:, 0] for i in omitted]
    after = np.array(without).T
    table = pd.DataFrame({"id": data.ids[chosen], "label": data.y[chosen]})
    if not scale.has_classes:
        change = np.abs(after[0]) - np.abs(with_all[0])
        return table.assign(error_with=with_all[0], error_without=after[0], leave_one_out=change)
    entropy = np.log(np.maximum(after[1], SMALLEST)) - np.log(np.maximum(with_all[1], SMALLEST))
    change = with_all[0] - after[0]
    return table.assign(p_with=with_all[0], p_without=after[0], leave_one_out=change, sensitivity=entropy)


def _chosen(data: Data, rows: Sequence[int] | None, ids: Sequence[Any] | None) -> np.ndarray:
    if (rows is None) == (ids is None):
        raise InputError("No record to remove is named. Pass rows=[0, 1, …] or ids=[…]; each takes one training.")
    if ids is not None:
        names = list(map(str, data.ids))
        unknown = [name for name in map(str, ids) if name not in names]
        if unknown:
            raise InputError(f"No member has the id {unknown[0]!r}. Ids look like {names[0]!r}.")
        return np.array([names.index(name) for name in map(str, ids)], dtype=np.int64)
    positions = np.asarray(rows, dtype=np.int64)
    wrong = positions[(positions < 0) | (positions >= len(data))]
    if len(wrong):
        raise InputError(f"There is no row {wrong[0]}. Members have the rows 0 to {len(data) - 1}.")
    return positions
