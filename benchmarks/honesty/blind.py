"""Is the model-free baseline honest? ``python -m benchmarks.honesty.blind [WORLD …]``, a minute or two per world.

Simulations in which members and non-members have one source, where at most 1 in 20 may be flagged; simulations in which they
differ, where an audit of a model that saw neither must not say "Yes"; the power at the reported detection limit, which should
be 80 %; and, with a known leak, the bias of weighted non-members and the coverage of intervals. Simulations named on the
command line are run again, and the others keep their results in blind.json.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler

import guestlist as gl
from guestlist._baseline.baseline import FOLDS, Baseline, cross_fit_baseline, within_folds
from guestlist._baseline.columns import columns_of, design, folds_of, permuted_membership
from guestlist._baseline.regression import cross_fitted, folds, second_order
from guestlist._findings.baseline import Adjusted, adjusted
from guestlist._report.sections.answer import verdict_text
from guestlist.datasets import load
from guestlist.metrics import Estimate, auc, auc_gain_within_folds

RESULTS = Path(__file__).with_suffix(".json")
VISITS = 10


@dataclass(frozen=True)
class Sides:
    """Records of both sets; members where ``member`` is true."""

    x: Any
    y: np.ndarray
    member: np.ndarray
    persons: np.ndarray | None = None


@cache
def adult() -> tuple[pd.DataFrame, np.ndarray]:
    table = load("adult").drop(columns="split", errors="ignore")
    return table.drop(columns="income"), table["income"].to_numpy()


# -- one source ---------------------------------------------------------------------------------------------------------


def people(members: int, nonmembers: int, rng: np.random.Generator) -> Sides:
    """Draw people of the census, assigned at random."""
    x, y = adult()
    rows = rng.choice(len(y), members + nonmembers, replace=False)
    return Sides(x.iloc[rows].reset_index(drop=True), y[rows], np.arange(len(rows)) < members)


def persons(each: int, by_record: bool, rng: np.random.Generator) -> Sides:
    """Draw persons with one to ten correlated visits (ICC .5), assigned by person or by visit."""
    visits = rng.integers(1, VISITS + 1, 2 * each)
    whose = np.repeat(np.arange(2 * each), visits)
    x = np.sqrt(0.5) * (rng.normal(size=(2 * each, 6))[whose] + rng.normal(size=(len(whose), 6)))
    y = (rng.normal(size=2 * each)[whose] + rng.normal(size=len(whose)) > 0).astype(int)
    member = rng.random(len(whose)) < 0.5 if by_record else whose < each
    return Sides(x, y, member, whose.astype(str))


def repeated(each: int, copies: int, rng: np.random.Generator) -> Sides:
    """Draw members that are repeated several times each, as weights."""
    rows = np.r_[np.repeat(np.arange(each), copies), np.arange(each, 2 * each)]
    x, y = rng.normal(size=(2 * each, 5)), rng.integers(2, size=2 * each)
    return Sides(x[rows], y[rows], rows < each)


def few_values(members: int, nonmembers: int, rng: np.random.Generator) -> Sides:
    """Three questions answered yes or no: most records are equal to another by accident."""
    records = members + nonmembers
    x = (rng.random((records, 3)) < 0.25).astype(int)
    return Sides(x, rng.integers(2, size=records), np.arange(records) < members)


def normal(each: int, columns: int, rng: np.random.Generator) -> Sides:
    """Independent normal columns, drawn in the same way for both sets."""
    return Sides(rng.normal(size=(2 * each, columns)), rng.integers(2, size=2 * each), np.arange(2 * each) < each)


ONE_SOURCE: dict[str, tuple[Callable[[np.random.Generator], Sides], int]] = {
    "adult 50 + 50": (partial(people, 50, 50), 400),
    "adult 200 + 200": (partial(people, 200, 200), 200),
    "adult 300 + 60": (partial(people, 300, 60), 600),
    "30 + 30 persons, by person": (partial(persons, 30, False), 200),
    "60 persons, by visit": (partial(persons, 30, True), 200),
    "100 + 100, members three times": (partial(repeated, 100, 3), 300),
    "few values, 300 + 60": (partial(few_values, 300, 60), 300),
    "normal, 400 + 400, 4 columns": (partial(normal, 400, 4), 400),
    "normal, 400 + 400, 10 columns": (partial(normal, 400, 10), 400),
}


def judged(sides: Sides, rng: np.random.Generator) -> Baseline:
    results = cross_fit_baseline(sides.x, sides.y, sides.member, sides.persons, rng=rng)
    assert results is not None
    return results.baseline


def one_source(name: str, repeats: int | None = None) -> dict:
    """Return the share of simulations in which the baseline is flagged without a difference."""
    draw, usual = ONE_SOURCE[name]
    rngs = [np.random.default_rng([9, k]) for k in range(repeats or usual)]
    results = [judged(draw(rng), rng) for rng in rngs]
    flagged = float(np.mean([result.significant for result in results]))
    return {
        "repeats": len(results),
        "flagged": round(flagged, 4),
        "at_most": round(0.05 + 2 * float(np.sqrt(0.05 * 0.95 / len(results))), 4),
        "auc": round(float(np.mean([result.auc for result in results])), 4),
        "smallest_seen": round(float(np.mean([result.detectable_auc for result in results])), 4),
    }


# -- two kinds ----------------------------------------------------------------------------------------------------------

KINDS: dict[str, tuple[Callable[[pd.DataFrame], pd.Series], tuple[str, ...]]] = {
    "women against men": (lambda x: x["sex"].astype(str).str.strip() == "Female", ()),
    "women against men, column left out": (lambda x: x["sex"].astype(str).str.strip() == "Female", ("sex",)),
    "age <= 30 against others": (lambda x: x["age"] <= 30, ()),
    "age <= 30 against others, column left out": (lambda x: x["age"] <= 30, ("age",)),
}
AUDITS = 40


def model_of(x: pd.DataFrame, y: np.ndarray):
    words = make_column_selector(dtype_exclude="number")
    encoded = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), words), remainder=StandardScaler())
    return make_pipeline(encoded, LogisticRegression(max_iter=500)).fit(x, y)


def two_kinds(name: str, repeats: int = AUDITS, each: int = 200) -> dict:
    """Return the share of audits that say "Yes" for a model that saw neither set, with the baseline and without."""
    of_kind, left_out = KINDS[name]
    x, y = adult()
    kind, x = of_kind(x).to_numpy(), x.drop(columns=list(left_out))
    yes, without, likely, outcomes, weighted = [], [], [], [], []
    for k in range(repeats):
        rng = np.random.default_rng([19, k])
        rows = rng.permutation(len(y))
        train, others = rows[:2000], rows[2000:]
        sides = [others[kind[others] == side][:each] for side in (True, False)]
        results = gl.audit(
            model_of(x.iloc[train], y[train]),
            *((x.iloc[side].reset_index(drop=True), y[side]) for side in sides),
            references=0,
            seed=k,
            jobs=1,
            duplicates="drop",
            ignore=("GL119",),  # the expected warning is not repeated
        )
        assert results.baseline is not None
        yes.append(verdict_text(results).startswith("Yes"))
        likely.append(verdict_text(results).startswith("Likely"))
        without.append(verdict_text(replace(results, baseline=None)).startswith("Yes"))
        outcomes.append(results.baseline)
        weighted.append(results.adjusted)
    return {
        "audits": repeats,
        "members": each,
        "says_yes": float(np.mean(yes)),
        "says_likely": round(float(np.mean(likely)), 4),
        "would_say_yes_without_it": round(float(np.mean(without)), 4),
        "flagged": round(float(np.mean([result.significant for result in outcomes])), 4),
        "auc": round(float(np.mean([result.auc for result in outcomes])), 4),
        "smallest_seen": round(float(np.mean([result.detectable_auc for result in outcomes])), 4),
        "weighting_refused": _share(result.refused != "" for result in weighted),
        "weighted_auc_above_half": _share(result.auc is not None and result.auc.low > 0.5 for result in weighted),
    }


# -- differences of second order ----------------------------------------------------------------------------------------

CORRELATION = (
    0.5  # between the first two columns of members; logistic regression on squares and products has AUC 0.58 to 0.62
)


def correlated(each: int, columns: int, rng: np.random.Generator) -> Sides:
    """Columns of equal means and variances, the first two of which are correlated among members only."""
    sides = normal(each, columns, rng)
    x, member = sides.x, sides.member
    x[member, 1] = CORRELATION * x[member, 0] + np.sqrt(1 - CORRELATION**2) * x[member, 1]
    return sides


def correlated_flagged(columns: int, repeats: int = 100, each: int = 400) -> dict:
    """Measure how often the difference is flagged, next to the AUC of scikit-learn's logistic regression on all terms."""
    results, other = [], []
    for k in range(repeats):
        rng = np.random.default_rng([79, columns, k])
        sides = correlated(each, columns, rng)
        results.append(judged(sides, rng))
        if k < 20:
            terms = PolynomialFeatures(2, include_bias=False).fit_transform(sides.x)
            splits = StratifiedKFold(FOLDS, shuffle=True, random_state=k)
            model = LogisticRegression(max_iter=1000)
            fitted = cross_val_predict(model, terms, sides.member, cv=splits, method="decision_function")
            other.append(roc_auc_score(sides.member, fitted))
    return {
        "repeats": repeats,
        "records": each,
        "columns": columns,
        "second_order_flagged": _share(result.significant for result in results),
        "auc": round(float(np.mean([result.auc for result in results])), 4),
        "smallest_seen": round(float(np.mean([result.detectable_auc for result in results])), 4),
        "logistic_auc": round(float(np.mean(other)), 4),
    }


