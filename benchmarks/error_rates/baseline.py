"""Error rates of the model-free baseline: ``python -m benchmarks.error_rates.baseline [SIMULATION …]``.

In some simulations members and non-members have one source, and at most 1 in 20 may be flagged. In others they differ, and the
verdict on a model that was trained on neither must not be "Yes". Further simulations measure the power at the reported detection
limit (nominally 80 %) and, with a known leak, the bias of weighted non-members and the coverage of intervals. Simulations named
on the command line are run again, in a minute or two each; the others keep their results in ``baseline.json``.
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
class Sample:
    """Records of members and non-members; members where ``member`` is true."""

    x: Any
    y: np.ndarray
    member: np.ndarray
    persons: np.ndarray | None = None


@cache
def adult() -> tuple[pd.DataFrame, np.ndarray]:
    table = load("adult").drop(columns="split", errors="ignore")
    return table.drop(columns="income"), table["income"].to_numpy()


# -- one source ---------------------------------------------------------------------------------------------------------


def census(members: int, nonmembers: int, rng: np.random.Generator) -> Sample:
    """Draw records of the census and assign them to the two sets at random."""
    x, y = adult()
    rows = rng.choice(len(y), members + nonmembers, replace=False)
    return Sample(x.iloc[rows].reset_index(drop=True), y[rows], np.arange(len(rows)) < members)


def persons(each: int, by_record: bool, rng: np.random.Generator) -> Sample:
    """Draw persons with one to ten correlated visits (ICC .5), assigned by person or by visit."""
    visits = rng.integers(1, VISITS + 1, 2 * each)
    owner = np.repeat(np.arange(2 * each), visits)
    x = np.sqrt(0.5) * (rng.normal(size=(2 * each, 6))[owner] + rng.normal(size=(len(owner), 6)))
    y = (rng.normal(size=2 * each)[owner] + rng.normal(size=len(owner)) > 0).astype(int)
    member = rng.random(len(owner)) < 0.5 if by_record else owner < each
    return Sample(x, y, member, owner.astype(str))


def repeated(each: int, copies: int, rng: np.random.Generator) -> Sample:
    """Draw members that are repeated several times each, as weights."""
    rows = np.r_[np.repeat(np.arange(each), copies), np.arange(each, 2 * each)]
    x, y = rng.normal(size=(2 * each, 5)), rng.integers(2, size=2 * each)
    return Sample(x[rows], y[rows], rows < each)


def few_values(members: int, nonmembers: int, rng: np.random.Generator) -> Sample:
    """Draw three yes-or-no features: most records equal another one by chance."""
    records = members + nonmembers
    x = (rng.random((records, 3)) < 0.25).astype(int)
    return Sample(x, rng.integers(2, size=records), np.arange(records) < members)


def normal(each: int, columns: int, rng: np.random.Generator) -> Sample:
    """Draw independent normal columns in the same way for both sets."""
    return Sample(rng.normal(size=(2 * each, columns)), rng.integers(2, size=2 * each), np.arange(2 * each) < each)


ONE_SOURCE: dict[str, tuple[Callable[[np.random.Generator], Sample], int]] = {
    "adult 50 + 50": (partial(census, 50, 50), 400),
    "adult 200 + 200": (partial(census, 200, 200), 200),
    "adult 300 + 60": (partial(census, 300, 60), 600),
    "30 + 30 persons, by person": (partial(persons, 30, False), 200),
    "60 persons, by visit": (partial(persons, 30, True), 200),
    "100 + 100, members three times": (partial(repeated, 100, 3), 300),
    "few values, 300 + 60": (partial(few_values, 300, 60), 300),
    "normal, 400 + 400, 4 columns": (partial(normal, 400, 4), 400),
    "normal, 400 + 400, 10 columns": (partial(normal, 400, 10), 400),
}


def baseline_of(sample: Sample, rng: np.random.Generator) -> Baseline:
    """Evaluate the baseline, which must be applicable."""
    results = cross_fit_baseline(sample.x, sample.y, sample.member, sample.persons, rng=rng)
    assert results is not None
    return results.baseline


def one_source(name: str, repeats: int | None = None) -> dict:
    """Return the share of simulations in which the baseline is flagged without a difference."""
    draw, usual = ONE_SOURCE[name]
    rngs = [np.random.default_rng([9, k]) for k in range(repeats or usual)]
    results = [baseline_of(draw(rng), rng) for rng in rngs]
    flagged = float(np.mean([result.significant for result in results]))
    return {
        "repeats": len(results),
        "flagged": round(flagged, 4),
        "limit": round(0.05 + 2 * float(np.sqrt(0.05 * 0.95 / len(results))), 4),
        "auc": round(float(np.mean([result.auc for result in results])), 4),
        "detectable_auc": round(float(np.mean([result.detectable_auc for result in results])), 4),
    }


# -- two populations ----------------------------------------------------------------------------------------------------

POPULATIONS: dict[str, tuple[Callable[[pd.DataFrame], pd.Series], tuple[str, ...]]] = {
    "women against men": (lambda x: x["sex"].astype(str).str.strip() == "Female", ()),
    "women against men, column excluded": (lambda x: x["sex"].astype(str).str.strip() == "Female", ("sex",)),
    "age <= 30 against others": (lambda x: x["age"] <= 30, ()),
    "age <= 30 against others, column excluded": (lambda x: x["age"] <= 30, ("age",)),
}
AUDITS = 40


def model_of(x: pd.DataFrame, y: np.ndarray):
    categorical = make_column_selector(dtype_exclude="number")
    encoded = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), categorical), remainder=StandardScaler())
    return make_pipeline(encoded, LogisticRegression(max_iter=500)).fit(x, y)


def two_populations(name: str, repeats: int = AUDITS, each: int = 200) -> dict:
    """Return the share of audits with the verdict "Yes" for a model trained on neither set, with the baseline and without."""
    in_population, excluded = POPULATIONS[name]
    x, y = adult()
    first = in_population(x).to_numpy()
    x = x.drop(columns=list(excluded))
    yes, without, likely, outcomes, weighted = [], [], [], [], []
    for k in range(repeats):
        rng = np.random.default_rng([19, k])
        rows = rng.permutation(len(y))
        train, others = rows[:2000], rows[2000:]
        rows_of = [others[first[others] == population][:each] for population in (True, False)]
        results = gl.audit(
            model_of(x.iloc[train], y[train]),
            *((x.iloc[part].reset_index(drop=True), y[part]) for part in rows_of),
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
        "verdict_yes": float(np.mean(yes)),
        "verdict_likely": round(float(np.mean(likely)), 4),
        "verdict_yes_without_baseline": round(float(np.mean(without)), 4),
        "flagged": round(float(np.mean([result.significant for result in outcomes])), 4),
        "auc": round(float(np.mean([result.auc for result in outcomes])), 4),
        "detectable_auc": round(float(np.mean([result.detectable_auc for result in outcomes])), 4),
        "weighting_refused": _share(result.refused != "" for result in weighted),
        "weighted_auc_above_half": _share(result.auc is not None and result.auc.low > 0.5 for result in weighted),
    }


# -- differences of second order ----------------------------------------------------------------------------------------

CORRELATION = (
    0.5  # between the first two columns of members; logistic regression on squares and products has AUC 0.58 to 0.62
)


def correlated(each: int, columns: int, rng: np.random.Generator) -> Sample:
    """Draw columns of equal means and variances, the first two of which are correlated among members only."""
    sample = normal(each, columns, rng)
    x, member = sample.x, sample.member
    x[member, 1] = CORRELATION * x[member, 0] + np.sqrt(1 - CORRELATION**2) * x[member, 1]
    return sample


def correlated_flagged(columns: int, repeats: int = 100, each: int = 400) -> dict:
    """Measure how often the difference is flagged, next to the AUC of scikit-learn's logistic regression on all terms."""
    results, other = [], []
    for k in range(repeats):
        rng = np.random.default_rng([79, columns, k])
        sample = correlated(each, columns, rng)
        results.append(baseline_of(sample, rng))
        if k < 20:
            terms = PolynomialFeatures(2, include_bias=False).fit_transform(sample.x)
            splits = StratifiedKFold(FOLDS, shuffle=True, random_state=k)
            model = LogisticRegression(max_iter=1000)
            fitted = cross_val_predict(model, terms, sample.member, cv=splits, method="decision_function")
            other.append(roc_auc_score(sample.member, fitted))
    return {
        "repeats": repeats,
        "records": each,
        "columns": columns,
        "second_order_flagged": _share(result.significant for result in results),
        "auc": round(float(np.mean([result.auc for result in results])), 4),
        "detectable_auc": round(float(np.mean([result.detectable_auc for result in results])), 4),
        "logistic_auc": round(float(np.mean(other)), 4),
    }


