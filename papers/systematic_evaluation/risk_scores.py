"""Two estimates of the probability of membership: the privacy risk score, and the output of an attack network."""

from __future__ import annotations

import itertools

import numpy as np
from scipy.special import expit, log_softmax

import guestlist as gl
from papers.systematic_evaluation.pairs import Pair, mentr

RISK, NETWORK = "risk score", "attack network"
EPOCHS = 20  # epochs of the attack network; the paper does not state them


def risk_scores(pair: Pair, *, prior: float = 0.5, by_class: bool = True) -> np.ndarray:
    """Return (records,) scores of the target, fitted on the shadow model (section 4.1).

    Args:
        by_class: whether distributions are estimated for each class, as in the paper, or for all classes together.
    """
    labels, known_labels = pair.target.labels, pair.shadow.labels
    return gl.risks.risk_score(
        mentr(pair.target),
        labels if by_class else np.zeros_like(labels),
        known_values=mentr(pair.shadow),
        known_labels=known_labels if by_class else np.zeros_like(known_labels),
        known_member=pair.shadow.member,
        prior=prior,
    )


def network_outputs(pair: Pair, *, epochs: int | None = None) -> np.ndarray:
    """Return (records,) outputs of an attack network that is fitted on the shadow model (section 4.2.1).

    Its inputs are the probabilities of all classes and the label, as in the paper, which follows Nasr et al. (2018).
    """
    known = gl.Data(_features(pair.shadow), pair.shadow.member.astype(int))
    fit = gl.defences.Fit(epochs=epochs or EPOCHS)
    module = fit(_attack_network(pair.shadow.outputs.shape[1]), known, np.random.default_rng(0))
    outputs = gl.torch_target(module, classes=[False, True]).predict(_features(pair.target))
    return expit(outputs[:, 1] - outputs[:, 0])


ESTIMATES = {RISK: risk_scores, NETWORK: network_outputs}


def _features(outputs: gl.Predictions) -> np.ndarray:
    """Return (records, 2 × classes) probabilities, then the one-hot label."""
    p = outputs.outputs if outputs.scale.hides_logits else np.exp(log_softmax(outputs.outputs, axis=1))
    return np.column_stack([p, np.eye(p.shape[1])[outputs.labels]]).astype(np.float32)


def _attack_network(classes: int):
    """Return a network with a branch for the output and one for the label, then common layers (Nasr et al. 2018)."""
    from torch import cat, nn

    def layers(*sizes: int):
        steps = itertools.pairwise(sizes)
        return nn.Sequential(
            *(part for width_in, width_out in steps for part in (nn.Linear(width_in, width_out), nn.ReLU()))
        )

    class Attack(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.answer, self.label = layers(classes, 1024, 512, 64), layers(classes, 512, 64)
            self.both, self.out = layers(128, 256, 64), nn.Linear(64, 2)

        def forward(self, x):
            parts = self.answer(x[:, :classes]), self.label(x[:, classes:])
            return self.out(self.both(cat(parts, dim=1)))

    return Attack()
