"""Adversarial regularisation with the settings that Nasr et al. (2018) released for Purchase100.

Rounds alternate 52 batches for the attack classifier and 2 for the model, after one epoch of plain training. The classifier
minimises the squared error of its membership probability; the model adds ``weight`` times the mean probability of its batch
to its loss. ``gl.defences.AdvReg`` minimises logarithms instead, as the paper of Nasr et al. defines it.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

import guestlist as gl


@dataclass(frozen=True)
class ReleasedAdvReg:
    """Objective of a model with adversarial regularisation.

    Args:
        held_out: records that the model is not trained on.
        weight: weight of the classifier's mean membership probability.
        plain_epochs: epochs before the first round.
        attack_batches, model_batches: batches of a round.
        first_passes: passes of the classifier over the members before the first round.
        learning_rate: learning rate of the classifier, with Adam.
    """

    held_out: gl.Data = field(repr=False)
    weight: float = 3.0
    plain_epochs: int = 1
    attack_batches: int = 52
    model_batches: int = 2
    first_passes: int = 5
    learning_rate: float = 1e-4
    for_values: ClassVar[bool] = False

    def begin(self, start):
        import torch
        from torch.nn.functional import one_hot

        outside_x = torch.as_tensor(self.held_out.x).to(start.x.dtype)
        outside_y = torch.as_tensor(self.held_out.y)
        x, y = torch.cat([start.x, outside_x]), torch.cat([start.y, outside_y])
        member = torch.arange(len(y)) < len(start.y)
        classes = start.module[-1].out_features
        with torch.random.fork_rng(devices=[]):  # later draws must not depend on the classifier
            torch.manual_seed(int(start.rng.integers(2**63)))
            classifier = attack_network(classes)
        optimizer = torch.optim.Adam(classifier.parameters(), lr=self.learning_rate)

        def probability(outputs, labels):
            return classifier(outputs, one_hot(labels, classes).to(outputs.dtype))

        def learn(batches: int, size: int) -> None:
            """Train the classifier on outputs of the model, which is fixed meanwhile."""
            with torch.no_grad():
                outputs = start.module(x)
            for _ in range(batches):
                rows = torch.as_tensor(np.concatenate([_draw(start.rng, part, size) for part in (member, ~member)]))
                error = probability(outputs[rows], y[rows]) - member[rows].to(outputs.dtype)
                optimizer.zero_grad()
                error.square().mean().backward()
                optimizer.step()

        batches = itertools.count()

        def loss(outputs, batch):
            plain = start.loss(outputs, batch)
            if batch.epoch < self.plain_epochs:
                return plain
            number, size = next(batches), len(batch.y)
            if number == 0:
                learn(self.first_passes * max(1, len(start.y) // size), size)
            if number % self.model_batches == 0:
                learn(self.attack_batches, size)
            return plain + self.weight * (probability(outputs, batch.y).mean() - 0.5)

        return loss


def _draw(rng: np.random.Generator, rows, size: int) -> np.ndarray:
    """Return ``size`` random positions among ``rows``, without replacement if there are enough."""
    positions = np.flatnonzero(rows.numpy())
    return rng.choice(positions, size, replace=size > len(positions))


def attack_network(classes: int):
    """Return the released classifier: a branch for the outputs, one for the label, then layers of both."""
    import torch
    from torch import nn

    def layers(*sizes: int) -> list[nn.Module]:
        steps = itertools.pairwise(sizes)
        return [part for width_in, width_out in steps for part in (nn.Linear(width_in, width_out), nn.ReLU())]

    class Attack(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.outputs = nn.Sequential(*layers(classes, 1024, 512), nn.Linear(512, 64), nn.ReLU())
            self.label = nn.Sequential(*layers(classes, 128), nn.Linear(128, 64), nn.ReLU())
            self.both = nn.Sequential(*layers(128, 512, 256, 128, 64), nn.Linear(64, 1), nn.Sigmoid())
            for part in self.modules():
                if isinstance(part, nn.Linear):
                    nn.init.normal_(part.weight, std=0.01)
                    nn.init.zeros_(part.bias)

        def forward(self, outputs, labels):
            parts = self.outputs(outputs), self.label(labels)
            return self.both(torch.cat(parts, dim=1)).flatten()

    return Attack()
