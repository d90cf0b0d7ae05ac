"""``python -m benchmarks.error_rates.group_risks``: false claims of differences between groups, power and coverage.

The simulations have fifty random groups, their pairs with two others, and classes. A further part measures false claims that a
risk varies with the generalisation gap of classes, without leakage and with unequal leakage. ``--parts`` runs some parts; the
others keep their results.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.special import ndtr
from scipy.stats import ttest_ind_from_stats

from guestlist._case import Case, Setting, Truth
from guestlist._findings import groups as group_findings
from guestlist._findings.headline import stand_in_targets
from guestlist._findings.significance import SIGNIFICANCE_LEVEL
from guestlist._views import Rotation
from guestlist.attacks import ATTACKS
from guestlist.metrics import holm
from guestlist.selfcheck.simulations import signals_of_margin

HERE = Path(__file__).parent
Metrics = dict[str, float]
Draw = Callable[[np.random.Generator, int], np.ndarray]
STEPS, PROBABILITIES = np.array([0.35, 0.45, 0.5, 0.6, 1.0]), np.array([0.1, 0.3, 0.3, 0.25, 0.05])
Bounds = tuple[float, float] | None
# Distributions of risks over members, each with its mean and its range, if known.
DISTRIBUTIONS: dict[str, tuple[Draw, float, Bounds]] = {
    "normal": (lambda rng, n: rng.normal(size=n), 0.0, None),
    "five steps": (lambda rng, n: rng.choice(STEPS, p=PROBABILITIES, size=n), float(STEPS @ PROBABILITIES), (0.0, 1.0)),
    "one in fifty is 1": (lambda rng, n: (rng.random(n) < 0.02).astype(float), 0.02, (0.0, 1.0)),
    "log-normal": (lambda rng, n: np.exp(rng.normal(size=n)), float(np.exp(0.5)), None),
}


# Simulations of classes: nothing leaks in the first four.
CLASS_GAPS: dict[str, dict[str, float]] = {
    "gap of 10 classes": {},
    "gap of 10 classes, some of them harder": {"difficulty": 1.0},
    "gap of 5 classes": {"classes": 5, "each": 200},
    "gap of 30 classes": {"classes": 30, "each": 40},
    "gap of 10 classes, some of them leak more": {"leak": 2.0},
}


def case_of(groups: dict[str, np.ndarray], rng: np.random.Generator, persons: np.ndarray | None = None) -> Case:
    """Return records in groups; half of them, or of the persons, are members. There are no model outputs."""
    records = len(next(iter(groups.values())))
    units = np.arange(records) if persons is None else persons
    member, labels = (rng.random(units.max() + 1) < 0.5)[units], rng.integers(0, 5, records)
    table = pd.DataFrame({"id": np.arange(records).astype(str), "label": labels.astype(str), "class": labels})
    table = table.assign(**{f"group_{name}": values.astype(str) for name, values in groups.items()})
    table = table if persons is None else table.assign(person=persons)
    simulation = Rotation({"loss": np.zeros((1, records))}, member[None], labels)
    truth = Truth(member, np.ones(records, dtype=bool))
    return Case(
        simulation.facing(0), truth, table, None, {"loss": ATTACKS["loss"]}, Setting("a model", 5, "logits")
    ).scored()


def mean_risks(
    audits: int,
    distribution: str,
    number: int = 50,
    records: int = 4000,
    each: int = 1,
    exposed: float = 0.0,
    seed: int = 0,
) -> Metrics:
    """Measure claims about groups that do not depend on risks, and intervals of their means.

    Args:
        number: number of groups; each record is also in one of two others, and in one of five classes.
        each: number of records of a person, which all have the same value and may be in several groups.
        exposed: additional shift of the first group's values, in standard deviations.
    """
    draw, mean, bounds = DISTRIBUTIONS[distribution]
    claimed = identified = by_welch = 0
    means_covered, differences_covered = [], []
    for audit in range(audits):
        rng = np.random.default_rng([seed, audit])
        persons = np.arange(records) // each
        # Some groups are large, and some too small to be evaluated.
        sizes = rng.dirichlet(np.full(number, 2.0))
        groups = {"random": rng.choice(number, p=sizes, size=records), "half": rng.integers(2, size=records)}
        case = case_of(groups, rng, None if each == 1 else persons)
        values = draw(rng, persons[-1] + 1)[persons]
        values = values + exposed * values.std() * (groups["random"] == 0)
        parts = (
            *group_findings.group_slices(case),
            *group_findings.pair_slices(case),
            *group_findings.class_slices(case),
        )
        evaluated = [part for part in parts if part.enough]
        rows = [
            row[0]
            for row in group_findings.mean_risks(
                case, evaluated, {distribution: values}, {distribution: None if exposed else bounds}
            )
        ]
        first = [part.values.get("random") == "0" for part in evaluated]
        claimed += any(row.differs for row, is_first in zip(rows, first, strict=True) if not (is_first and exposed))
        identified += any(row.differs for row, is_first in zip(rows, first, strict=True) if is_first)
        by_welch += welch(values[case.truth.member], [part.mask[case.truth.member] for part in evaluated])
        means_covered += [row.mean.low <= mean <= row.mean.high for row in rows]
        differences_covered += [row.beyond_rest.low <= 0 <= row.beyond_rest.high for row in rows]
    if exposed:
        return {"audits": audits, "identifies the first group": identified / audits}
    return {
        "audits": audits,
        "claims a difference": claimed / audits,
        "by Welch's test": by_welch / audits,
        "means covered": float(np.mean(means_covered)),
        "differences covered": float(np.mean(differences_covered)),
    }


def welch(values: np.ndarray, groups: list[np.ndarray]) -> bool:
    """Return whether Welch's test, corrected by Holm, would claim a difference; it ignores persons."""
    moments = [
        [(part.mean(), part.std(ddof=1), len(part)) for part in (values[group], values[~group])] for group in groups
    ]
    inside, outside = np.array(moments).transpose(1, 2, 0)
    with np.errstate(divide="ignore", invalid="ignore"):  # all values of a group may be equal
        return bool((holm(ttest_ind_from_stats(*inside, *outside, equal_var=False).pvalue) <= 0.05).any())


