"""Defences trained against an attack classifier: adversarial regularisation and MemGuard."""

import hashlib
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from scipy.special import softmax

from guestlist._util import DescribedRecipe, integer, number, one_thread, torch
from guestlist.data import Data
from guestlist.defences.outputs import OutputTransform, PredictProbabilities
from guestlist.defences.torch_training import (
    Batch,
    Fit,
    Loss,
    Start,
    labels_tensor,
    mlp,
    module_outputs,
    soft,
    tensor,
)
from guestlist.errors import InputError


@dataclass(frozen=True)
class AdvReg:
    """Adversarial regularisation (Nasr, Shokri & Houmansadr 2018): outputs must not convince an attack classifier.

    The attack classifier I reads the model's probabilities and the label. It is trained to distinguish this batch from
    the same number of held-out records, with the gain log I for members and log(1 - I) for the others. The model then
    minimises its loss plus ``weight`` times the mean of log I. The classifier is one perceptron of both inputs, smaller
    than the paper's.

    Args:
        held_out: Records that no model is trained on, with positions of classes as labels. An adaptive attacker has records
            from the same distribution. Do not pass the non-members of the audit: training would use them.
        weight: Weight of the gain; 0 is plain training, with identical results.
        steps: Steps of the classifier for each step of the model.
        warm_up: Epochs before the gain is added to the loss.
        hidden, learning_rate: Options of the classifier.

    Raises:
        ValueError: If a number is out of range.
        InputError: If ``held_out`` has no records, or is not ``gl.Data``.
    """

    held_out: Data = field(repr=False)
    weight: float = 1.0
    steps: int = 1
    warm_up: int = 0
    hidden: tuple[int, ...] = (256, 64)
    learning_rate: float = 1e-3
    for_values: ClassVar[bool] = False

    def __post_init__(self):
        number("weight", self.weight, 0, ends="[)")
        integer("steps", self.steps, 1)
        integer("warm_up", self.warm_up)
        _check_held_out(self.held_out)

    def begin(self, start: Start) -> Loss:
        x = tensor(self.held_out.x, start.module)
        y = labels_tensor(self.held_out.y, start.module)
        classes = module_outputs(start.module, x[:1]).shape[1]
        # Later draws must not depend on the classifier.
        with torch.random.fork_rng(devices=[start.x.device] if start.x.is_cuda else []):
            torch.manual_seed(int(start.rng.integers(2**63)))
            attack = mlp(2 * classes, 1, hidden=self.hidden).to(start.x.dtype).to(start.x.device)
        optimizer = torch.optim.Adam(attack.parameters(), lr=self.learning_rate)
        log_probability = torch.nn.functional.logsigmoid  # of log-odds

        def odds(outputs, labels):
            """Return (records,) log-odds of membership according to the classifier."""
            return attack(torch.cat([outputs.softmax(dim=1), soft(labels, classes, outputs)], dim=1)).flatten()

        def learn(outputs, batch: Batch) -> None:
            for _ in range(self.steps):
                rows = start.rng.choice(len(y), size=len(batch.y), replace=len(batch.y) > len(y))
                inside = odds(outputs.detach(), batch.y)
                outside = odds(module_outputs(start.module, x[rows]), y[rows])
                gain = log_probability(inside).mean() + log_probability(-outside).mean()
                optimizer.zero_grad()
                (-gain).backward()
                optimizer.step()

        def loss(outputs, batch: Batch):
            plain = start.loss(outputs, batch)
            if not self.weight or batch.epoch < self.warm_up:
                return plain
            learn(outputs, batch)
            return plain + self.weight * log_probability(odds(outputs, batch.y)).mean()

        return loss


def _check_held_out(held_out: Any) -> None:
    if not isinstance(held_out, Data):
        raise InputError(f"held_out must be gl.Data(x, y); found {type(held_out).__name__}.")
    if not len(held_out):
        raise InputError(
            "held_out= is empty. This defence needs records outside the training set: held_out=gl.Data(x, y)."
        )


