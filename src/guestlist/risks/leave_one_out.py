"""Leave-one-out: the model's output for a record after training without it.

One training for each record, so this is for chosen records. Both models get the same seed, which for an estimator that draws
nothing leaves the record as the only difference; a network shuffles one record less, and differs by chance as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from guestlist.calling import query
from guestlist.checks import check_finite, check_readable, check_sides
from guestlist.collecting.engines.engine import Progress
from guestlist.collecting.readout import SignalExtractor
from guestlist.data import Data, as_data
from guestlist.errors import InputError
from guestlist.randomness import stream
from guestlist.risks.score import SMALLEST
from guestlist.targets import as_target


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
        model: a fitted scikit-learn-style model, or a target with a recipe; both models are trained by the recipe.
        members: the records it was trained on: ``(x, y)``, a table with a ``label`` column, or a path to one.
        rows: numbers of the chosen members, in the order given; or
        ids: their ids.
        label, id: columns of a table.
        repeats: how often both are trained, each time with another seed; signals are means over these.
        progress: wraps an iterable and takes ``total=``, as ``tqdm`` does.

    Returns:
        One row per chosen member: ``id``, ``label``, and for classifiers ``p_with`` and ``p_without``, the probability of the
        true label; ``leave_one_out``, their difference (differential training privacy: Long et al. 2017); ``sensitivity``, the
        logarithm of the modified entropy without the member over that with it (Song & Mittal 2021, Figure 7). For
        regressions ``error_with`` and ``error_without``, true value minus prediction; ``leave_one_out``, by how much the absolute
        error is larger without.
    """
    target = as_target(model)
    train = target.needs(
        "train", "Leaving records out takes training anew, and {name} has no recipe{why}. Give train=…."
    )
    data = target.fitting(as_data(members, side="members", label=label, id=id), "members")
    check_sides({"members": data}, target.classes)
    check_finite("members", data, target.predict)
    check_readable({"members": data}, target.predict)
    if repeats < 1:
        raise ValueError(f"Expected repeats={repeats} to be 1 or more.")
    if "p_y" not in target.scale.signal_names and target.scale.has_classes:
        raise InputError(
            f"{target.name} tells labels alone: what it says of a record changes by too little to be measured."
        )
    chosen = _chosen(data, rows, ids)
    said = query(target.predict, data.x)
    labels = target.labels_of(data.y)
    scale = target.scale.resolved(np.asarray(said, dtype=np.float64).reshape(len(data), target.columns), labels)
    extractor = SignalExtractor(labels, target.columns, scale)

    def signals(without: int | None, repeat: int, asked: np.ndarray) -> np.ndarray:
        """(signals, asked) of one model."""
        rng = stream(seed, "one less", repeat)
        kept = data.copied(np.arange(len(data)) if without is None else np.delete(np.arange(len(data)), without))
        name = "The model of all members" if without is None else f"The model without {data.ids[without]!r}"
        answers = extractor.train_and_query(name, partial(train, kept, rng), data.take(asked).x, rng)
        found = extractor.take(asked).signals(answers)
        return np.stack([found[signal] for signal in reads])

    reads = ("p_y", "mentr") if scale.has_classes else ("residual",)
    whole = np.mean([signals(None, repeat, chosen) for repeat in range(repeats)], axis=0)
    tasks: Iterable[int] = chosen.tolist()
    shown = tasks if progress is None else progress(tasks, total=len(chosen))
    parts = [np.mean([signals(i, repeat, np.array([i])) for repeat in range(repeats)], axis=0)[:, 0] for i in shown]
    told = {"id": data.ids[chosen], "label": data.y[chosen]}
    return pd.DataFrame({**told, **_columns(whole, np.array(parts).T, classes=scale.has_classes)})


def _columns(whole: np.ndarray, without: np.ndarray, *, classes: bool) -> dict[str, np.ndarray]:
    if not classes:
        change = np.abs(without[0]) - np.abs(whole[0])
        return {"error_with": whole[0], "error_without": without[0], "leave_one_out": change}
    entropy = np.log(np.maximum(without[1], SMALLEST)) - np.log(np.maximum(whole[1], SMALLEST))
    change = whole[0] - without[0]
    return {"p_with": whole[0], "p_without": without[0], "leave_one_out": change, "sensitivity": entropy}


def _chosen(data: Data, rows: Sequence[int] | None, ids: Sequence[Any] | None) -> np.ndarray:
    if (rows is None) == (ids is None):
        raise InputError("Whom shall it be trained without? Give rows=[0, 1, …], or ids=[…]: one training for each.")
    if ids is not None:
        names = list(map(str, data.ids))
        unknown = [one for one in map(str, ids) if one not in names]
        if unknown:
            raise InputError(f"No member has the id {unknown[0]!r}; there are such as {names[0]!r}.")
        return np.array([names.index(one) for one in map(str, ids)], dtype=np.int64)
    found = np.asarray(rows, dtype=np.int64)
    wrong = found[(found < 0) | (found >= len(data))]
    if len(wrong):
        raise InputError(f"There is no row {wrong[0]}: members have rows 0 to {len(data) - 1}.")
    return found