def rates(simulations: int, records: int = 1200, shift: float = 1.0, harder: float = 1.0, seed: int = 1) -> Metrics:
    """Measure intervals of a group's TPR and FPR at the threshold of all non-members; a third of the records are ``harder``."""
    means = np.array([0.0, -harder])
    share = np.array([2, 1]) / 3
    threshold = brentq(lambda t: share @ ndtr(means - t) - group_findings.FPR, -10, 10)
    truth = {"tpr_at_common": ndtr(means + shift - threshold), "fpr_at_common": ndtr(means - threshold)}
    covered: dict[str, list[bool]] = {name: [] for name in truth}
    for number in range(simulations):
        rng = np.random.default_rng([seed, number])
        hard = (rng.random(records) < share[1]).astype(int)
        case = case_of({"hard": hard}, rng)
        outputs = means[hard] + shift * case.truth.member + rng.normal(size=records)
        view = Rotation({"loss": -outputs[None]}, case.truth.member[None], case.view.labels).facing(0)
        case = Case(view, case.truth, case.records, None, case.attacks, case.setting).scored()
        for part in group_findings.of_slices(case, group_findings.group_slices(case), {}).judged:
            for name, true in truth.items():
                interval, at = getattr(part, name), true[int(part.values["hard"])]
                covered[name].append(bool(interval.low <= at <= interval.high))
    return {"simulations": simulations, **{f"{name} covered": float(np.mean(flags)) for name, flags in covered.items()}}


def class_gaps(
    audits: int,
    classes: int = 10,
    each: int = 100,
    models: int = 9,
    difficulty: float = 0.0,
    leak: float = 0.0,
    seed: int = 2,
) -> Metrics:
    """Measure claims that a risk varies with the generalisation gap of classes.

    Args:
        each: mean number of records of a class.
        difficulty: standard deviation over classes of the difficulty of their records.
        leak: the largest shift of members' margins; that of a class is uniform below it.
    """
    claims = dict.fromkeys(("claims an association", "by uncorrected intervals", "by Fisher's test and Holm"), 0)
    for audit in range(audits):
        rng = np.random.default_rng([seed, audit])
        labels = rng.integers(0, classes, classes * each)
        member = rng.random((models, len(labels))) < 0.5
        easy = rng.normal(0.5, 1, len(labels)) + difficulty * rng.normal(size=classes)[labels] - np.log(classes - 1)
        shift = leak * rng.random(classes)[labels]
        margin = easy + shift * member + rng.normal(size=member.shape)
        simulation = Rotation(signals_of_margin(margin, classes), member, labels)
        base = case_of({"all": np.zeros(len(labels), dtype=int)}, rng)
        case = Case(
            simulation.facing(0),
            Truth(member[0], base.truth.evaluated),
            base.records.assign(label=labels.astype(str)).assign(**{"class": labels}),
            stand_in_targets(simulation),
            base.attacks,
            Setting("a model", classes, "logits", seed=audit),
        ).scored()
        results = [result for result in group_findings.find_class_gap(case) or () if not np.isnan(result.pearson.value)]
        fisher = [2 * ndtr(-abs(np.arctanh(result.pearson.value)) * np.sqrt(result.classes - 3)) for result in results]
        claims["claims an association"] += any(result.significant for result in results)
        claims["by uncorrected intervals"] += any(
            not result.pearson.low <= 0 <= result.pearson.high for result in results
        )
        claims["by Fisher's test and Holm"] += bool((holm(np.array(fisher)) <= SIGNIFICANCE_LEVEL).any())
    return {"audits": audits, **{name: number / audits for name, number in claims.items()}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--audits", type=int, default=400)
    parser.add_argument("--parts", nargs="*")
    options = parser.parse_args()
    audits = options.audits
    parts: dict[str, Callable[[], Metrics]] = {
        name: lambda name=name: mean_risks(audits, name) for name in DISTRIBUTIONS
    }
    parts |= {
        f"{name}, four records each": lambda name=name: mean_risks(audits, name, each=4) for name in DISTRIBUTIONS
    }
    parts |= {
        f"{name}, one exposed": lambda name=name: mean_risks(audits // 4, name, exposed=1.0) for name in DISTRIBUTIONS
    }
    parts["rates at the common threshold"] = lambda: rates(audits)
    parts |= {name: lambda options=options: class_gaps(audits, **options) for name, options in CLASS_GAPS.items()}
    path = HERE / "group_risks.json"
    rows = json.loads(path.read_text("utf-8"))["parts"] if options.parts and path.exists() else {}
    for name in options.parts or parts:
        simulate = parts[name]
        rows[name] = {metric: round(value, 4) for metric, value in simulate().items()}
        print(f"{name:40}", "  ".join(f"{metric} {value:g}" for metric, value in rows[name].items()), flush=True)
        report = {"command": "python -m benchmarks.error_rates.group_risks", "parts": rows}
        path.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
