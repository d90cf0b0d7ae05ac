"""Arguments for ``fit`` beyond features and labels, such as ``sample_weight``: the same for every reference model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from guestlist._util.validation import short_repr
from guestlist.errors import InputError

EXAMPLE = 'fit_params={"sample_weight": (members_weight, nonmembers_weight)}'


@dataclass(frozen=True)
class FitParams:
    """Arguments for ``fit``.

    Args:
        options: name to a value that is passed as it is.
        values: name to (records, …) values, of which each model gets those of its training records.
    """

    options: Mapping[str, Any] = field(default_factory=dict)
    values: Mapping[str, np.ndarray] = field(default_factory=dict)

    def take(self, records: np.ndarray) -> FitParams:
        """Return the arguments for some of the records."""
        return FitParams(self.options, {name: values[records] for name, values in self.values.items()})

    @property
    def arguments(self) -> dict[str, Any]:
        """All arguments, by the names under which ``fit`` takes them."""
        return {**self.options, **self.values}


def split_by_side(fit_params: Mapping[str, Any], sizes: Mapping[str, int]) -> dict[str, FitParams]:
    """Return the arguments for each set of records: members, non-members, and the population if there is one.

    Args:
        given: as the user wrote it. A tuple has one array per set, with one value per record; all else is passed as it is.
        sizes: name of each set to its number of records.
    """
    if not isinstance(fit_params, Mapping) or not all(isinstance(name, str) for name in fit_params):
        raise InputError(
            f"Expected fit_params={short_repr(fit_params)} to be a dict with names of arguments of fit: {EXAMPLE}."
        )
    options: dict[str, Any] = {}
    values: dict[str, dict[str, np.ndarray]] = {side: {} for side in sizes}
    for name, value in fit_params.items():
        if isinstance(value, tuple):
            for side, part in _by_side(name, value, sizes).items():
                values[side][name] = part
        else:
            _check_not_per_record(name, value, sizes)
            options[name] = value
    return {side: FitParams(options, values[side]) for side in sizes}


def _by_side(name: str, value: tuple, sizes: Mapping[str, int]) -> dict[str, np.ndarray]:
    if len(value) != len(sizes):
        raise InputError(
            f"fit_params[{name!r}] is a tuple of {len(value)}. Give one array for each of {', '.join(sizes)}, with one value per "
            "record; write an argument that is not per record as a list."
        )
    parts = {}
    for (side, size), part in zip(sizes.items(), value, strict=True):
        array = np.asarray(part)
        if array.ndim == 0 or len(array) != size:
            length = "a single value"
            if array.ndim != 0:
                length = f"{len(array)} values"
            raise InputError(f"fit_params[{name!r}] has {length} for {side}, which has {size} records.")
        parts[side] = array
    return parts


def _check_not_per_record(name: str, value: Any, sizes: Mapping[str, int]) -> None:
    """Refuse an array with one value per member: references train on non-members too."""
    # DataFrames, Series and arrays; a list of as many values as there are members is one as well.
    per_record = (hasattr(value, "shape") and np.ndim(value) > 0) or isinstance(value, list)
    if per_record and len(value) in (sizes["members"], sum(sizes.values())):
        parts = ", ".join(f"{side}_values" for side in sizes)
        raise InputError(
            f"fit_params[{name!r}] has {len(value)} values. Reference models train on members and non-members, so give a "
            f"tuple with one array for each of {', '.join(sizes)}: fit_params={{{name!r}: ({parts})}}."
        )
