"""Table VII: recall of influence functions and TracIn for the members that modified entropy flags.

Both estimate by how much a member lowered the loss of the non-members; above 0, it is at risk. They use the parameters of
the last layer, or of all layers; the paper does not state which. Where the paper omits TracIn because of its time, only
influence functions of the last layer are computed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import guestlist as gl
from papers.shapr.measures import EMBEDDINGS, FIRST, LAST, SELF_SHADOW, own_scores, shapr_in
from papers.shapr.models import Setting, TrainedModels, trained_by
from papers.shapr.summaries import Summary, summarise

TRACED = ("location30", "flowers", "usps", "meps")  # datasets for which the paper prints TracIn
REPEATS = 3
EVERY = 5  # epochs between two checkpoints of TracIn
RANK = 5  # directions of the Hessian of all layers; the full one would have a million rows
SHAPR, INFLUENCE, TRACIN = "SHAPr", "influence functions", "TracIn"
ALL_LAYERS = "all layers"


@dataclass(frozen=True)
class Recall:
    """Recall and AUC for the modified-entropy attack fitted on the target; differences are from SHAPr's recall.

    Args:
        risk: SHAPr, or an estimate, with all layers if its name says so.
    """

    dataset: str
    risk: str
    recall: Summary
    auc: Summary


def recalls(trained: TrainedModels, setting: Setting) -> list[Recall]:
    """Return one row per risk, over the targets of a dataset."""
    results = {
        risk: [_predictive_value(trained, k, VALUES[risk](trained, setting, k)) for k in range(setting.repeats)]
        for risk in (VALUES if trained.pool.name in TRACED else (SHAPR, INFLUENCE))
    }
    recall = {risk: [result.recall.value for result in each] for risk, each in results.items()}
    return [
        Recall(
            dataset=trained.pool.name,
            risk=risk,
            recall=summarise(recall[risk], None if risk == SHAPR else recall[SHAPR]),
            auc=summarise([result.auc.value for result in results[risk]]),
        )
        for risk in results
    ]


def _predictive_value(trained: TrainedModels, k: int, values: np.ndarray) -> gl.risks.PredictiveValue:
    scores = own_scores(trained, k)[trained.member[k]]
    return gl.risks.predictive_value(
        values, scores, (scores >= 0).astype(float), risk="", attack=SELF_SHADOW, threshold=0.0
    )


def _shapr(trained: TrainedModels, setting: Setting, k: int) -> np.ndarray:
    return shapr_in(EMBEDDINGS[FIRST](trained, k), trained.member[k], trained.pool.y)


def _influence_functions(trained: TrainedModels, setting: Setting, k: int) -> np.ndarray:
    # The last layer on its inputs gives the same values as the whole network, in a fraction of the time.
    return gl.risks.influence_functions(trained.targets[k][-1:], *_sides(trained, k, EMBEDDINGS[LAST](trained, k)))


def _influence_functions_all(trained: TrainedModels, setting: Setting, k: int) -> np.ndarray:
    return gl.risks.influence_functions(trained.targets[k], *_sides(trained, k, trained.pool.x), rank=RANK)


def _tracin(trained: TrainedModels, setting: Setting, k: int) -> np.ndarray:
    last = str(len(trained.targets[k]) - 1)
    sides = _sides(trained, k, trained.pool.x)
    checkpoints = _checkpoints(trained, setting, k)
    return gl.risks.tracin(checkpoints, *sides, learning_rate=setting.fit.learning_rate, layers=[last])


def _tracin_all(trained: TrainedModels, setting: Setting, k: int) -> np.ndarray:
    sides = _sides(trained, k, trained.pool.x)
    return tracin_all_layers(_checkpoints(trained, setting, k), *sides, learning_rate=setting.fit.learning_rate)


def _checkpoints(trained: TrainedModels, setting: Setting, k: int) -> list[Any]:
    return setting.fit.checkpoints(*trained_by(trained.pool, trained.member[k], setting, k), every=EVERY)


def tracin_all_layers(
    checkpoints: Sequence[Any],
    x: np.ndarray,
    y: np.ndarray,
    x_test: np.ndarray,
    y_test: np.ndarray,
    *,
    learning_rate: float,
) -> np.ndarray:
    """Compute ``gl.risks.tracin`` of all layers without the gradients of single records.

    The mean gradient of the test records is one direction, so only the slopes of the members' losses along it are needed.
    """
    import torch

    def losses(module, x: np.ndarray, y: np.ndarray) -> torch.Tensor:
        return torch.nn.functional.cross_entropy(module(torch.as_tensor(x)), torch.as_tensor(y), reduction="none")

    total = np.zeros(len(y))
    for module in checkpoints:
        parameters = list(module.parameters())
        directions = torch.autograd.grad(losses(module, x_test, y_test).mean(), parameters)
        weights = torch.zeros(len(y), requires_grad=True)
        # The gradient of a weighted sum of losses is linear in the weights: its derivative by a weight is a member's.
        gradients = torch.autograd.grad(losses(module, x, y), parameters, grad_outputs=weights, create_graph=True)
        along = sum((part * way).sum() for part, way in zip(gradients, directions, strict=True))
        (slopes,) = torch.autograd.grad(along, weights)
        total += learning_rate * slopes.double().numpy()
    return total


VALUES: dict[str, Callable[[TrainedModels, Setting, int], np.ndarray]] = {
    SHAPR: _shapr,
    INFLUENCE: _influence_functions,
    TRACIN: _tracin,
    f"{INFLUENCE}, {ALL_LAYERS}": _influence_functions_all,
    f"{TRACIN}, {ALL_LAYERS}": _tracin_all,
}


def _sides(trained: TrainedModels, k: int, x: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return the members, and all non-members as test records."""
    member, y = trained.member[k], trained.pool.y
    return x[member], y[member], x[~member], y[~member]