def correlated_audits(columns: int, repeats: int = AUDITS, each: int = 400) -> dict:
    """Measure how often an audit of a model that saw neither set says "Yes", with the baseline and without.

    Labels follow the sum of the first two columns, so the model is surer of members, whose sums are more dispersed.
    """

    def label(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return (2 * (x[:, 0] + x[:, 1]) + rng.logistic(size=len(x)) > 0).astype(int)

    outcomes, yes, likely, without = [], [], [], []
    for k in range(repeats):
        rng = np.random.default_rng([89, columns, k])
        train = rng.normal(size=(1000, columns))
        model = LogisticRegression(max_iter=500).fit(train, label(train, rng))
        sides = correlated(each, columns, rng)
        y, inside = label(sides.x, rng), sides.member
        parts = (sides.x[inside], y[inside]), (sides.x[~inside], y[~inside])
        results = gl.audit(model, *parts, references=0, seed=k, jobs=1, ignore=("GL119",))
        assert results.baseline is not None
        outcomes.append(results)
        yes.append(verdict_text(results).startswith("Yes"))
        likely.append(verdict_text(results).startswith("Likely"))
        without.append(verdict_text(replace(results, baseline=None)).startswith("Yes"))
    return {
        "audits": repeats,
        "members": each,
        "says_yes": _share(yes),
        "says_likely": _share(likely),
        "would_say_yes_without_it": _share(without),
        "flagged": _share(result.baseline.significant for result in outcomes),
        "auc": round(float(np.mean([result.baseline.auc for result in outcomes])), 4),
        "smallest_seen": round(float(np.mean([result.baseline.detectable_auc for result in outcomes])), 4),
        "weighting_refused": _share(result.adjusted.refused != "" for result in outcomes),
        "weighted_auc_above_half": _share(
            result.adjusted.auc is not None and result.adjusted.auc.low > 0.5 for result in outcomes
        ),
    }


# -- the smallest difference that is seen -------------------------------------------------------------------------------

SHIFTS = (0.0, 0.4, 0.6, 0.8, 1.0)


def shifted(each: int, shift: float, rng: np.random.Generator) -> Sides:
    """Ten columns of which one is larger for members."""
    member = np.arange(2 * each) < each
    x = rng.normal(size=(2 * each, 10))
    x[member, 2] += shift
    return Sides(x, rng.integers(2, size=2 * each), member)


def smallest_seen(each: int = 100, repeats: int = 50, shifts: tuple[float, ...] = SHIFTS) -> dict:
    """Return the share of flagged simulations at the AUC that is reported as the detection limit."""
    rows = []
    for shift in shifts:
        rngs = [np.random.default_rng([29, k]) for k in range(repeats)]
        results = [judged(shifted(each, shift, rng), rng) for rng in rngs]
        means = [
            float(np.mean(v)) for v in zip(*((f.auc, f.significant, f.detectable_auc) for f in results), strict=True)
        ]
        rows.append(dict(zip(("auc", "flagged", "smallest_seen"), (round(v, 4) for v in means), strict=True)))
    called = float(np.mean([row["smallest_seen"] for row in rows]))
    assert rows[0]["auc"] < called < rows[-1]["auc"], "read off between shifts, never beyond them"
    power = np.interp(called, [row["auc"] for row in rows], [row["flagged"] for row in rows])
    displayed = [{"shift": shift, **row} for shift, row in zip(shifts, rows, strict=True)]
    return {"repeats": repeats, "members": each, "flagged_there": round(float(power), 4), "shifts": displayed}


# -- what weighted non-members give back --------------------------------------------------------------------------------

LEAK = 0.7  # increase of members' scores due to training, in standard deviations of the noise
STATED = 0.015  # largest allowed distance of the mean from the truth


def attacked(each: int, shift: float, rng: np.random.Generator, leak: float = LEAK) -> tuple[Sides, np.ndarray]:
    """The same, and an attack whose score follows the shifted column as well as the leak."""
    sides = shifted(each, shift, rng)
    return sides, leak * sides.member + sides.x[:, 2] + rng.normal(size=2 * each)


def true_tpr(fpr: float) -> float:
    """Return the TPR if non-members were drawn like members: both scores are normal with variance 2."""
    return float(ndtr(ndtri(fpr) + LEAK / np.sqrt(2)))


TRUE_AUC = float(ndtr(LEAK / 2))


class Weighed(NamedTuple):
    """Results of one simulation: without the model, with weights, attack minus baseline; and with the true weights."""

    baseline: Baseline
    adjusted: Adjusted
    gain: Estimate
    oracle: Estimate


def weighed(each: int, shift: float, seed: list[int], leak: float = LEAK) -> Weighed:
    rng = np.random.default_rng(seed)
    sides, scores = attacked(each, shift, rng, leak)
    return _weighed(sides, scores, np.exp(shift * sides.x[:, 2] - shift**2 / 2), rng)


def _weighed(sides: Sides, scores: np.ndarray, true_weights: np.ndarray, rng: np.random.Generator) -> Weighed:
    results = cross_fit_baseline(sides.x, sides.y, sides.member, rng=rng)
    assert results is not None
    cross_fitted = results.cross_fitted
    deviation = results.baseline.permutation_std
    gain = auc_gain_within_folds(
        scores, cross_fitted.score, sides.member, cross_fitted.fold, baseline_sd=deviation, at_least=0.5
    )
    oracle = auc(scores, sides.member, weights=true_weights)
    weighted = adjusted("attack", scores, sides.member, cross_fitted.propensity, cross_fitted.across_folds)
    return Weighed(results.baseline, weighted, gain, oracle)


def correlated_weighed(each: int, columns: int, seed: list[int], leak: float = LEAK) -> Weighed:
    """Weigh non-members where an attack's score follows the product of the correlated columns as well as the leak."""
    rng = np.random.default_rng(seed)
    sides = correlated(each, columns, rng)
    a, b, rho = sides.x[:, 0], sides.x[:, 1], CORRELATION
    scores = leak * sides.member + a * b + rng.normal(size=2 * each)
    remaining = 1 - rho**2
    ratio = np.exp(-((a - rho * b) ** 2 / remaining - a**2) / 2) / np.sqrt(remaining)  # of both densities
    return _weighed(sides, scores, ratio, rng)


@cache
def correlated_truth() -> float:
    """Compute the AUC of the leak if non-members were drawn as members are, from a million pairs."""
    rng = np.random.default_rng(99)
    noise = rng.normal(size=(2, 3, 1_000_000))
    a, b = noise[:, 0], CORRELATION * noise[:, 0] + np.sqrt(1 - CORRELATION**2) * noise[:, 1]
    member, nonmember = a * b + noise[:, 2]
    return float((member + LEAK > nonmember).mean())


def correlated_weighting(columns: int, repeats: int, each: int = 400) -> dict:
    """Compare weighted AUCs with the truth, and with those of the true weights; with a leak and without."""
    truth = correlated_truth()
    results = [correlated_weighed(each, columns, [109, columns, k]) for k in range(repeats)]
    none = [correlated_weighed(each, columns, [119, columns, k], leak=0.0) for k in range(repeats)]
    arguments = [result.adjusted.auc for result in results if result.adjusted.auc is not None]
    off = np.array([result.value - truth for result in arguments])
    off_without = np.array([result.adjusted.auc.value - 0.5 for result in none if result.adjusted.auc is not None])
    oracle = [result.oracle.value - truth for result in results]
    return {
        "worlds": repeats,
        "records": each,
        "columns": columns,
        "second_order_off": round(float(off.mean()), 4),
        "off_error": round(float(off.std(ddof=1) / np.sqrt(len(off))), 4),
        "absolute": round(float(np.abs(off).mean()), 4),
        "oracle_off": round(float(np.mean(oracle)), 4),
        "oracle_absolute": round(float(np.abs(oracle).mean()), 4),
        "auc_held": _share(result.low <= truth <= result.high for result in arguments),
        "oracle_held": _share(result.oracle.low <= truth <= result.oracle.high for result in results),
        "refused": _share(result.adjusted.auc is None for result in results),
        "off_without_leak": round(float(off_without.mean()), 4),
        "says_likely_without_leak": _share(result.baseline.significant and adds(result) for result in none),
    }


def weighting(each: int, shift: float, repeats: int) -> dict:
    """Compare weighted metrics with the truth; and measure the coverage of the interval of attack minus baseline."""
    results = [weighed(each, shift, [39, each, round(10 * shift), k]) for k in range(repeats)]
    arguments = [result.adjusted for result in results if result.adjusted.auc is not None]
    off = np.array([result.auc.value - TRUE_AUC for result in arguments if result.auc is not None])
    oracle = np.array([result.oracle.value - TRUE_AUC for result in results])
    gains = [result.gain for result in results]
    mean_gain = float(np.mean([gain.value for gain in gains]))
    return {
        "worlds": repeats,
        "records": each,
        "shift": shift,
        "true_auc": round(TRUE_AUC, 4),
        "refused": _share(result.adjusted.auc is None for result in results),
        "effective_share": round(float(np.mean([result.adjusted.effective_share for result in results])), 4),
        "off": round(float(off.mean()), 4),
        "off_error": round(float(off.std(ddof=1) / np.sqrt(len(off))), 4),
        "spread": round(float(off.std(ddof=1)), 4),
        "absolute": round(float(np.abs(off).mean()), 4),
        "oracle_off": round(float(oracle.mean()), 4),
        "oracle_absolute": round(float(np.abs(oracle).mean()), 4),
        "oracle_held": _share(result.oracle.low <= TRUE_AUC <= result.oracle.high for result in results),
        "auc_held": _share(
            result.auc.low <= TRUE_AUC <= result.auc.high for result in arguments if result.auc is not None
        ),
        "tpr_held": _share(
            rate.tpr.low <= true_tpr(rate.fpr) <= rate.tpr.high
            for result in arguments
            for rate in result.rates
            if not np.isnan(rate.tpr.value)
        ),
        "gain": round(mean_gain, 4),
        "gain_held": _share(gain.low <= mean_gain <= gain.high for gain in gains),
    }


def beyond(each: int, shift: float, repeats: int) -> dict:
    """Measure the coverage of the interval of the attack's AUC minus max(0.5, baseline), for the means over simulations."""
    gains, plain, attack_only, deviation = [], [], [], None
    for k in range(repeats):
        rng = np.random.default_rng([91, each, int(10 * shift), k])
        sides, scores = attacked(each, shift, rng)
        unit = np.arange(2 * each)
        fold, columns = folds_of(unit, FOLDS, rng), columns_of(sides.x, rng)
        read = design(columns, sides.y, {}, fold, values=False, rng=rng)
        terms = second_order(read.combined.values, read.combined.source, unit, rng)
        parts = folds(read.linear, fold, terms)
        if deviation is None:
            deviation = float(within_folds(parts, permuted_membership(unit, sides.member, 200, rng)).std(ddof=1))
        (fitted,) = cross_fitted(parts, np.where(sides.member, 1.0, -1.0)[None])
        gains.append(auc_gain_within_folds(scores, fitted, sides.member, fold, baseline_sd=deviation, at_least=0.5))
        plain.append(auc_gain_within_folds(scores, fitted, sides.member, fold).value)
        attack_only.append(auc_gain_within_folds(scores, np.zeros(2 * each), sides.member, fold).value)
    mean = float(min(np.mean(plain), np.mean(attack_only)))
    return {
        "worlds": repeats,
        "records": each,
        "shift": shift,
        "gain": round(mean, 4),
        "held": _share(gain.low <= mean <= gain.high for gain in gains),
    }


def strong(shift: float, each: int = 200, repeats: int = 20) -> dict:
    """Return the shares of withheld headlines and refused weightings if the two sets differ strongly."""
    results = [weighed(each, shift, [49, round(10 * shift), k]) for k in range(repeats)]
    return {
        "worlds": repeats,
        "records": each,
        "shift": shift,
        "withheld": _share(result.baseline.significant and not adds(result) for result in results),
        "weighting_refused": _share(result.adjusted.refused != "" for result in results),
        "effective_share": round(float(np.mean([result.adjusted.effective_share for result in results])), 4),
    }


def adds(results: Weighed) -> bool:
    """Return whether the verdict would begin with "Likely"."""
    return results.adjusted.auc is not None and min(results.gain.low, results.adjusted.auc.low - 0.5) > 0


def no_leak(shift: float, each: int, repeats: int) -> dict:
    """Return the share of simulations in which a model without leakage is reported to add to the baseline."""
    results = [weighed(each, shift, [59, each, round(10 * shift), k], leak=0.0) for k in range(repeats)]
    return {
        "worlds": repeats,
        "records": each,
        "shift": shift,
        "flagged": _share(result.baseline.significant for result in results),
        "says_likely": _share(result.baseline.significant and adds(result) for result in results),
        "weighted_auc_above_half": _share(
            result.adjusted.auc is not None and result.adjusted.auc.low > 0.5 for result in results
        ),
        "gain_above_0": _share(result.gain.low > 0 for result in results),
    }


def _share(answers: Iterable[bool]) -> float:
    return round(float(np.mean(list(answers))), 4)


def cost() -> dict:
    """Return seconds of one core for 2,000 + 2,000 records of the census."""
    times = {}
    for name, kind in {"one source": None, "women against men": "sex"}.items():
        rng = np.random.default_rng(0)
        sides = people(2000, 2000, rng)
        if kind:
            sides = replace(sides, member=(sides.x["sex"].astype(str).str.strip() == "Female").to_numpy())
        start = time.process_time()
        judged(sides, rng)
        times[name] = round(time.process_time() - start, 1)
    return {"seconds": times}


# Records per set, shift, simulations.
GRID = [(1000, 0.0, 60), (1000, 0.5, 30), (1000, 1.0, 30), (200, 0.0, 40), (200, 0.5, 150), (200, 1.0, 80)]
WORLDS: dict[str, Callable[[], dict]] = {
    **{name: partial(one_source, name) for name in ONE_SOURCE},
    **{name: partial(two_kinds, name) for name in KINDS},
    **{f"correlated, {p} columns: flagged": partial(correlated_flagged, p) for p in (4, 10)},
    **{f"correlated, {p} columns: model that saw neither set": partial(correlated_audits, p) for p in (4, 10)},
    **{f"correlated, {p} columns: weighted": partial(correlated_weighting, p, 60) for p in (4, 10)},
    "smallest seen": smallest_seen,
    **{
        f"weighted, {each} + {each}, shift {shift:g}": partial(weighting, each, shift, repeats)
        for each, shift, repeats in GRID
    },
    "attack minus baseline, 1000 + 1000, shift 0": partial(beyond, 1000, 0.0, 150),
    **{f"strong, shift {shift:g}": partial(strong, shift) for shift in (2.0, 3.0)},
    **{f"no leak, 200 + 200, shift {shift:g}": partial(no_leak, shift, 200, 40) for shift in (0.5, 1.0)},
    "cost": cost,
}


def main(names: list[str]) -> None:
    results = json.loads(RESULTS.read_text("utf-8"))["worlds"] if RESULTS.exists() else {}
    for name in names or WORLDS:
        results[name] = WORLDS[name]()
        print(f"{name:44} {results[name]}", flush=True)
        content = {
            "command": "python -m benchmarks.honesty.blind",
            "worlds": {name: results[name] for name in WORLDS if name in results},
        }
        RESULTS.write_text(json.dumps(content, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
