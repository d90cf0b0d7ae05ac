"""Torch modules with one output for two classes. Imported only when torch is used."""

from __future__ import annotations

import torch

from guestlist.errors import InputError


class TwoLogits(torch.nn.Module):
    """The module with a second logit: 0 for the first class, what it answers for the second.

    The softmax of the two is the sigmoid of the one, and their cross-entropy the binary one, so that whatever is made for
    classes trains it and looks into it as it is.
    """

    def __init__(self, module: torch.nn.Module):
        super().__init__()
        self.module = module

    def forward(self, x):
        found = self.module(x)
        if found.ndim > 2 or (found.ndim == 2 and found.shape[1] != 1):
            raise InputError(
                f"Expected one logit per record for two classes, found answers shaped {tuple(found.shape)}."
            )
        logit = found.reshape(-1, 1)
        return torch.cat([torch.zeros_like(logit), logit], dim=1)


def outputs_of(module) -> int | None:
    """How many outputs the last of its linear layers has; None where it has none."""
    sizes = [part.out_features for part in module.modules() if hasattr(part, "out_features")]
    return sizes[-1] if sizes else None


def two_logits(module):
    """The module, with a second logit if it has but one output."""
    return TwoLogits(module) if outputs_of(module) == 1 and not isinstance(module, TwoLogits) else module
