"""Two estimates of a record's probability of being a member: the privacy risk score, and what an attack network answers."""

from __future__ import annotations

import itertools

import numpy as np
from scipy.special import expit, log_softmax

import guestlist as gl
from papers.systematic_evaluation.pairs import Pair, mentr

RISK, NETWORK = "risk score", "attack network"
EPOCHS = 20  # of the attack network; the paper does not print its own


def risk_scores(pair: Pair, *, prior: float = 0.5) -> np.ndarray:
    """(records,) of the target, learnt from the shadow (section 4.1)."""
    return gl.risks.risk_score(
        mentr(pair.target),
        pair.target.labels,
        known_values=mentr(pair.shadow),
        known_labels=pair.shadow.labels,
        known_member=pair.shadow.member,
        prior=prior,
    )


def network_outputs(pair: Pair, *, epochs: int | None = None) -> np.ndarray:
    """(records,) what a network answers that was taught by the shadow to tell members from non-members (section 4.2.1).

    It sees the probabilities of all classes and the label, as the paper's, which follows Nasr et al. (2018).
    """
    known = gl.Data(_features(pair.shadow), pair.shadow.member.astype(int))
    fit = gl.defences.Fit(epochs=epochs or EPOCHS)
    module = fit(_attack_network(pair.shadow.answers.shape[1]), known, np.random.default_rng(0))
    answers = gl.torch_target(module, classes=[False, True]).predict(_features(pair.target))
    return expit(answers[:, 1] - answers[:, 0])


ESTIMATES = {RISK: risk_scores, NETWORK: network_outputs}


def _features(said: gl.Predictions) -> np.ndarray:
    """(records, 2 × classes) probabilities, then the label as a column per class."""
    p = said.answers if said.scale.hides_logits else np.exp(log_softmax(said.answers, axis=1))
    return np.column_stack([p, np.eye(p.shape[1])[said.labels]]).astype(np.float32)


def _attack_network(classes: int):
    """One branch for the answer and one for the label, then layers for both (Nasr et al. 2018)."""
    from torch import cat, nn

    def layers(*sizes: int):
        steps = itertools.pairwise(sizes)
        return nn.Sequential(*(part for before, after in steps for part in (nn.Linear(before, after), nn.ReLU())))

    class Attack(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.answer, self.label = layers(classes, 1024, 512, 64), layers(classes, 512, 64)
            self.both, self.out = layers(128, 256, 64), nn.Linear(64, 2)

        def forward(self, x):
            parts = self.answer(x[:, :classes]), self.label(x[:, classes:])
            return self.out(self.both(cat(parts, dim=1)))

    return Attack()