WEIGHTS = (0.1, 1.0, 10.0, 100.0, 1e3, 1e4, 1e5)  # weights of the distortion, tried in order while noise is found
SMALLEST = 1e-12  # a probability of 0 has no logarithm
LEAST = 1e-9  # margin of the predicted class over the next
DIGITS = 4  # digits of the output that seed its draws: the others depend on the size of the batch
SCALES = (8.0, 0.01)  # factors of logits: much sharper outputs, and nearly uniform outputs


@dataclass(frozen=True)
class MemGuard(DescribedRecipe):
    """Add noise to every output so that the defender's attack classifier is undecided (Jia et al. 2019).

    The classifier is trained to distinguish the model's outputs for its training records from those for held-out
    records. An output is then moved, in the space of logits, to where the classifier is undecided. The predicted class
    stays, the result is a probability vector, and of several moves the smallest is kept. Noise is added with a
    probability that keeps the mean change within the budget. Random draws are derived from the output itself, so that
    repeating a query reveals nothing. A draw also decides on which side of undecided the output ends, since a
    classifier that is always wrong is as informative as one that is always right.

    Args:
        held_out: Records that no model is trained on. Do not pass the non-members of the audit: the defence would reveal them.
        budget: Mean sum of absolute changes of the probabilities; 2 is no limit.
        classifier: Training of the classifier, a network with ``hidden`` layers.
        hidden: Units of its hidden layers.
        steps, rate: Number and size of the steps of each search for noise.

    Raises:
        ValueError: If a number is out of range.
        InputError: If ``held_out`` has no records, or is not ``gl.Data``.
    """

    held_out: Data = field(repr=False)
    budget: float = 2.0
    classifier: Fit = field(default_factory=lambda: Fit(epochs=100, batch_size=64, learning_rate=1e-3))
    hidden: tuple[int, ...] = (256, 128, 64)
    steps: int = 300
    rate: float = 0.1
    learns = True

    def __post_init__(self):
        number("budget", self.budget, 0, 2, ends="[]")
        integer("steps", self.steps, 1)
        number("rate", self.rate, 0)
        _check_held_out(self.held_out)

    def begin(self, predict: PredictProbabilities, data: Data | None, rng: np.random.Generator) -> OutputTransform:
        if data is None:
            raise InputError("MemGuard is fitted on the records that the model was trained on. Pass members=.")
        with one_thread():  # more threads would slow down small networks
            parts = [predict(data.x), predict(self.held_out.x)]
            size = min(map(len, parts))  # equal numbers, so that undecided means a probability of 0.5
            outputs = np.concatenate([p[rng.permutation(len(p))[:size]] for p in parts])
            training = Data(np.sort(outputs, axis=1), np.repeat([1, 0], size))
            # The search for noise is small, and runs on the CPU.
            network = self.classifier(mlp(outputs.shape[1], 2, hidden=self.hidden), training, rng).cpu()
        return Guarded(
            network=network, budget=self.budget, steps=self.steps, rate=self.rate, seed=int(rng.integers(2**63))
        )


