"""Risks of the members of one target, attacks on it, and the predictive value of each risk for each attack.

The modified-entropy attack fits its thresholds per class on the target itself, as in the paper (the owner's worst case), or
on a shadow model: another model, trained on another half of the records. The likelihood-ratio attack flags a record if the
ratio is above 1, or at a false positive rate of 5 %.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import softmax

import guestlist as gl
from guestlist.metrics import flags_at_fpr
from papers.shapr.models import TrainedModels, query

SELF_SHADOW, SHADOW, LIRA, LIRA_LOW = "mentr, own shadow", "mentr, true shadow", "LiRA", "LiRA at 5 % FPR"
ATTACKS = (SELF_SHADOW, SHADOW, LIRA, LIRA_LOW)
FPR = 0.05

EVERY_MEMBER, SCORE, SCORE_SHADOW = "all_members", "risk score", "risk score, shadow"
INPUTS, FIRST, LAST, OUTPUTS = (f"SHAPr, {space}" for space in ("inputs", "first layer", "last hidden", "outputs"))
SPACES = (INPUTS, FIRST, LAST, OUTPUTS)
RISKS = (EVERY_MEMBER, SCORE, SCORE_SHADOW, *SPACES)


@dataclass(frozen=True, eq=False)
class Repeat:
    """One target.

    Args:
        member, labels: (records,) the truth, and the classes.
        scores, calls: attack to (records,) scores and flags; a flag is 1.0 or 0.0, NaN without a score.
        risks: name to (members,) values.
        right: (records,) 1.0 where the target is correct.
    """

    member: np.ndarray
    labels: np.ndarray
    scores: Mapping[str, np.ndarray]
    calls: Mapping[str, np.ndarray]
    risks: Mapping[str, np.ndarray]
    right: np.ndarray

    def worths(self) -> list[gl.risks.PredictiveValue]:
        """Return the predictive value of every risk for every attack, over the members."""
        return [
            gl.risks.predictive_value(
                values,
                self.scores[attack][self.member],
                self.calls[attack][self.member],
                risk=risk,
                attack=attack,
                threshold=THRESHOLDS[risk],
            )
            for attack in ATTACKS
            for risk, values in self.risks.items()
        ]


THRESHOLDS = {EVERY_MEMBER: 0.0, SCORE: 0.5, SCORE_SHADOW: 0.5} | dict.fromkeys(SPACES, 0.0)


def repeat(trained: TrainedModels, k: int) -> Repeat:
    """Evaluate model ``k`` as the target; the next one is its shadow model, and all others are references."""
    member, labels = trained.member[k], trained.pool.y
    shadow = (k + 1) % len(trained.member)
    entropy = trained.rotation.values["mentr"]
    lira = gl.attacks.ATTACKS["lira"].score(trained.rotation.facing(k))
    scores = {
        SELF_SHADOW: own_scores(trained, k),
        SHADOW: beyond(entropy[[k, shadow]], trained.member[shadow], labels),
        LIRA: lira,
        LIRA_LOW: lira,
    }
    # A record that no reference, or every reference, trained on has no ratio, and is excluded.
    calls = {name: np.where(np.isnan(scores[name]), np.nan, scores[name] >= 0) for name in (SELF_SHADOW, SHADOW, LIRA)}
    calls[LIRA_LOW] = flags_at_fpr(lira, member, FPR)
    risks = {
        EVERY_MEMBER: np.ones(member.sum()),
        SCORE: score(entropy[[k, k]], member, labels)[member],
        SCORE_SHADOW: score(entropy[[k, shadow]], trained.member[shadow], labels)[member],
        **{name: shapr_in(space_of(trained, k), member, labels) for name, space_of in EMBEDDINGS.items()},
    }
    return Repeat(member, labels, scores, calls, risks, trained.rotation.values["correct"][k])


def own_scores(trained: TrainedModels, k: int) -> np.ndarray:
    """Return (records,) scores of the modified-entropy attack with the target as its own shadow; 0 or more is flagged."""
    return beyond(trained.rotation.values["mentr"][[k, k]], trained.member[k], trained.pool.y)


def shapr_in(space: np.ndarray, member: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return (members,) SHAPr in ``space``, with the non-members as test records."""
    return gl.risks.shapr(space[member], labels[member], space[~member], labels[~member])


def _inputs(trained: TrainedModels, k: int) -> np.ndarray:
    return trained.pool.x


def _first(trained: TrainedModels, k: int) -> np.ndarray:
    return query(trained.targets[k][:2], trained.pool.x)  # a layer and its activation


def _last(trained: TrainedModels, k: int) -> np.ndarray:
    return query(trained.targets[k][:-1], trained.pool.x)


def _outputs(trained: TrainedModels, k: int) -> np.ndarray:
    return softmax(trained.logits[k], axis=1)


EMBEDDINGS: dict[str, Callable[[TrainedModels, int], np.ndarray]] = {
    INPUTS: _inputs, FIRST: _first, LAST: _last, OUTPUTS: _outputs
}  # fmt: skip


def beyond(entropies: np.ndarray, known: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return (records,) the distance of the first model's entropies from class thresholds fitted on the second model."""
    return gl.attacks.ATTACKS["class_mentr"].score(gl.attacks.Signals({"mentr": entropies}, known[None], labels))


def score(entropies: np.ndarray, known: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return (records,) the risk score of the first model's entropies, fitted on the second model."""
    return gl.risks.risk_score(entropies[0], labels, known_values=entropies[1], known_labels=labels, known_member=known)
