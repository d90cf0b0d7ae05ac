"""Training against an attack classifier that is trained alongside the model."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from guestlist.data import Data
from guestlist.defences.networks import mlp
from guestlist.defences.objective import Batch, Loss, Start, soft
from guestlist.errors import InputError


@dataclass(frozen=True)
class AdvReg:
    """Adversarial regularisation (Nasr, Shokri & Houmansadr 2018): outputs must not convince an attack classifier.

    The attack classifier I reads the model's probabilities and the label. It learns to distinguish this batch from the same
    number of held-out records, with the gain log I for members and log(1 - I) for the others. The model then minimises its
    loss plus ``weight`` times the mean of log I. The classifier is one perceptron of both inputs, smaller than the paper's.

    Args:
        held_out: Records that no model is trained on, with positions of classes as labels. An adaptive attacker has records
            from the same distribution. Do not pass the non-members of the audit: training would use them.
        weight: Weight of the gain; 0 is plain training, with identical results.
        steps: Steps of the classifier for each step of the model.
        warm_up: Epochs before the gain is added to the loss.
        hidden, learning_rate: Options of the classifier.
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

        x = tensor(self.held_out.x, start.module)
        y = labels_tensor(self.held_out.y, start.module)
        classes = answered(start.module, x[:1]).shape[1]
        with torch.random.fork_rng(devices=[]):  # later draws must not depend on the classifier
            torch.manual_seed(int(start.rng.integers(2**63)))
            attack = mlp(2 * classes, 1, hidden=self.hidden).to(start.x.dtype)
        optimizer = torch.optim.Adam(attack.parameters(), lr=self.learning_rate)

        def odds(answers, labels):
            """Return (records,) log-odds of membership according to the classifier."""
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
    """Return the logarithm of a probability, given its log-odds."""
    from torch.nn.functional import logsigmoid

    return logsigmoid(odds)
