"""Answers with noise that misleads an attack classifier, and leaves the class as it is."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from guestlist.arrays.threads import one_thread
from guestlist.data import Data
from guestlist.defences.answers import Ask, Say
from guestlist.defences.networks import mlp
from guestlist.defences.plain import Fit
from guestlist.errors import InputError
from guestlist.fingerprints import described

WEIGHTS = (0.1, 1.0, 10.0, 100.0, 1e3, 1e4, 1e5)  # of the distortion, one after the other, as long as noise is found
SMALLEST = 1e-12  # a probability of 0 has no logarithm
LEAST = 1e-9  # by which the class stays ahead
DIGITS = 4  # of the answer that chances hang on: those that do not depend on how many are asked about at once
SCALES = (8.0, 0.01)  # of logits: much sharper answers, and hardly any difference between classes


@dataclass(frozen=True)
class MemGuard:
    """Noise on every answer with which the defender's own attack classifier cannot decide (Jia et al. 2019).

    The classifier learns to tell the model's answers to its training records from those to held-out records. An answer is then
    moved, in the space of logits, to where the classifier is undecided: the class stays, the rest stays a probability, and of
    several moves the one with the least change is kept. Noise is added with a probability that keeps the mean change within
    the budget. What is drawn is drawn from the answer itself, so that asking twice tells nothing; and a coin decides on
    which side of undecided the answer ends, since a classifier that is always wrong can be read as well as one that is right.

    Args:
        held_out: records that nobody trains on; an audit's non-members would be told by it.
        budget: mean sum of absolute changes of the probabilities; 2 is no limit.
        classifier: how the classifier is trained, a network with ``hidden`` layers.
        steps, rate: of each search for noise.
    """

    held_out: Data = field(repr=False)
    budget: float = 2.0
    classifier: Fit = field(default_factory=lambda: Fit(epochs=100, batch_size=64, learning_rate=1e-3))
    hidden: tuple[int, ...] = (256, 128, 64)
    steps: int = 300
    rate: float = 0.1
    learns = True

    def __post_init__(self):
        if not 0 <= self.budget <= 2:
            raise ValueError(f"Expected budget={self.budget} in [0, 2].")
        if self.steps < 1 or not self.rate > 0:
            raise ValueError(f"Expected steps={self.steps} to be 1 or more and rate={self.rate} above 0.")
        if not isinstance(self.held_out, Data):
            raise InputError(f"Expected held_out as gl.Data(x, y), found {type(self.held_out).__name__}.")
        if not len(self.held_out):
            raise InputError("MemGuard needs held-out records, found none.")

    def begin(self, ask: Ask, data: Data | None, rng: np.random.Generator) -> Say:
        if data is None:
            raise InputError("MemGuard learns from the records that the model was trained on: give members=….")
        with one_thread():  # small networks, which many threads only wait for
            return self._learnt(ask(data.x), ask(self.held_out.x), rng)

    def _learnt(self, inside: np.ndarray, outside: np.ndarray, rng: np.random.Generator) -> Guarded:
        size = min(len(inside), len(outside))  # as many of either, so that undecided means a half
        parts = [p[rng.permutation(len(p))[:size]] for p in (inside, outside)]
        answers = Data(np.sort(np.concatenate(parts), axis=1), np.repeat([1, 0], size))
        network = self.classifier(mlp(answers.x.shape[1], 2, hidden=self.hidden), answers, rng)
        return Guarded(network, self.budget, self.steps, self.rate, int(rng.integers(2**63)))

    def describe(self) -> str:
        return described(self)


@dataclass(frozen=True)
class Guarded:
    """Answers with noise against one classifier, which reads sorted probabilities."""

    network: Any
    budget: float
    steps: int
    rate: float
    seed: int

    def __call__(self, p: np.ndarray) -> np.ndarray:
        p = np.asarray(p, dtype=np.float64)
        first, second = _draws(p, self.seed)
        with one_thread():
            moved = self.moved(p, first < 0.5)
        change = np.abs(moved - p).sum(axis=1)
        return np.where((second * change < self.budget)[:, None], moved, p)

    def odds(self, p: np.ndarray) -> np.ndarray:
        """(records,) log-odds of membership that the classifier gives."""
        import torch

        with torch.no_grad():
            return self._odds(torch.as_tensor(p).log()).double().numpy()

    def moved(self, p: np.ndarray, beyond: np.ndarray) -> np.ndarray:
        """Answers at which the classifier is undecided, a hair ``beyond`` that or short of it.

        Flatter or sharper answers come first: they keep the class, and one of them is mostly there. Answers that nothing is
        found for stay as they are.
        """
        found, z = p.copy(), np.log(np.maximum(p, SMALLEST))
        rows = np.arange(len(p))

        def keep(some: np.ndarray, noise: np.ndarray) -> None:
            """The new answer, where it changes less than what was found before."""
            new = self._undecided(p[some], noise, beyond[some])
            change, before = (np.abs(said - p[some]).sum(axis=1) for said in (new, found[some]))
            better = (before == 0) | ((change > 0) & (change < before))
            found[some[better]] = new[better]

        for scale in SCALES:
            noise = (scale - 1) * z
            crossed = np.sign(self.odds(_softmax(z + noise))) != np.sign(self.odds(_softmax(z)))
            keep(rows[crossed], noise[crossed])
        for weight in WEIGHTS:
            if not len(rows):
                break
            crossed, noise = self._search(p[rows], weight)
            rows = rows[crossed]
            keep(rows, noise[crossed])
        return found

    def _search(self, p: np.ndarray, weight: float) -> tuple[np.ndarray, np.ndarray]:
        """Which answers reach the other side of undecided with their class kept, and their noise on logits."""
        import torch

        z = torch.as_tensor(np.log(np.maximum(p, SMALLEST)))
        start = z.softmax(dim=1)
        own, at_first = z.argmax(dim=1), self._odds(z).detach().sign()
        noise, done = torch.zeros_like(z), torch.zeros(len(z), dtype=torch.bool)
        for _ in range(self.steps):
            e = noise.clone().requires_grad_()
            odds, ahead = self._odds(z + e), _ahead(z + e, own)
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
        """By halving along the noise: as little of it as crosses, or as much as does not."""
        z = np.log(np.maximum(p, SMALLEST))
        low, high = np.zeros(len(p)), np.ones(len(p))
        at_first = np.sign(self.odds(_softmax(z)))
        for _ in range(30):
            middle = (low + high) / 2
            crossed = np.sign(self.odds(_softmax(z + middle[:, None] * noise))) != at_first
            low, high = np.where(crossed, low, middle), np.where(crossed, middle, high)
        said = _softmax(z + np.where(beyond, high, low)[:, None] * noise)
        kept = said.argmax(axis=1) == p.argmax(axis=1)
        return np.where(kept[:, None], said, p)

    def _odds(self, z):
        import torch

        own = z.softmax(dim=1).sort(dim=1).values.to(next(self.network.parameters()).dtype)
        answers = self.network(own)
        return (answers[:, 1] - answers[:, 0]).to(torch.float64)


def _ahead(z, own):
    """(records,) by how much the logit of the class is ahead of the next."""
    import torch

    others = z.masked_fill(torch.nn.functional.one_hot(own, z.shape[1]).bool(), -torch.inf)
    return z.gather(1, own[:, None]).flatten() - others.max(dim=1).values


def _softmax(z: np.ndarray) -> np.ndarray:
    powers = np.exp(z - z.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def _draws(p: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """(records,) two numbers in [0, 1) from each answer and a seed: the same for the same question."""
    found = []
    for row in np.ascontiguousarray(np.round(p, DIGITS)):
        digest = hashlib.blake2b(row.tobytes(), digest_size=16, key=seed.to_bytes(8, "little")).digest()
        found.append([int.from_bytes(half, "little") / 2**64 for half in (digest[:8], digest[8:])])
    first, second = np.array(found).reshape(-1, 2).T
    return first, second
