"""Test of a claimed epsilon: the advantage that it allows, and the lower bound that scores imply."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from guestlist._case import Case
from guestlist._findings import headline, read_case
from guestlist._util import close_matches
from guestlist.errors import InputError
from guestlist.games import Provable, Split, Trials, game_of, is_iid
from guestlist.privacy import (
    BayesianRuns,
    Bonferroni,
    BoundMethod,
    Claim,
    ClopperPearson,
    Coins,
    EpsilonBound,
    FixedSize,
    GaussianRuns,
    HoldOut,
    Median,
    OneRun,
    OneRunCurve,
    Threshold,
    about_together,
    allowed_advantage,
    epsilon_lower_bound,
)

SIGNAL = "margin"


def scored(signal: np.ndarray, models: Split) -> tuple[np.ndarray, np.ndarray]:
    """Return the score of each model, from (models, records) signals, and the membership of the first queried record."""
    every = np.arange(len(signal))
    first = models.evaluated.argmax(axis=1)
    last = models.evaluated.shape[1] - 1 - models.evaluated[:, ::-1].argmax(axis=1)
    second = np.where(first == last, 0.0, signal[every, last])
    return signal[every, first] - second, models.member[every, first]


DELTA = 1e-5
# Reasons why no lower bound can be proved, by the code in the results.
REFUSED = {
    "own split": "you chose the members, and a bound needs members drawn at random, record by record. Let guestlist draw "
    "them and train the model: gl.play(gl.games.Bernoulli(0.5), …), or gl.games.Canaries()",
    "rate": "each record must be a member with probability 0.5, and the rate was different: play gl.games.Bernoulli(0.5)",
    "persons": "all records of a person were drawn together, and the claim is about one record: play without person=",
    "game": "the game does not draw members from one pool at random: play gl.games.Bernoulli(0.5)",
    "attack": "the attack compares with models that were trained on the true members, so its guesses are not independent: "
    "play gl.games.Bernoulli(0.5) with another attack",
    "taught": "the attack was fitted on records of known membership from this game, and excludes them, so the remaining "
    "records are not a random draw: play gl.games.Bernoulli(0.5) with another attack",
    "runs": "each model of this game is one trial, and this method needs one model with many records: use "
    "gl.privacy.ClopperPearson(), gl.privacy.GaussianRuns() or gl.privacy.BayesianRuns()",
}
# Evidence that depends on the membership of other records, and the code of the reason: guesses are then not independent.
OTHERS_KNOWN = {"left_out": "attack", "quantiles": "taught", "white_box": "taught"}


@dataclass(frozen=True)
class Epsilon:
    """A privacy claim, the advantage that it allows, and a lower bound on epsilon.

    Args:
        claimed: the claim; None if only a bound was requested.
        advantage: largest advantage of any attack under the ``allowed`` claim, if members and non-members are exchangeable.
        attack: attack that gave the scores.
        bound: lower bound on epsilon; None if none can be proved, for the reason in ``refused``.
        refused: a code of ``REFUSED``.
        fixed_size: whether the number of members was fixed beforehand, which weakens the bound.
        gaussian: whether the bound holds only for Gaussian noise.
        runs: whether each score comes from a separate model.
        replaced: whether the bound is about replacing one record by another, for which a claim about adding or removing one
            record is weaker.
        bayesian: whether the bound is a credible bound.
        records_per_person: largest number of records of one person, which are included or excluded together; a claim about
            one record is weaker for them.
        not_exchangeable: whether the game draws members and non-members from different populations, where the claim does not
            limit attacks.
    """

    claimed: Claim | None
    advantage: float | None
    attack: str | None
    bound: EpsilonBound | None
    refused: str | None = None
    fixed_size: bool = False
    gaussian: bool = False
    runs: bool = False
    replaced: bool = False
    bayesian: bool = False
    records_per_person: int = 1
    not_exchangeable: bool = False

    @property
    def allowed(self) -> Claim | None:
        """Return the claim for the compared records: replacing a record removes one and adds one."""
        return _allowed(self.claimed, 2 if self.replaced else self.records_per_person)

    @property
    def about_other_noise(self) -> bool:
        """True if the bound assumes Gaussian noise and the claim does not: other mechanisms may still satisfy the claim."""
        return self.gaussian and self.claimed is not None and not self.claimed.gaussian

    @property
    def contradicted(self) -> bool:
        """True if the bound exceeds the allowed epsilon; for a Bayesian bound, if the claim is hardly credible."""
        if self.allowed is None or self.bound is None or self.about_other_noise:
            return False
        return self.bound.epsilon > self.allowed.epsilon


def find(case: Case) -> Epsilon | None:
    """Test the claim about a target with the scores of the headline attack; None if nothing is claimed."""
    claim = case.setting.claimed
    if claim is None:
        return None
    try:
        return epsilon_bound(case, claimed=claim)
    except NoBoundError as refusal:
        together = 1  # largest number of evaluated records of one person
        if "person" in case.records:
            together = int(case.records["person"][case.truth.evaluated].value_counts().max())
        return Epsilon(
            claimed=claim,
            advantage=_max_advantage(_allowed(claim, together)),
            attack=None,
            bound=None,
            refused=refusal.code,
            records_per_person=together,
            not_exchangeable=not case.setting.predictions and not is_iid(game_of(dict(case.setting.game))),
        )


def epsilon_bound(
    case: Case | str | Path,
    *,
    delta: float = DELTA,
    claimed: float | Claim | None = None,
    attack: str | None = None,
    method: BoundMethod | None = None,
    threshold: Bonferroni | HoldOut | Median | None = None,
    confidence: float = 0.95,
) -> Epsilon:
    """Compute a lower bound on epsilon from one model, or many runs, and compare it with a claim.

    One model must come from ``play`` with ``Bernoulli(0.5)`` or ``Canaries()``, or with ``Sides``, which proves less; many runs
    from ``play_many``.

    Args:
        case: An audit, or its folder.
        delta: Delta of the bound.
        claimed: Claimed epsilon, if any; or a ``Claim``, whose delta then replaces ``delta``.
        attack: Name of the attack, chosen before its results were known; by default the headline attack, which was chosen on
            stand-in targets or fixed beforehand.
        method: ``OneRun()`` or ``OneRunCurve()`` for one model; ``ClopperPearson()``, ``GaussianRuns()`` or ``BayesianRuns()``
            for many runs. By default ``OneRun()`` or ``ClopperPearson()``.
        threshold: Correction for the choice of a threshold: ``Bonferroni()``, ``HoldOut()`` or ``Median()``.
        confidence: Confidence level of the bound.

    Returns:
        The claim, the largest advantage that it allows, and the lower bound on epsilon in ``.bound``.

    Raises:
        InputError: If no bound can be proved, with the reason; or there are no scores of ``attack``.
        FolderError: If the folder is not an audit folder, or is damaged.

    Examples:
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> _, (x, y), _ = gl.testing.small_model()
        >>> results = gl.play(
        ...     gl.games.Bernoulli(0.5), DecisionTreeClassifier(), (x, y), references=0, attacks=["loss"], folder="audits/game"
        ... )
        >>> proven = gl.epsilon_bound("audits/game", claimed=0.01)
        >>> proven.contradicted, proven.bound.confidence
        (True, 0.95)
    """
    if not isinstance(case, Case):
        case = read_case(case)
    if claimed is not None and not isinstance(claimed, Claim):
        claimed = Claim(claimed, delta)
    if claimed is not None:
        delta = claimed.delta
    if not case.setting.predictions and case.truth.models is not None:
        game = game_of(dict(case.setting.game))
        if isinstance(game, Trials):
            scores, member = scored(case.view.values[SIGNAL], case.truth.models)
            return _of_runs(scores, member, game.replaces, claimed, delta, method, threshold, confidence)
    method = method or OneRun()
    if not isinstance(method, (OneRun, OneRunCurve)):
        raise InputError(
            f"The records of one model are not independent trials, which {type(method).__name__} needs. Use "
            "gl.privacy.OneRun(). For one score from each of many models, use gl.play_many or "
            "gl.privacy.epsilon_lower_bound."
        )
    method = replace(method, membership=membership_of(case))
    name = case.of(headline.find).name if attack is None else _known(case, attack)
    if case.attacks[name].evidence in OTHERS_KNOWN:
        raise NoBoundError(OTHERS_KNOWN[case.attacks[name].evidence])
    bound = epsilon_lower_bound(
        case.evaluated_scores[name],
        case.truth.member_evaluated,
        delta=delta,
        method=method,
        threshold=threshold,
        confidence=confidence,
    )
    return Epsilon(
        claimed=claimed,
        advantage=_max_advantage(claimed),
        attack=name,
        bound=bound,
        fixed_size=isinstance(method.membership, FixedSize),
        gaussian=isinstance(method, OneRunCurve) and method.curve == "gaussian",
    )


def _of_runs(
    scores: np.ndarray,
    member: np.ndarray,
    replaced: bool,
    claim: Claim | None,
    delta: float,
    method: BoundMethod | None,
    threshold: Threshold | None,
    confidence: float,
) -> Epsilon:
    """Compute the bound from one score of each model; ``replaced``: one record takes the place of the other."""
    method = method or ClopperPearson()
    if isinstance(method, (OneRun, OneRunCurve)):
        raise NoBoundError("runs")
    epsilon = Epsilon(
        claimed=claim,
        advantage=None,
        attack=SIGNAL,
        bound=None,
        gaussian=isinstance(method, GaussianRuns),
        runs=True,
        replaced=replaced,
        bayesian=isinstance(method, BayesianRuns),
    )
    at = delta if epsilon.allowed is None else epsilon.allowed.delta
    bound = epsilon_lower_bound(scores, member, delta=at, method=method, threshold=threshold, confidence=confidence)
    return replace(epsilon, advantage=_max_advantage(epsilon.allowed), bound=bound)


def _allowed(claim: Claim | None, together: int) -> Claim | None:
    if claim is None or together == 1:
        return claim
    return about_together(claim, together)


def _max_advantage(claim: Claim | None) -> float | None:
    if claim is None:
        return None
    return allowed_advantage(claim)


class NoBoundError(InputError):
    """No bound can be proved for this audit."""

    def __init__(self, code: str):
        super().__init__(f"No epsilon can be proved or refuted: {REFUSED[code]}.")
        self.code = code


def membership_of(case: Case) -> Coins | FixedSize:
    """Return the randomisation that drew the members; raise if it supports no bound."""
    if case.setting.predictions:
        raise NoBoundError("own split")
    game = game_of(dict(case.setting.game))
    if not isinstance(game, Provable):
        raise NoBoundError("game")
    if not case.setting.drawn:
        raise NoBoundError("own split")
    records = case.records[case.truth.evaluated]
    if "person" in records and records["person"].duplicated().any():
        raise NoBoundError("persons")
    membership = game.membership(records["label"].to_numpy())
    if membership is None:
        raise NoBoundError("rate")
    return membership


def _known(case: Case, attack: str) -> str:
    if attack not in case.attacks:
        raise InputError(f"There are no scores of {attack!r}. Available names: {close_matches(attack, case.attacks)}.")
    if case.attacks[attack].oracle:
        raise InputError(
            f"{attack!r} knows the true membership, so no bound can be based on it. Choose another attack."
        )
    return attack
