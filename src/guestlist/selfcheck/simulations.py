"""Simulations with known ground truth: no model is trained."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, ndtr, ndtri

from guestlist._util import LazyMapping
from guestlist._views import Evidence, Rotation
from guestlist.evidence import (
    EVIDENCE,
    SimulatedModels,
    missing_evidence,
    outputs_of_margin,
    shared_with_stand_ins,
    signals_of_margin,
)
from guestlist.games import random_membership
from guestlist.models import signals_of_probabilities

__all__ = [
    "DESIGNS",
    "SURE_MARGIN",
    "Memorising",
    "as_rotation",
    "bernoulli",
    "complementary_pairs",
    "exactly_half",
    "gaussian",
    "gaussian_simulation",
    "memorising_simulation",
    "noise_simulation",
    "outputs_of_margin",
    "signals_of_margin",
    "signals_of_rounded",
    "unbalanced_references",
]

# A design draws (models, records) membership and returns the models to exclude together (None: each separately).
Design = Callable[[int, int, np.random.Generator], tuple[np.ndarray, np.ndarray | None]]
Seed = int | tuple[int, ...]


def bernoulli(models: int, records: int, rng: np.random.Generator) -> tuple[np.ndarray, None]:
    """Draw membership of each record in each model independently, with probability 0.5.

    Args:
        models, records: Numbers of models and records.
        rng: Random generator.

    Returns:
        (models, records) membership; and None: no models belong together.
    """
    return random_membership(records, models=models, rng=rng), None


def complementary_pairs(models: int, records: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw models in pairs: the members of one are the non-members of the other, and a pair is excluded together.

    Args:
        models, records: Numbers of models, which is even, and records.
        rng: Random generator.

    Returns:
        (models, records) membership, and (models,) the number of the pair.

    Raises:
        ValueError: If the number of models is odd.
    """
    if models % 2:
        raise ValueError(f"Expected models={models} to be even, for pairs.")
    first = random_membership(records, models=models // 2, rng=rng)
    return np.stack([first, ~first], axis=1).reshape(models, records), np.arange(models) // 2


def exactly_half(models: int, records: int, rng: np.random.Generator) -> tuple[np.ndarray, None]:
    """Draw every record into exactly half of the models: a design that reveals membership by the IN count.

    Args:
        models, records: Numbers of models and records.
        rng: Random generator.

    Returns:
        (models, records) membership; and None: no models belong together.
    """
    return rng.permuted(np.tile(np.arange(models) < models // 2, (records, 1)), axis=1).T, None


def unbalanced_references(models: int, records: int, rng: np.random.Generator) -> tuple[np.ndarray, None]:
    """Draw references in which many records are members of few models, or of nearly all.

    The first model is the target. Each record has its own probability of being in a reference. The target includes it
    with probability 0.5, independently of that probability, so that the count holds no information about the target.

    Args:
        models, records: Numbers of models and records.
        rng: Random generator.

    Returns:
        (models, records) membership; and None: no models belong together.
    """
    target = random_membership(records, models=1, rng=rng)
    rate = rng.uniform(0, min(1.0, MEAN_FEW / (models - 1)), records)
    rate = np.where(rng.random(records) < 0.5, rate, 1 - rate)
    return np.vstack([target, rng.random((models - 1, records)) < rate]), None


MEAN_FEW = 8  # largest expected number of references in the smaller of IN and OUT

DESIGNS: dict[str, Design] = {"bernoulli": bernoulli, "pairs": complementary_pairs}


def gaussian(
    shift: float,
    *,
    records: int = 4000,
    models: int = 65,
    seed: Seed = 0,
    log_deviation_sd: float = 0.0,
    design: Design = bernoulli,
    classes: int = 2,
    shares: Sequence[float] | None = None,
    tilt: float = 0.0,
    unsteady: float = 1.0,
    output: Callable[[np.ndarray], np.ndarray] = np.asarray,
    signals_of: Callable[[np.ndarray, int], dict[str, np.ndarray]] = signals_of_margin,
) -> tuple[SimulatedModels, np.ndarray | None]:
    """Simulate normal margins, ``shift`` larger for members, and return the models to exclude together.

    Args:
        log_deviation_sd: Variation over records of the standard deviation of their margins over models. It is
            log-normal with median 1, and this is the standard deviation of its logarithm.
        design: Function that draws membership; one of ``DESIGNS``, or a function like them.
        shares: Frequencies of the classes; equal by default.
        tilt: Shift of the classes of the first model's members towards later classes; 1 is the largest possible.
            Over members and non-members together the classes keep their frequencies.
        unsteady: Factor by which members' margins vary more over models than non-members' margins.
        output: Function from margins to the margins that models output.
        signals_of: Function from margins and the number of classes to signals by name.
    """
    rng = np.random.default_rng(seed)
    member, together = design(models, records, rng)
    difficulty = rng.normal(0.5, 1, records)
    deviation = np.exp(log_deviation_sd * rng.normal(size=records))
    noise = np.where(member, unsteady, 1.0) * deviation * rng.normal(size=member.shape)
    margin = difficulty + shift * member + noise
    simulated = SimulatedModels(
        difficulty=difficulty,
        deviation=deviation,
        margin=output(margin),
        member=member,
        labels=_labels(member[0], classes, shares, tilt, rng),
        others=_others(models, together),
        seed=_seeds(seed),
        classes=classes,
        output=output,
        signals_of=signals_of,
    )
    return simulated, together


SURE_MARGIN = 53 * float(np.log(2))  # log-odds beyond which a float64 probability is rounded to 1


def signals_of_rounded(margin: np.ndarray, classes: int = 2) -> dict[str, np.ndarray]:
    """Return the signals of a model with probabilities of exactly 0 or 1 from ``SURE_MARGIN`` on.

    Args:
        margin: Log-odds of the true class, clipped to ``SURE_MARGIN``.
        classes: Number of classes; only two are supported.
    """
    if classes != 2:
        raise ValueError(f"Expected classes={classes} to be 2.")
    right = np.where(np.abs(margin) < SURE_MARGIN, expit(margin), margin > 0).ravel()
    both = np.stack([1 - right, right], axis=1)
    signals = signals_of_probabilities(both, np.ones(len(both), dtype=np.intp), smallest=float(np.exp(-SURE_MARGIN)))
    return {name: values.reshape(np.shape(margin)) for name, values in signals.items()}


def gaussian_simulation(shift: float, **options) -> Rotation:
    """Simulate normal margins with every model in turn as the target.

    With ``log_deviation_sd=0`` LiRA's AUC tends to Phi(shift / sqrt 2).

    Args:
        shift: Difference of the mean margins of members and non-members, in standard deviations.
        options: ``records``, ``models``, ``seed``, ``design`` and others; see ``guestlist.selfcheck.simulations.gaussian``.

    Returns:
        The simulated models.

    Examples:
        >>> simulation = gl.testing.gaussian_simulation(1.0, records=100, models=5, seed=0)
        >>> simulation.values["margin"].shape, simulation.member.shape
        ((5, 100), (5, 100))
    """
    return as_rotation(*gaussian(shift, **options))


def noise_simulation(**options) -> Rotation:
    """Simulate models whose outputs do not depend on membership: the AUC of every attack is 0.5 on average.

    Args:
        options: As for :func:`gaussian_simulation`.

    Returns:
        The simulated models.
    """
    return gaussian_simulation(0.0, **options)


@dataclass(frozen=True)
class Memorising:
    """Simulation in which models memorise some records, and are more confident and less variable about other members.

    Args:
        rotation: Every model in turn as the target.
        memorised: (records,) True for memorised records.
    """

    rotation: Rotation
    memorised: np.ndarray


def memorising_simulation(
    *, outliers: bool, records: int = 2000, models: int = 17, share: float = 0.1, seed: Seed = 0
) -> Memorising:
    """Simulate models that memorise one record in ten.

    Of the other records, members' margins have a third of the standard deviation of non-members'. A correct attack ranks
    memorised members above all others, and members above non-members among the ordinary records.

    Args:
        outliers: True if models that did not train on a memorised record get it wrong; otherwise memorised records are
            like the others.
        records, models: Numbers of records and models.
        share: Share of memorised records.
        seed: Random seed.

    Returns:
        The simulated models, and a mask of the memorised records.
    """
    rng = np.random.default_rng(seed)
    member, together = bernoulli(models, records, rng)
    memorised = rng.random(records) < share
    difficulty = np.where(memorised & outliers, -3.0, rng.normal(2, 0.7, records))
    gain = np.where(memorised, 9.0, 0.3)
    steady = np.where(memorised, 1.0, 0.3)
    margin = difficulty + gain * member + np.where(member, steady, 1.0) * rng.normal(size=member.shape)
    simulated = SimulatedModels(
        difficulty=difficulty,
        deviation=np.ones(records),
        margin=margin,
        member=member,
        labels=rng.integers(0, 2, records),
        others=_others(models, together),
        seed=_seeds(seed),
    )
    return Memorising(as_rotation(simulated, together), memorised)


def as_rotation(
    simulated: SimulatedModels, together: np.ndarray | None = None, not_evaluated: np.ndarray | None = None
) -> Rotation:
    """Take every simulated model in turn as the target, with all the evidence that can be simulated.

    Args:
        simulated: Simulated models.
        together: (models,) Equal numbers for models that are excluded together.
        not_evaluated: (records,) True for records that are not evaluated.
    """
    kinds = {name: kind.simulate for name, kind in EVIDENCE.items() if kind.simulate}

    def evidence(k: int) -> Evidence:
        # Evidence is simulated on demand, since most attacks read none.
        return Evidence(
            LazyMapping(kinds, lambda name: kinds[name](simulated, k)), missing_evidence(), shared_with_stand_ins()
        )

    return Rotation(
        values=simulated.signals_of(simulated.margin, simulated.classes),
        member=simulated.member,
        labels=simulated.labels,
        together=together,
        evidence=evidence,
        not_evaluated=not_evaluated,
        outputs=lambda k: outputs_of_margin(simulated.margin[k], simulated.labels, simulated.classes),
    )


def _others(models: int, together: np.ndarray | None) -> Callable[[int], np.ndarray]:
    blocks = np.arange(models) if together is None else together
    return lambda k: np.flatnonzero(blocks != blocks[k])


def _labels(
    member: np.ndarray, classes: int, shares: Sequence[float] | None, tilt: float, rng: np.random.Generator
) -> np.ndarray:
    """Draw the true class of each record."""
    if shares is None and not tilt:
        return rng.integers(0, classes, len(member))
    frequency = np.full(classes, 1 / classes) if shares is None else np.asarray(shares)
    slope = np.linspace(-1, 1, classes)
    slope = slope - frequency @ slope
    slope *= tilt / np.abs(slope).max()
    ends = np.cumsum(frequency * np.stack([1 - slope, 1 + slope]), axis=1)[member.astype(int)]
    return np.minimum((rng.random((len(member), 1)) > ends).sum(axis=1), classes - 1)


def _seeds(seed: Seed) -> tuple[int, ...]:
    return tuple(int(part) for part in np.atleast_1d(seed))


@dataclass(frozen=True)
class FinitePool:
    """Normal margins with a standard deviation of 1; some records are easy, whether members or not.

    An attack that compares margins with one threshold flags easy records under most models, and other records under
    few. The nominal rate therefore holds on average over records, but for almost no single record.

    Args:
        records, models: Numbers of records and models; the records are the same under all models.
        easy: Share of the records, the first ones, whose margins are larger by ``ease``.
        ease: Increase of the margins of easy records.
        shift: Increase of members' margins.
    """

    records: int = 400
    models: int = 16
    easy: float = 0.1
    ease: float = 3.0
    shift: float = 1.0

    @property
    def is_easy(self) -> np.ndarray:
        return np.arange(self.records) < round(self.easy * self.records)

    def draw(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Draw (models, records) margins and membership."""
        member = rng.random((self.models, self.records)) < 0.5
        return self.ease * self.is_easy + self.shift * member + rng.normal(size=member.shape), member

    def rates(self, fpr: float) -> tuple[float, float]:
        """Return the FPR of hard and of easy records at the threshold with an overall FPR of ``fpr``."""
        return _rates(float(self.is_easy.mean()), self.ease, fpr)


@lru_cache
def _rates(easy: float, ease: float, fpr: float) -> tuple[float, float]:
    threshold = brentq(lambda t: easy * ndtr(ease - t) + (1 - easy) * ndtr(-t) - fpr, -40, 40)
    return float(ndtr(-threshold)), float(ndtr(ease - threshold))


@dataclass(frozen=True)
class Visits:
    """Standard normal scores, larger by ``shift`` for members, that are correlated within a person.

    Args:
        shift: Difference of the means of members and non-members.
        persons: Number of persons among members, and among non-members.
        records: Records per person; if ``uneven``, a random number from 1 to ``2 * records - 1``.
        correlation: Intraclass correlation.
    """

    shift: float = 0.0
    persons: int = 40
    records: int = 10
    correlation: float = 0.5
    uneven: bool = False

    def draw(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Draw (records,) scores, membership, and numbers of persons."""
        n_persons = 2 * self.persons
        counts = np.full(n_persons, self.records)
        if self.uneven:
            counts = rng.integers(1, 2 * self.records, n_persons)
        person = np.repeat(np.arange(n_persons), counts)
        person_effect = rng.normal(size=n_persons)[person]
        noise = rng.normal(size=len(person))
        member = person < self.persons
        return (
            np.sqrt(self.correlation) * person_effect + np.sqrt(1 - self.correlation) * noise + self.shift * member,
            member,
            person,
        )

    @property
    def auc(self) -> float:
        return float(ndtr(self.shift / np.sqrt(2)))

    def rates(self, threshold: float) -> tuple[float, float]:
        """Return TPR and FPR at a threshold."""
        return float(ndtr(self.shift - threshold)), float(ndtr(-threshold))

    def tpr(self, fpr: float) -> float:
        return float(ndtr(ndtri(fpr) + self.shift))

    def ppv(self, fpr: float, prior: float) -> float:
        flagged_members = prior * self.tpr(fpr)
        return flagged_members / (flagged_members + (1 - prior) * fpr)
