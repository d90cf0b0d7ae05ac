"""Spaces in which the nearest neighbours of a record are searched."""

from __future__ import annotations

import numpy as np
import pandas as pd

from guestlist.errors import InputError
from guestlist.lines import reason
from guestlist.targets.target import Target, answers

# Name of a space to the layer of a torch module, if it is one.
SPACES = {"inputs": "", "first_layer": "first", "last_hidden": "last_hidden", "outputs": ""}


def default_space(target: Target) -> str:
    """Return the first layer if the model has layers, else the outputs."""
    if "layers" in target.can:
        return "first_layer"
    return "outputs"


def space_of(target: Target, name: str, x) -> np.ndarray:
    """Return (records, dimensions) the records in a space.

    Args:
        name: ``inputs``, ``first_layer``, ``last_hidden`` or ``outputs``: the target's probabilities.
        x: features as the target reads them.
    """
    if name not in SPACES:
        raise InputError(f"There is no space {name!r}; these are there: {', '.join(SPACES)}, or an array of your own.")
    if name == "outputs":
        return np.exp(target.scale.log_probabilities(answers(target.predict, x, target.columns, target.scale)))
    if name == "inputs":
        return _numbers(target, x)
    layers = target.needs("layers", _NO_LAYERS.format(space=name))(x)
    if SPACES[name] not in layers:
        raise InputError(f"{target.name} has one layer, so that it has no {name!r}. Take 'inputs' or 'outputs'.")
    return layers[SPACES[name]]


_NO_LAYERS = "The space {space!r} is that of a torch target, and {{name}} is none{{why}}. Take 'inputs' or 'outputs'."


def _numbers(target: Target, x) -> np.ndarray:
    try:
        dense = x.to_numpy(dtype=np.float64) if isinstance(x, pd.DataFrame) else np.asarray(x, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"The features of {target.name} are not all numbers ({reason(error)}): they are not a space. Take 'outputs', or "
            "give an array of your own to gl.shapr."
        ) from error
    return dense.reshape(len(dense), -1)