def correlated_audits(columns: int, repeats: int = AUDITS, each: int = 400) -> dict:
    """Measure how often the verdict on a model trained on neither set is "Yes", with the baseline and without.

    Labels follow the sum of the first two columns. Members' sums vary more, so the model is more confident on members.
    """

    def label(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return (2 * (x[:, 0] + x[:, 1]) + rng.logistic(size=len(x)) > 0).astype(int)

    outcomes, yes, likely, without = [], [], [], []
    for k in range(repeats):
        rng = np.random.default_rng([89, columns, k])
        train = rng.normal(size=(1000, columns))
        model = LogisticRegression(max_iter=500).fit(train, label(train, rng))
        sample = correlated(each, columns, rng)
        y, inside = label(sample.x, rng), sample.member
        parts = (sample.x[inside], y[inside]), (sample.x[~inside], y[~inside])
        results = gl.audit(model, *parts, references=0, seed=k, jobs=1, ignore=("GL119",))
        assert results.baseline is not None
        outcomes.append(results)
        yes.append(verdict_text(results).startswith("Yes"))
        likely.append(verdict_text(results).startswith("Likely"))
        without.append(verdict_text(replace(results, baseline=None)).startswith("Yes"))
    return {
        "audits": repeats,
        "members": each,
        "verdict_yes": _share(yes),
        "verdict_likely": _share(likely),
        "verdict_yes_without_baseline": _share(without),
        "flagged": _share(result.baseline.significant for result in outcomes),
        "auc": round(float(np.mean([result.baseline.auc for result in outcomes])), 4),
        "detectable_auc": round(float(np.mean([result.baseline.detectable_auc for result in outcomes])), 4),
        "weighting_refused": _share(result.adjusted.refused != "" for result in outcomes),
        "weighted_auc_above_half": _share(
            result.adjusted.auc is not None and result.adjusted.auc.low > 0.5 for result in outcomes
        ),
    }


# -- the detection limit ------------------------------------------------------------------------------------------------

SHIFTS = (0.0, 0.4, 0.6, 0.8, 1.0)


def shifted(each: int, shift: float, rng: np.random.Generator) -> Sample:
    """Draw ten columns, of which one is larger for members."""
    member = np.arange(2 * each) < each
    x = rng.normal(size=(2 * each, 10))
    x[member, 2] += shift
    return Sample(x, rng.integers(2, size=2 * each), member)


def power_at_limit(each: int = 100, repeats: int = 50, shifts: tuple[float, ...] = SHIFTS) -> dict:
    """Return the share of flagged simulations at the AUC that is reported as the detection limit."""
    rows = []
    for shift in shifts:
        rngs = [np.random.default_rng([29, k]) for k in range(repeats)]
        results = [baseline_of(shifted(each, shift, rng), rng) for rng in rngs]
        means = [
            float(np.mean(v)) for v in zip(*((f.auc, f.significant, f.detectable_auc) for f in results), strict=True)
        ]
        rows.append(dict(zip(("auc", "flagged", "detectable_auc"), (round(v, 4) for v in means), strict=True)))
    limit = float(np.mean([row["detectable_auc"] for row in rows]))
    assert rows[0]["auc"] < limit < rows[-1]["auc"], "the limit must lie between the smallest and the largest shift"
    power = np.interp(limit, [row["auc"] for row in rows], [row["flagged"] for row in rows])
    displayed = [{"shift": shift, **row} for shift, row in zip(shifts, rows, strict=True)]
    return {"repeats": repeats, "members": each, "power": round(float(power), 4), "shifts": displayed}


# -- weighted non-members -----------------------------------------------------------------------------------------------

LEAK = 0.7  # increase of members' scores due to training, in standard deviations of the noise


def with_attack(each: int, shift: float, rng: np.random.Generator, leak: float = LEAK) -> tuple[Sample, np.ndarray]:
    """Draw the same records with an attack's scores, which follow the shifted column as well as the leak."""
    sample = shifted(each, shift, rng)
    return sample, leak * sample.member + sample.x[:, 2] + rng.normal(size=2 * each)


def true_tpr(fpr: float) -> float:
    """Return the TPR if non-members were drawn like members: both scores are normal with variance 2."""
    return float(ndtr(ndtri(fpr) + LEAK / np.sqrt(2)))


TRUE_AUC = float(ndtr(LEAK / 2))


class WeightedResult(NamedTuple):
    """Results of one simulation: baseline, weighted AUC, gain of the attack over the baseline, and AUC with the true weights."""

    baseline: Baseline
    adjusted: Adjusted
    gain: Estimate
    oracle: Estimate


def weighted_result(each: int, shift: float, seed: list[int], leak: float = LEAK) -> WeightedResult:
    """Simulate one audit, and evaluate it with estimated and with the true weights."""
    rng = np.random.default_rng(seed)
    sample, scores = with_attack(each, shift, rng, leak)
    return _weighted_result(sample, scores, np.exp(shift * sample.x[:, 2] - shift**2 / 2), rng)


def _weighted_result(
    sample: Sample, scores: np.ndarray, true_weights: np.ndarray, rng: np.random.Generator
) -> WeightedResult:
    results = cross_fit_baseline(sample.x, sample.y, sample.member, rng=rng)
    assert results is not None
    cross_fitted = results.cross_fitted
    deviation = results.baseline.permutation_std
    gain = auc_gain_within_folds(
        scores, cross_fitted.score, sample.member, cross_fitted.fold, baseline_sd=deviation, at_least=0.5
    )
    oracle = auc(scores, sample.member, weights=true_weights)
    weighted = adjusted("attack", scores, sample.member, cross_fitted.propensity, cross_fitted.across_folds)
    return WeightedResult(results.baseline, weighted, gain, oracle)


def correlated_weighted_result(each: int, columns: int, seed: list[int], leak: float = LEAK) -> WeightedResult:
    """Simulate one audit with an attack whose score follows the product of the correlated columns as well as the leak."""
    rng = np.random.default_rng(seed)
    sample = correlated(each, columns, rng)
    a, b, rho = sample.x[:, 0], sample.x[:, 1], CORRELATION
    scores = leak * sample.member + a * b + rng.normal(size=2 * each)
    remaining = 1 - rho**2
    ratio = np.exp(-((a - rho * b) ** 2 / remaining - a**2) / 2) / np.sqrt(remaining)  # of both densities
    return _weighted_result(sample, scores, ratio, rng)


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
    results = [correlated_weighted_result(each, columns, [109, columns, k]) for k in range(repeats)]
    none = [correlated_weighted_result(each, columns, [119, columns, k], leak=0.0) for k in range(repeats)]
    estimates = [result.adjusted.auc for result in results if result.adjusted.auc is not None]
    errors = np.array([result.value - truth for result in estimates])
    errors_without_leak = np.array(
        [result.adjusted.auc.value - 0.5 for result in none if result.adjusted.auc is not None]
    )
    oracle = [result.oracle.value - truth for result in results]
    return {
        "simulations": repeats,
        "records": each,
        "columns": columns,
        "second_order_bias": round(float(errors.mean()), 4),
        "bias_standard_error": round(float(errors.std(ddof=1) / np.sqrt(len(errors))), 4),
        "mean_absolute_error": round(float(np.abs(errors).mean()), 4),
        "oracle_bias": round(float(np.mean(oracle)), 4),
        "oracle_mean_absolute_error": round(float(np.abs(oracle).mean()), 4),
        "auc_covered": _share(result.low <= truth <= result.high for result in estimates),
        "oracle_covered": _share(result.oracle.low <= truth <= result.oracle.high for result in results),
        "weighting_refused": _share(result.adjusted.auc is None for result in results),
        "bias_without_leak": round(float(errors_without_leak.mean()), 4),
        "verdict_likely_without_leak": _share(
            result.baseline.significant and adds_to_baseline(result) for result in none
        ),
    }


def weighting(each: int, shift: float, repeats: int) -> dict:
    """Compare weighted metrics with the truth; and measure the coverage of the interval of attack minus baseline."""
    results = [weighted_result(each, shift, [39, each, round(10 * shift), k]) for k in range(repeats)]
    estimates = [result.adjusted for result in results if result.adjusted.auc is not None]
    errors = np.array([result.auc.value - TRUE_AUC for result in estimates if result.auc is not None])
    oracle = np.array([result.oracle.value - TRUE_AUC for result in results])
    gains = [result.gain for result in results]
    mean_gain = float(np.mean([gain.value for gain in gains]))
    return {
        "simulations": repeats,
        "records": each,
        "shift": shift,
        "true_auc": round(TRUE_AUC, 4),
        "weighting_refused": _share(result.adjusted.auc is None for result in results),
        "effective_share": round(float(np.mean([result.adjusted.effective_share for result in results])), 4),
        "bias": round(float(errors.mean()), 4),
        "bias_standard_error": round(float(errors.std(ddof=1) / np.sqrt(len(errors))), 4),
        "standard_deviation": round(float(errors.std(ddof=1)), 4),
        "mean_absolute_error": round(float(np.abs(errors).mean()), 4),
        "oracle_bias": round(float(oracle.mean()), 4),
        "oracle_mean_absolute_error": round(float(np.abs(oracle).mean()), 4),
        "oracle_covered": _share(result.oracle.low <= TRUE_AUC <= result.oracle.high for result in results),
        "auc_covered": _share(
            result.auc.low <= TRUE_AUC <= result.auc.high for result in estimates if result.auc is not None
        ),
        "tpr_covered": _share(
            rate.tpr.low <= true_tpr(rate.fpr) <= rate.tpr.high
            for result in estimates
            for rate in result.rates
            if not np.isnan(rate.tpr.value)
        ),
        "gain": round(mean_gain, 4),
        "gain_covered": _share(gain.low <= mean_gain <= gain.high for gain in gains),
    }


def gain_coverage(each: int, shift: float, repeats: int) -> dict:
    """Measure the coverage of the interval of the attack's AUC minus max(0.5, baseline), for the means over simulations."""
    gains, plain, attack_only, deviation = [], [], [], None
    for k in range(repeats):
        rng = np.random.default_rng([91, each, int(10 * shift), k])
        sample, scores = with_attack(each, shift, rng)
        unit = np.arange(2 * each)
        fold, columns = folds_of(unit, FOLDS, rng), columns_of(sample.x, rng)
        read = design(columns, sample.y, {}, fold, values=False, rng=rng)
        terms = second_order(read.combined.values, read.combined.source, unit, rng)
        parts = folds(read.linear, fold, terms)
        if deviation is None:
            deviation = float(within_folds(parts, permuted_membership(unit, sample.member, 200, rng)).std(ddof=1))
        (fitted,) = cross_fitted(parts, np.where(sample.member, 1.0, -1.0)[None])
        gains.append(auc_gain_within_folds(scores, fitted, sample.member, fold, baseline_sd=deviation, at_least=0.5))
        plain.append(auc_gain_within_folds(scores, fitted, sample.member, fold).value)
        attack_only.append(auc_gain_within_folds(scores, np.zeros(2 * each), sample.member, fold).value)
    mean = float(min(np.mean(plain), np.mean(attack_only)))
    return {
        "simulations": repeats,
        "records": each,
        "shift": shift,
        "gain": round(mean, 4),
        "covered": _share(gain.low <= mean <= gain.high for gain in gains),
    }


def strong(shift: float, each: int = 200, repeats: int = 20) -> dict:
    """Return the shares of withheld headlines and refused weightings if the two sets differ strongly."""
    results = [weighted_result(each, shift, [49, round(10 * shift), k]) for k in range(repeats)]
    return {
        "simulations": repeats,
        "records": each,
        "shift": shift,
        "withheld": _share(result.baseline.significant and not adds_to_baseline(result) for result in results),
        "weighting_refused": _share(result.adjusted.refused != "" for result in results),
        "effective_share": round(float(np.mean([result.adjusted.effective_share for result in results])), 4),
    }


def adds_to_baseline(results: WeightedResult) -> bool:
    """Return whether the verdict begins with "Likely"."""
    return results.adjusted.auc is not None and min(results.gain.low, results.adjusted.auc.low - 0.5) > 0


def no_leak(shift: float, each: int, repeats: int) -> dict:
    """Return the share of simulations in which a model without leakage is reported to add to the baseline."""
    results = [weighted_result(each, shift, [59, each, round(10 * shift), k], leak=0.0) for k in range(repeats)]
    return {
        "simulations": repeats,
        "records": each,
        "shift": shift,
        "flagged": _share(result.baseline.significant for result in results),
        "verdict_likely": _share(result.baseline.significant and adds_to_baseline(result) for result in results),
        "weighted_auc_above_half": _share(
            result.adjusted.auc is not None and result.adjusted.auc.low > 0.5 for result in results
        ),
        "gain_above_0": _share(result.gain.low > 0 for result in results),
    }


def _share(flags: Iterable[bool]) -> float:
    return round(float(np.mean(list(flags))), 4)


def cost() -> dict:
    """Return seconds of one core for 2,000 + 2,000 records of the census."""
    times = {}
    for name, column in {"one source": None, "women against men": "sex"}.items():
        rng = np.random.default_rng(0)
        sample = census(2000, 2000, rng)
        if column:
            sample = replace(sample, member=(sample.x[column].astype(str).str.strip() == "Female").to_numpy())
        start = time.process_time()
        baseline_of(sample, rng)
        times[name] = round(time.process_time() - start, 1)
    return {"seconds": times}


# Records per set, shift, simulations.
GRID = [(1000, 0.0, 60), (1000, 0.5, 30), (1000, 1.0, 30), (200, 0.0, 40), (200, 0.5, 150), (200, 1.0, 80)]
SIMULATIONS: dict[str, Callable[[], dict]] = {
    **{name: partial(one_source, name) for name in ONE_SOURCE},
    **{name: partial(two_populations, name) for name in POPULATIONS},
    **{f"correlated, {p} columns: flagged": partial(correlated_flagged, p) for p in (4, 10)},
    **{f"correlated, {p} columns: model trained on neither set": partial(correlated_audits, p) for p in (4, 10)},
    **{f"correlated, {p} columns: weighted": partial(correlated_weighting, p, 60) for p in (4, 10)},
    "power at the detection limit": power_at_limit,
    **{
        f"weighted, {each} + {each}, shift {shift:g}": partial(weighting, each, shift, repeats)
        for each, shift, repeats in GRID
    },
    "attack minus baseline, 1000 + 1000, shift 0": partial(gain_coverage, 1000, 0.0, 150),
    **{f"strong, shift {shift:g}": partial(strong, shift) for shift in (2.0, 3.0)},
    **{f"no leak, 200 + 200, shift {shift:g}": partial(no_leak, shift, 200, 40) for shift in (0.5, 1.0)},
    "cost": cost,
}


def main(names: list[str]) -> None:
    results = json.loads(RESULTS.read_text("utf-8"))["simulations"] if RESULTS.exists() else {}
    for name in names or SIMULATIONS:
        results[name] = SIMULATIONS[name]()
        print(f"{name:44} {results[name]}", flush=True)
        content = {
            "command": "python -m benchmarks.error_rates.baseline",
            "simulations": {name: results[name] for name in SIMULATIONS if name in results},
        }
        RESULTS.write_text(json.dumps(content, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
