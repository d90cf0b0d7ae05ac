"""Training of a target with its own recipe."""

import numpy as np

from guestlist._util import global_generators, integer, one_thread
from guestlist.data import as_data
from guestlist.models.input_checks import check_sides
from guestlist.models.target import Target, model_code


def train_target(target: Target, members, *, label: str | None = None, seed: int = 0) -> Target:
    """Train a target on its members with its own recipe, from new random parameters.

    Reference models are trained in the same way. The trained target keeps the recipe.

    Args:
        target: Target with a training recipe, such as ``torch_target(module, train=Fit())``.
        members: Training records: ``(x, y)``, a table with a ``label`` column, or a path to one.
        label: Label column of the table.
        seed: Random seed.

    Returns:
        The trained target, for ``audit`` and the other entry points.

    Raises:
        InputError: If the target has no training recipe, or does not fit the records.
        ValueError: If the seed is out of range.

    Examples:
        >>> import torch
        >>> _, members, nonmembers = gl.testing.small_model()
        >>> target = gl.torch_target(torch.nn.Linear(20, 2), train=gl.defences.Fit(epochs=2))
        >>> trained = gl.models.train_target(target, members, seed=1)
        >>> results = gl.audit(trained, members, nonmembers, references=4, attacks=["loss"], baseline=False, jobs=1)
        >>> results.references.count
        4
    """
    rng = np.random.default_rng(integer("seed", seed))
    retrain = target.needs("retrain")
    records = target.fitting(as_data(members, side="members", label=label, group=(), id=None, person=None), "members")
    check_sides({"members": records}, target.classes)
    with one_thread(), global_generators(rng), model_code():
        return retrain(None, records.copied(), rng)
