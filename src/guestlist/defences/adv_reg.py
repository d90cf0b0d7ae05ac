"""Training against an attack classifier that is trained beside the model."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from guestlist.data import Data
from guestlist.defences.networks import mlp
from guestlist.defences.objective import Batch, Loss, Start, soft
from guestlist.errors import InputError


@dataclass(frozen=True)
class AdvReg:
    """Adversarial regularisation (Nasr, Shokri & Houmansadr 2018): the model's answers must not convince an attack classifier.

    The classifier I sees an answer's probabilities and the label, and learns to tell this batch from as many held-out records,
    by the gain log I of members and log(1 - I) of the others. The model then minimises its loss plus ``weight`` times the mean
    of log I. The classifier here is one perceptron of both inputs, smaller than the paper's.

    Args:
        held_out: records that nobody trains on, with positions of classes as labels. An attacker who knows the defence has
            records of the same kind; those of an audit's non-members would be seen in training.
        weight: of the gain; 0 is plain training, bit for bit.
        steps: of the classifier for each step of the model.
        warm_up: epochs before the gain counts.
        hidden, learning_rate: of the classifier.
    """

    held_out: Data = field(repr=False)
    weight: float = 1.0
    steps: int = 1
    warm_up: int = 0
    hidden: tuple[int, ...] = (256, 64)
    learning_rate: float = 1e-3
    for_values: ClassVar[bool] = False

    def __post_init__(self):
        if self.weight < 0:
            raise ValueError(f"Expected weight={self.weight} to be 0 or more.")
        if self.steps < 1 or self.warm_up < 0:
            raise ValueError(f"Expected steps={self.steps} to be 1 or more and warm_up={self.warm_up} to be 0 or more.")
        if not isinstance(self.held_out, Data):
            raise InputError(f"Expected held_out as gl.Data(x, y), found {type(self.held_out).__name__}.")
        if not len(self.held_out):
            raise InputError("Adversarial regularisation needs held-out records, found none.")

    def begin(self, start: Start) -> Loss:
        import torch

        from guestlist.defences.plain import answered, labels_tensor, tensor

        x, y = tensor(self.held_out.x, start.module), labels_tensor(self.held_out.y, start.module)
        classes = answered(start.module, x[:1]).shape[1]
        with torch.random.fork_rng(devices=[]):  # what others draw afterwards does not depend on it
            torch.manual_seed(int(start.rng.integers(2**63)))
            attack = mlp(2 * classes, 1, hidden=self.hidden).to(start.x.dtype)
        optimizer = torch.optim.Adam(attack.parameters(), lr=self.learning_rate)

        def odds(answers, labels):
            """(records,) log-odds of membership that the classifier gives."""
            return attack(torch.cat([answers.softmax(dim=1), soft(labels, classes, answers)], dim=1)).flatten()

        def learn(answers, batch: Batch) -> None:
            for _ in range(self.steps):
                rows = start.rng.choice(len(y), size=len(batch.y), replace=len(batch.y) > len(y))
                outside = answered(start.module, x[rows])
                gain = _log(odds(answers.detach(), batch.y)).mean() + _log(-odds(outside, y[rows])).mean()
                optimizer.zero_grad()
                (-gain).backward()
                optimizer.step()

        def loss(answers, batch: Batch):
            plain = start.loss(answers, batch)
            if not self.weight or batch.epoch < self.warm_up:
                return plain
            learn(answers, batch)
            return plain + self.weight * _log(odds(answers, batch.y)).mean()

        return loss


def _log(odds):
    """log of a probability whose log-odds these are."""
    from torch.nn.functional import logsigmoid

    return logsigmoid(odds)
