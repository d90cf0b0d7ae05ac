"""Table 5: attackers with access to gradients compared with attackers with outputs only, on our Location30 models.

guestlist's white-box attack is a random forest. That of the paper is a network (Nasr et al. 2019), which we build in a
smaller size: a filter over the last layer's gradient, and branches for outputs, label and loss.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import guestlist as gl
from guestlist.metrics import auc, balanced_accuracy
from papers.systematic_evaluation.data import Records
from papers.systematic_evaluation.models import Setting, Subject, percent, subject
from papers.systematic_evaluation.published import WHITE_BOX

# Threshold at which each attack flags a record; all but the first score the distance from a fitted threshold.
THRESHOLDS = {"correctness": 1.0} | {name: 0.0 for name in WHITE_BOX["Texas100"] if name != "correctness"}

WHITE_BOX_NETWORK = "white_box_network"
EPOCHS = 100  # of the attack network
LEARNING_RATE = 1e-3


@dataclass(frozen=True)
class Outcome:
    """Attack accuracy in per cent over targets, on the records that the white-box attacker does not know."""

    attack: str
    accuracy: float
    deviation: float
    auc: float
    records: int


@dataclass(frozen=True)
class Fitted:
    """Training and test accuracy of the targets, in per cent."""

    train_accuracy: float
    test_accuracy: float


def outcomes(records: Records, setting: Setting, cache: Path, *, repeats: int) -> tuple[list[Outcome], list[Fitted]]:
    """Return one row per attack, over ``repeats`` targets."""
    accuracy, aucs, subjects, n_evaluated = defaultdict(list), defaultdict(list), [], 0
    for seed in range(repeats):
        model = subject(records, setting, seed, cache)
        results = model.audit(
            setting.references,
            list(WHITE_BOX["Texas100"]),
            evidence=[gl.evidence.WhiteBox(), gl.evidence.FullOutputs()],
        )
        table = results.records
        # Both attacks are fitted on the known records and give them no score, so they are not evaluated.
        known = table["score_white_box"].isna().to_numpy()
        table[f"score_{WHITE_BOX_NETWORK}"] = network_scores(
            model, table["id"], table["member"].to_numpy(), known, seed
        )
        unknown = table[~known]
        member = unknown["member"].to_numpy()
        n_evaluated = len(unknown)
        for name, threshold in (THRESHOLDS | {WHITE_BOX_NETWORK: 0.0}).items():
            scores = unknown[f"score_{name}"].to_numpy()
            accuracy[name].append(balanced_accuracy(scores, member, threshold).value)
            aucs[name].append(auc(scores, member).value)
        subjects.append(results.subject)
    rows = [Outcome(name, *percent(accuracy[name]), percent(aucs[name])[0] / 100, n_evaluated) for name in accuracy]
    accuracies = ([s.accuracy_members for s in subjects], [s.accuracy_nonmembers for s in subjects])
    return rows, [Fitted(*(percent(values)[0] for values in accuracies))]


def network_scores(model: Subject, ids: Sequence[str], member: np.ndarray, known: np.ndarray, seed: int) -> np.ndarray:
    """Return (records,) logits of membership of an attack network fitted on the known records; NaN for these.

    Args:
        ids: ``members:3`` is the fourth member, ``nonmembers:0`` the first non-member.
    """
    import torch

    sides = {"members": model.members, "nonmembers": model.nonmembers}
    rows = [(side, int(row)) for side, _, row in (name.partition(":") for name in ids)]
    x = torch.as_tensor(np.stack([sides[side][0][row] for side, row in rows]))
    y = torch.as_tensor(np.array([sides[side][1][row] for side, row in rows]))
    inputs = attack_inputs(model.module, x, y)
    truth = torch.tensor(member, dtype=torch.float32)
    fitted_on = np.flatnonzero(known)
    rng = np.random.default_rng([seed, 2])
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = attack_network(*inputs[0].shape[1:])
    optimizer = torch.optim.Adam(network.parameters(), lr=LEARNING_RATE)
    for _ in range(EPOCHS):
        for batch in np.array_split(rng.permutation(fitted_on), max(1, len(fitted_on) // 64)):
            logits = network(*(part[batch] for part in inputs))
            loss = torch.nn.functional.binary_cross_entropy_with_logits(logits, truth[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    with torch.no_grad():
        scores = network.eval()(*inputs).double().numpy()
    scores[known] = np.nan
    return scores


def attack_inputs(module: Any, x: Any, y: Any) -> tuple[Any, Any, Any, Any]:
    """Return what the attacker reads of each record: the last layer's gradient, the outputs, the label and the loss."""
    import torch
    from torch.nn.functional import cross_entropy, one_hot

    with torch.no_grad():
        hidden = module[:-1](x)
        logits = module[-1](hidden)
        outputs = logits.softmax(dim=1)
        label = one_hot(y, outputs.shape[1]).to(outputs.dtype)
        # The gradient of a weight is the error of its output times its input; that of a bias is the error.
        inputs = torch.cat([hidden, torch.ones(len(hidden), 1)], dim=1)
        gradient = (outputs - label)[:, :, None] * inputs[:, None, :]
        loss = cross_entropy(logits, y, reduction="none")[:, None]
    return gradient, outputs, label, loss


def attack_network(classes: int, width: int):
    """Return a network of the gradient, outputs, label and loss, with one branch each, to a logit of membership."""
    import torch
    from torch import nn

    def branch(inputs: int) -> nn.Sequential:
        return nn.Sequential(nn.Linear(inputs, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU())

    class Attack(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            # One filter per output unit, over all its weights, is the kernel of Nasr et al. for a dense layer.
            self.gradient = nn.Sequential(
                nn.Linear(width, 32), nn.ReLU(), nn.Flatten(), nn.Dropout(0.2), branch(32 * classes)
            )
            self.outputs = branch(classes)
            self.label = branch(classes)
            self.loss = branch(1)
            self.all = nn.Sequential(nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 1))

        def forward(self, gradient, outputs, label, loss):
            parts = self.gradient(gradient), self.outputs(outputs), self.label(label), self.loss(loss)
            return self.all(torch.cat(parts, dim=1)).flatten()

    return Attack()
