"""The headline attack, and whether its result is due to this model or to the training recipe.

The headline is never the attack that did best on the target. With enough references it is the attack that did best on *them*,
each in turn as a stand-in target; with fewer, one that was fixed beforehand. It is never one that knows the truth.

There are two rows. The headline is for someone who can query the model. Attacks on evidence that takes the model file, such as
the leaves of trees, have a separate row, chosen in the same way among themselves.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.special import stdtr, stdtrit

from guestlist._case import Case, signal_of
from guestlist._collect import MIN_STAND_INS
from guestlist._findings.significance import DRAWS
from guestlist._kernels import as_slice, aucs, needs_shifts, optional_take, take_columns
from guestlist._store import MANY_RECORDS
from guestlist._util import lazy_matrices, stream
from guestlist._views import Rotation
from guestlist.attacks import ATTACKS, Attack, score_every_target
from guestlist.errors import InputError, NotCollectedError
from guestlist.evidence import MODEL_FILE, QUERIES, attacks_of_access
from guestlist.metrics import Estimate, Resolution, pooled_auc, resolution, threshold_at_fpr
from guestlist.risks import RISKS, memorisation, risks_of

# Fixed before the audit if there are too few references to choose on: the first of these that was run. From 2
# references on lira_bayes has the largest mean TPR at 1 % FPR over six datasets for each of four types of model. With
# one reference base is closest to the best attack on average (benchmarks/attacks/strength.json).
PREFERRED = ("lira_bayes", "base", "loss")
FIXED = "fixed"


@dataclass(frozen=True)
class SameRecipe:
    """Models trained by the same recipe on other halves of these records.

    The rank of the target among them is too coarse to flag it as unusual: one model in 33 is the first of 33.
    ``prediction_interval`` is finer. It compares with models of different members *and* different seeds. Models with
    the target's members and other seeds are not among them, so it does not predict the effect of training again on the
    same members (``benchmarks/error_rates/prediction_interval.py``).

    ``auc`` is the mean over models, with the interval for a fresh model on fresh records; ``share_larger`` is the share
    of them with a larger AUC than the target's, ties counting 0.5. ``attacks`` are the attacks that were run, one for
    each model: chosen on models of the other half, as the headline was chosen on models other than the target.
    """

    auc: Estimate
    aucs: tuple[float, ...]
    share_larger: float
    attacks: tuple[str, ...] = ()

    @property
    def prediction_interval(self) -> Estimate | None:
        """Mean AUC of these models with a 95% prediction interval for one more of them.

        It is Student's prediction interval on the arcsine scale, which stabilises the variance of AUCs near 1. Models that share
        records are dependent; the interval is still valid, because the target shares the same number with each of them. None with
        fewer than three models, or if they do not differ.
        """
        if len(self.aucs) < 3 or not np.ptp(self.aucs) > 0:
            return None
        mean, deviation, dof = self._angles()
        half = stdtrit(dof, 0.975) * deviation
        low, high = np.sin(np.clip(mean + np.array([-half, half]), 0, np.pi / 2)) ** 2
        return Estimate(float(np.mean(self.aucs)), float(low), float(high))

    def chance_below(self, auc: float, *, records: int) -> float:
        """Return the probability that one more of these models has an AUC of at most ``auc``, by the same prediction interval.

        Args:
            auc: AUC on the target.
            records: Number of members. If these models do not differ, their standard deviation is taken to be that of a share
                of this number.
        """
        mean, deviation, dof = self._angles()
        if not deviation > 0:
            deviation = 0.5 / np.sqrt(records)
        return float(stdtr(dof, (np.arcsin(np.sqrt(auc)) - mean) / deviation))

    def _angles(self) -> tuple[float, float, int]:
        """Return the mean AUC on the arcsine scale, the prediction standard deviation of a new AUC, and degrees of freedom."""
        angles = np.arcsin(np.sqrt(self.aucs))
        models = len(angles)
        return float(angles.mean()), float(angles.std(ddof=1) * np.sqrt(1 + 1 / models)), models - 1


@dataclass(frozen=True)
class Headline:
    """Attack that the verdict rests on, for one of the two attackers.

    Attributes:
        name: Name of the attack.
        measure: Metric that was compared on stand-in targets, ``tpr@0.01`` or ``auc``; ``fixed`` if the attack was fixed
            before the audit.
        stand_ins: Number of stand-in targets.
        same_recipe: Results on the stand-in targets, if the attack was chosen on some.
    """

    name: str
    measure: str
    stand_ins: int
    same_recipe: SameRecipe | None


def find(case: Case) -> Headline:
    """Choose the attack that does best on stand-in targets; with too few, one that was fixed before the audit."""
    choice = case.of(chosen)
    if choice is None:
        attacks = _candidates(case)
        able = [name for name, attack in attacks.items() if attack.on_stand_ins]
        fixed = next((name for name in (*PREFERRED, *able) if name in attacks), next(iter(attacks)))
        return Headline(fixed, FIXED, 0, None)
    stand_ins = case.of(sampled_stand_ins)
    assert stand_ins is not None  # the choice was made on stand-in targets
    sampled = tried(case)
    recipe = same_recipe(
        choice.crossed,
        stand_ins.member[:, case.truth.evaluated[case.of(sample)]],
        case.scores[choice.name][case.truth.evaluated][sampled],
        case.truth.member_evaluated[sampled],
        optional_take(case.persons, sampled),
    )
    return Headline(choice.name, choice.measure, choice.stand_ins, replace(recipe, attacks=choice.crossed_names))


def find_file_holder(case: Case) -> Headline | None:
    """Choose an attack for someone who holds the model file; None if no attack takes it, or no other was run."""
    attacks = attacks_of_access(case.attacks, MODEL_FILE)
    attacks = {name: attack for name, attack in attacks.items() if name not in _candidates(case)}
    if not attacks:
        return None
    choice = None
    if all(attack.on_stand_ins for attack in attacks.values()):
        choice = _choose(case, attacks)
    if choice is None:
        return Headline(next(iter(attacks)), FIXED, 0, None)
    return Headline(choice.name, choice.measure, choice.stand_ins, None)


def headline_rows(case: Case) -> tuple[str, ...]:
    """Return the attacks of the headline rows: the headline, and that of the file holder if there is one."""
    first = case.of(find).name
    second = case.of(find_file_holder)
    if second is None:
        return (first,)
    return (first, second.name)


def chosen(case: Case) -> "Choice | None":
    """Return the choice on stand-in targets; None with too few, or if no attack can be tried on them."""
    return _choose(case, _candidates(case))


def _choose(case: Case, attacks: Mapping[str, Attack]) -> "Choice | None":
    stand_ins = case.of(sampled_stand_ins)
    if stand_ins is None or len(stand_ins.member) < MIN_STAND_INS:
        return None
    try:
        return choose(stand_ins, attacks, case.truth.evaluated[case.of(sample)])
    except InputError:  # none of them can be tried on stand-in targets
        return None


def stand_in_scores(case: Case) -> np.ndarray | None:
    """Return (stand-in targets, evaluated records) scores of the headline; None if it was not tried on any."""
    choice = case.of(chosen)
    if choice is None:
        return None
    if len(case.of(parts_of_records)) == 1:
        return choice.scores
    return scores_part_by_part(case, case.attacks[choice.name])


def same_recipe(
    scores: np.ndarray,
    member: np.ndarray,
    target_scores: np.ndarray,
    target_member: np.ndarray,
    persons: np.ndarray | None = None,
) -> SameRecipe:
    """Compare the target with models of the same recipe.

    Stand-in targets have one reference fewer than the target, because the target is not one of their references.

    Args:
        scores: (models, records) scores of stand-in targets.
        member: (models, records) true for their members.
        target_scores: (records,) scores of the target.
        target_member: (records,) true for its members.
        persons: (records,) person of each record.
    """
    model_aucs = aucs(scores, member)
    target_auc = float(aucs(target_scores[None], target_member[None])[0])
    larger = float((model_aucs > target_auc).sum() + 0.5 * (model_aucs == target_auc).sum())
    return SameRecipe(
        auc=pooled_auc(scores, member, clusters=persons),
        aucs=tuple(map(float, model_aucs)),
        share_larger=larger / len(model_aucs),
    )


def _candidates(case: Case) -> dict[str, Attack]:
    """Return the attacks by queries; if there are none, those that take the model file."""
    return attacks_of_access(case.attacks, QUERIES) or attacks_of_access(case.attacks, MODEL_FILE)


FPR = 0.01
AT_RATE = f"tpr@{FPR:g}"
TARGET = 0
ENOUGH = 1000  # minimum number of records on which halves of the stand-in targets are tried


@dataclass(frozen=True)
class Choice:
    """The attack that does best on stand-in targets.

    Args:
        name: name of the attack.
        measure: compared metric: ``tpr@0.01``, or ``auc`` if the records cannot resolve that rate.
        means: attack to its mean over stand-in targets, best first.
        stand_ins: number of stand-in targets.
        scores: (stand-in targets, evaluated records) scores of the chosen attack.
        crossed: (stand-in targets, evaluated records) scores of the attack that was chosen on the half to which a stand-in
            target does not belong.
        crossed_names: (stand-in targets,) name of that attack.
    """

    name: str
    measure: str
    means: Mapping[str, float]
    stand_ins: int
    scores: np.ndarray = field(compare=False, repr=False)
    crossed: np.ndarray = field(compare=False, repr=False)
    crossed_names: tuple[str, ...]


def choose(stand_ins: Rotation, attacks: Mapping[str, Attack] = ATTACKS, evaluated: np.ndarray | None = None) -> Choice:
    """Choose the attack with the largest mean TPR at 1% FPR over stand-in targets; the first in ``attacks`` among ties.

    The AUC decides if fewer than ten false positives are expected at that rate, on the stand-in target with the fewest
    non-members. A record without a score counts as the least likely member: an attack must not win by omitting hard
    records.

    Args:
        stand_ins: the reference models, each in turn as a target of the others.
        attacks: name to attack; those that need more references than a stand-in target has are skipped.
        evaluated: (records,) true for the records that count; by default all.
    """
    if evaluated is None:
        evaluated = np.ones(len(stand_ins.labels), dtype=bool)
    attacks = {name: attack for name, attack in attacks.items() if attack.on_stand_ins and not attack.oracle}
    second = halves(stand_ins.blocks)
    measure = _measure(stand_ins, evaluated)
    # Any rule that uses only one half may choose for the other half. Attacks that fit a model take seconds per target, so
    # they are excluded here, and many records are subsampled.
    quick = {name: attack for name, attack in attacks.items() if not attack.learns}
    subset = some_of(len(evaluated))
    fewer, fewer_evaluated = (
        (stand_ins, evaluated) if subset is None else (stand_ins.take_records(subset), evaluated[subset])
    )
    on_first, on_second = (
        _tried(fewer.take(np.flatnonzero(half)), quick, fewer_evaluated, measure) for half in (~second, second)
    )
    trial = _tried(stand_ins, attacks, evaluated, measure, keep=(on_first.best, on_second.best))
    if not trial.means:
        raise InputError(
            f"No attack can be selected with {len(stand_ins.member)} reference models. Train at least 8: references= "
            "(--references)."
        )
    # If a half is too small to try any attack on, the first attack serves, which was not chosen by its results either.
    fixed = next(iter(trial.means))
    first, late = (half.best if half.best in trial.means else fixed for half in (on_first, on_second))
    ranked = dict(sorted(trial.means.items(), key=lambda item: -item[1]))  # stable: the first among equals stays first
    return Choice(
        name=trial.best,
        measure=measure,
        means=ranked,
        stand_ins=len(stand_ins.member),
        scores=trial.scores[trial.best],
        crossed=np.where(second[:, None], trial.scores[first], trial.scores[late]),
        crossed_names=tuple(first if in_second else late for in_second in second),
    )


def halves(blocks: np.ndarray) -> np.ndarray:
    """Return (models,) true for the second half; models of one block stay together."""
    return np.unique(blocks, return_inverse=True)[1] % 2 == 1


def some_of(records: int) -> np.ndarray | None:
    """Draw half of the records at random; None if there are too few."""
    if records < 2 * ENOUGH:
        return None
    return np.sort(np.random.default_rng(0).permutation(records)[: records // 2])


def _measure(stand_ins: Rotation, evaluated: np.ndarray) -> str:
    """Return the metric to compare: a TPR if the stand-in target with the fewest non-members can resolve it."""
    fewest = int((~take_columns(stand_ins.member, evaluated)).sum(axis=1).min(initial=evaluated.sum()))
    if resolution(FPR, fewest) is Resolution.GOOD:
        return AT_RATE
    return "auc"


@dataclass(frozen=True)
class _Trial:
    """Mean of every attack over stand-in targets, the best attack, and the scores of those to keep."""

    means: Mapping[str, float]
    best: str
    scores: Mapping[str, np.ndarray]


def _tried(
    stand_ins: Rotation, attacks: Mapping[str, Attack], evaluated: np.ndarray, measure: str, keep: tuple[str, ...] = ()
) -> _Trial:
    """Run every attack that can run on every stand-in target."""
    member = take_columns(stand_ins.member, evaluated)
    mean = mean_tpr if measure == AT_RATE else mean_auc
    references = len(stand_ins.others(0)) if len(member) else 0
    means: dict[str, float] = {}
    kept_scores: dict[str, np.ndarray] = {}
    best = ""
    for name, attack in attacks.items() if references else ():
        has_evidence = not attack.evidence or stand_ins.evidence(0).get(attack.evidence) is not None
        if attack.references <= references and has_evidence and (not attack.custom or _runs(attack, stand_ins)):
            scores = take_columns(score_every_target(attack, stand_ins), evaluated)
            means[name] = mean(scores, member)
            if not best or means[name] > means[best]:
                best = name
            wanted = (next(iter(means)), best, *keep)  # other scores are dropped, because there may be many attacks
            kept_scores[name] = scores
            kept_scores = {attack: values for attack, values in kept_scores.items() if attack in wanted}
    return _Trial(means, best, kept_scores)


def _runs(attack: Attack, stand_ins: Rotation) -> bool:
    """Return whether a user-defined attack runs without evidence, which stand-in targets do not have."""
    try:
        attack.score(stand_ins.facing(0))
    except NotCollectedError:
        return False
    return True


def stand_in_targets(rotation: Rotation) -> Rotation:
    """Return the reference models, each in turn as a target of the others."""
    models = np.flatnonzero(np.arange(len(rotation.member)) != TARGET)
    if len(models) < 2:
        raise InputError(
            f"Stand-in targets serve as reference models for each other, so at least 2 are needed; found {len(models)}."
        )
    return rotation.take(models)


def mean_auc(scores: np.ndarray, member: np.ndarray) -> float:
    """Return the mean AUC over targets; a record without a score counts as the least likely member."""
    return float(aucs(np.where(np.isnan(scores), -np.inf, scores), member).mean())


def mean_tpr(scores: np.ndarray, member: np.ndarray, fpr: float = FPR) -> float:
    """Return the mean TPR at ``fpr`` over targets; a record without a score is never flagged."""
    scores = np.where(np.isnan(scores), -np.inf, scores)
    rates = [
        (row[truth] >= threshold_at_fpr(row[~truth], fpr)).mean() for row, truth in zip(scores, member, strict=True)
    ]
    return float(np.mean(rates))


MAX_CELLS = 2**20  # stand-in targets times records


@dataclass(frozen=True)
class Sampling:
    """Computations that used part of the records, because there are very many.

    Args:
        records: number of records of the pool.
        attack_sample: number of records on which attacks were tried on stand-in targets; None: all.
        cyclic_shifts: whether permutation tests shifted the membership labels along the records instead of permuting them.
        mu_fitted_on: number of records on which the distribution of mu was fitted; None: all that have a mu.
        single_precision: whether the signals are stored in single precision.
        classes_fitted_on: number of records on which class-wise values, such as thresholds, were fitted; None: all.
    """

    records: int
    attack_sample: int | None
    cyclic_shifts: bool
    mu_fitted_on: int | None = None
    single_precision: bool = False
    classes_fitted_on: int | None = None


def find_sampling(case: Case) -> Sampling | None:
    """Report the computations that used part of the records; None if all used all records."""
    used = Sampling(len(case.records), None, needs_shifts(int(case.truth.evaluated.sum()), DRAWS))
    if len(case.of(parts_of_records)) > 1:
        used = replace(used, attack_sample=len(case.of(sample)))
    if RISKS["mu"].possible(case) and (~np.isnan(risks_of(case)["mu"])).sum() > memorisation.AT_ONCE:
        used = replace(used, mu_fitted_on=memorisation.AT_ONCE)
    margin = signal_of(case.view, "margin")
    if len(case.records) > MANY_RECORDS and margin is not None:
        single = np.array_equal(margin, margin.astype(np.float32), equal_nan=True)
        used = replace(used, single_precision=single)
    if case.scores:
        used = replace(used, classes_fitted_on=case.view.n_estimation_rows)
    if used == Sampling(len(case.records), None, False):
        return None
    return used


def sample(case: Case) -> np.ndarray:
    """Return the records on which stand-in targets are evaluated, in order."""
    return case.of(parts_of_records)[0]


def parts_of_records(case: Case) -> list[np.ndarray]:
    """Split the records into random parts; one part with few records and models."""
    order = np.arange(len(case.records))
    if case.stand_ins is None or case.stand_ins.member.size <= MAX_CELLS:
        return [order]
    # A shuffled pool is in a random order already, and consecutive records are copied fast.
    if "row" not in case.records or case.setting.predictions:
        order = stream(case.setting.seed, "parts of records").permutation(order)
    return [np.sort(part) for part in np.array_split(order, -(-case.stand_ins.member.size // MAX_CELLS))]


def sampled_stand_ins(case: Case) -> Rotation | None:
    """Return the stand-in targets, restricted to the sample if there is one."""
    if case.stand_ins is None or len(case.of(parts_of_records)) == 1:
        return case.stand_ins
    return case.stand_ins.take_records(case.of(sample))


def tried(case: Case) -> np.ndarray:
    """Return (evaluated records,) true for those on which stand-in targets are evaluated."""
    sampled = np.zeros(len(case.truth.evaluated), dtype=bool)
    sampled[case.of(sample)] = True
    return sampled[case.truth.evaluated]


def scores_part_by_part(case: Case, attack: Attack) -> np.ndarray:
    """Return (stand-in targets, evaluated records) scores, each part of the records as a separate pool; as float32.

    An attack that scores one target at a time would take too long: records beyond the sample have no score then.
    """
    parts = case.of(parts_of_records)
    stand_ins = case.stand_ins
    assert stand_ins is not None
    # Signals are computed once, not for each part.
    stand_ins = replace(stand_ins, values=lazy_matrices(stand_ins.values, stand_ins.target))
    scores = np.full(stand_ins.member.shape, np.nan, dtype=np.float32)
    for part in parts if attack.rotates else parts[:1]:
        scores[:, as_slice(part)] = score_every_target(attack, stand_ins.take_records(part))
    return take_columns(scores, case.truth.evaluated)