@dataclass(frozen=True)
class Guarded:
    """Outputs with noise against one classifier, which reads sorted probabilities."""

    network: Any
    budget: float
    steps: int
    rate: float
    seed: int

    def __call__(self, p: np.ndarray) -> np.ndarray:
        p = np.asarray(p, dtype=np.float64)
        first, second = _draws(p, self.seed)
        with one_thread():
            noisy = self.add_noise(p, first < 0.5)
        within_budget = second * np.abs(noisy - p).sum(axis=1) < self.budget
        return np.where(within_budget[:, None], noisy, p)

    def odds(self, p: np.ndarray) -> np.ndarray:
        """Return (records,) log-odds of membership according to the classifier."""
        with torch.no_grad():
            return self._odds(torch.as_tensor(p).log()).double().numpy()

    def add_noise(self, p: np.ndarray, beyond: np.ndarray) -> np.ndarray:
        """Return outputs at which the classifier is undecided, slightly ``beyond`` that or short of it.

        Flatter and sharper outputs are tried first: they keep the class, and one of them usually suffices. Outputs for which no
        noise is found stay unchanged.
        """
        noisy = p.copy()
        z = np.log(np.maximum(p, SMALLEST))
        rows = np.arange(len(p))

        def keep(some: np.ndarray, noise: np.ndarray) -> None:
            """Keep the new output if it changes less than the previous one."""
            new = self._undecided(p[some], noise, beyond[some])
            change, before = (np.abs(outputs - p[some]).sum(axis=1) for outputs in (new, noisy[some]))
            better = (before == 0) | ((change > 0) & (change < before))
            noisy[some[better]] = new[better]

        for scale in SCALES:
            noise = (scale - 1) * z
            crossed = np.sign(self.odds(softmax(z + noise, axis=1))) != np.sign(self.odds(softmax(z, axis=1)))
            keep(rows[crossed], noise[crossed])
        for weight in WEIGHTS:
            if not len(rows):
                break
            crossed, noise = self._search(p[rows], weight)
            rows = rows[crossed]
            keep(rows, noise[crossed])
        return noisy

    def _search(self, p: np.ndarray, weight: float) -> tuple[np.ndarray, np.ndarray]:
        """Return which outputs cross the decision boundary with their class kept, and their noise on logits."""
        z = torch.as_tensor(np.log(np.maximum(p, SMALLEST)))
        start = z.softmax(dim=1)
        top_class = z.argmax(dim=1)
        is_top = torch.nn.functional.one_hot(top_class, z.shape[1]).bool()
        at_first = self._odds(z).detach().sign()
        noise = torch.zeros_like(z)
        done = torch.zeros(len(z), dtype=torch.bool)
        for _ in range(self.steps):
            e = noise.clone().requires_grad_()
            odds = self._odds(z + e)
            # Logit of the class minus the next largest logit.
            others = (z + e).masked_fill(is_top, -torch.inf)
            ahead = (z + e).gather(1, top_class[:, None]).flatten() - others.max(dim=1).values
            cost = (
                odds.abs() + 10 * torch.relu(LEAST - ahead) + weight * ((z + e).softmax(dim=1) - start).abs().sum(dim=1)
            )
            (slope,) = torch.autograd.grad(cost.sum(), e)
            with torch.no_grad():
                done |= (odds.sign() != at_first) & (ahead > LEAST)
                step = self.rate * slope / slope.norm(dim=1, keepdim=True).clamp(min=SMALLEST)
                noise = torch.where(done[:, None], noise, noise - step)
            if done.all():
                break
        return done.numpy(), noise.numpy()

    def _undecided(self, p: np.ndarray, noise: np.ndarray, beyond: np.ndarray) -> np.ndarray:
        """Bisect along the noise: the least that crosses the boundary, or the most that does not."""
        z = np.log(np.maximum(p, SMALLEST))
        low = np.zeros(len(p))
        high = np.ones(len(p))
        at_first = np.sign(self.odds(softmax(z, axis=1)))
        for _ in range(30):
            middle = (low + high) / 2
            crossed = np.sign(self.odds(softmax(z + middle[:, None] * noise, axis=1))) != at_first
            low = np.where(crossed, low, middle)
            high = np.where(crossed, middle, high)
        outputs = softmax(z + np.where(beyond, high, low)[:, None] * noise, axis=1)
        same_class = outputs.argmax(axis=1) == p.argmax(axis=1)
        return np.where(same_class[:, None], outputs, p)

    def _odds(self, z):
        outputs = self.network(z.softmax(dim=1).sort(dim=1).values.to(next(self.network.parameters()).dtype))
        return (outputs[:, 1] - outputs[:, 0]).to(torch.float64)


def _draws(p: np.ndarray, seed: int) -> np.ndarray:
    """Return (2, records) numbers in [0, 1), derived from each output and a seed."""
    draws = []
    for row in np.ascontiguousarray(np.round(p, DIGITS)):
        digest = hashlib.blake2b(row.tobytes(), digest_size=16, key=seed.to_bytes(8, "little")).digest()
        draws.append([int.from_bytes(half, "little") / 2**64 for half in (digest[:8], digest[8:])])
    return np.array(draws).reshape(-1, 2).T
