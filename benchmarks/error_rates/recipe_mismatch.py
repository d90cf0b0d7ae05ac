"""Error rates of the check GL118, target unlike its references: ``python -m benchmarks.error_rates.recipe_mismatch``.

It takes about ten minutes. First all models have one recipe, and each in turn is the target. Then the target has a different
recipe. Then complete audits have one fault each; results are the AUC of an attack and the checks that report the fault.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.tree import DecisionTreeClassifier

import guestlist as gl
from guestlist._diagnostics.core import MAX_TEST_P
from guestlist._findings.training_set import ReferenceSimilarity, reference_similarity
from guestlist.models import Probabilities
from guestlist.models.estimators import estimator_target

Make = Callable[[int], Any]  # function from a seed to an unfitted classifier
CODES = ("GL115", "GL116", "GL117", "GL118", "GL120")
REFERENCES, RECORDS, POOLS, SIMULATIONS, AUDITS = 32, 400, 8, 600, 3


def forest(**options) -> Make:
    return lambda seed: RandomForestClassifier(20, random_state=seed, **options)


SAME: dict[str, Make] = {
    "forest": forest(),
    "logistic regression": lambda seed: LogisticRegression(),
    "5 neighbours": lambda seed: KNeighborsClassifier(5),
    "tree": lambda seed: DecisionTreeClassifier(random_state=seed),
    "network": lambda seed: MLPClassifier((16,), max_iter=40, learning_rate_init=0.02, random_state=seed),
}
# Recipe of the target, and recipe of its references.
OTHER: dict[str, tuple[Make, Make]] = {
    "full forest, references of depth 3": (forest(), forest(max_depth=3)),
    "forest of depth 3, references full": (forest(max_depth=3), forest()),
    "leaves of 1, references' of 5": (forest(), forest(min_samples_leaf=5)),
    "C = 1, references' 0.01": (lambda seed: LogisticRegression(), lambda seed: LogisticRegression(C=0.01)),
    "5 neighbours, references' 15": (lambda seed: KNeighborsClassifier(5), lambda seed: KNeighborsClassifier(15)),
    "40 epochs, references' 5": (
        SAME["network"],
        lambda seed: MLPClassifier((16,), max_iter=5, learning_rate_init=0.02, random_state=seed),
    ),
}


def pool(records: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    x = rng.normal(size=(records, 8))
    return x, (x[:, 0] + x[:, 1] * x[:, 2] + rng.normal(size=records) > 0).astype(np.int64)


def margins(make: Make, x: np.ndarray, y: np.ndarray, member: np.ndarray, first: int = 0) -> np.ndarray:
    """Return (models, records) margins of models that are trained on these members."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # networks that stop early
        outputs = [make(first + k).fit(x[rows], y[rows]).predict_proba(x) for k, rows in enumerate(member)]
    scale = Probabilities().resolved(outputs[0], y)
    return np.stack([scale.signals(result, y)["margin"] for result in outputs])


def compare_each(margin: np.ndarray, member: np.ndarray) -> list[ReferenceSimilarity]:
    """Compare every model in turn, as the target, with the others."""
    results = []
    for k in range(len(margin)):
        order = np.r_[k, np.delete(np.arange(len(margin)), k)]
        result = reference_similarity(margin[order], member[order])
        assert result is not None
        results.append(result)
    return results


def false_positive_rate(make: Make, *, pools: int, records: int = RECORDS, references: int = REFERENCES) -> float:
    """Return the share of targets with the recipe of their references that are flagged."""
    flagged = []
    for number in range(pools):
        rng = np.random.default_rng([4, number])
        x, y = pool(records, rng)
        member = rng.random((1 + references, records)) < 0.5
        flagged += [result.p_value <= MAX_TEST_P for result in compare_each(margins(make, x, y, member), member)]
    return float(np.mean(flagged))


def power(target: Make, other: Make, *, pools: int, records: int = RECORDS, references: int = REFERENCES) -> float:
    """Return the share of targets with a different recipe that are flagged."""
    flagged = 0
    for number in range(pools):
        rng = np.random.default_rng([5, number])
        x, y = pool(records, rng)
        member = rng.random((1 + references, records)) < 0.5
        margin = np.vstack([margins(target, x, y, member[:1]), margins(other, x, y, member[1:], first=1)])
        results = reference_similarity(margin, member)
        flagged += results is not None and results.p_value <= MAX_TEST_P
    return flagged / pools


def flagged_with_effects(
    effect: float, *, repeats: int, references: int = 16, members: int = 100, others: int = 100
) -> float:
    """Measure false positives in simulations in which models differ in the mean and the slope of their margins.

    Args:
        effect: standard deviation of both over models; that of the noise per record is 1.
    """
    records = members + others
    flagged = 0
    for repeat in range(repeats):
        rng = np.random.default_rng([6, repeat])
        member = rng.random((1 + references, records)) < members / records
        member[0] = np.arange(records) < members
        difficulty = rng.normal(size=records)
        offset, slope = effect * rng.normal(size=(2, 1 + references, 1))
        margin = difficulty * (1 + 0.3 * slope) + offset + member + rng.normal(size=member.shape)
        results = reference_similarity(margin, member)
        flagged += results is not None and results.p_value <= MAX_TEST_P
    return flagged / repeats


# -- whole audits -------------------------------------------------------------------------------------------------------


def audited(fault: str, seed: int, *, records: int = 200, references: int = REFERENCES) -> gl.Results:
    """Run an audit of a forest with one fault."""
    rng = np.random.default_rng([7, seed])
    x, y = pool(4 * records, rng)
    members, nonmembers, population = (
        (x[rows], y[rows]) for rows in np.split(np.arange(4 * records), [records, 2 * records])
    )
    method = forest()(seed)
    if fault == "members oversampled":
        members = np.concatenate([members[0], members[0]]), np.concatenate([members[1], members[1]])
    model, untrained = method.fit(*members), None
    if fault == "population is members":
        population = members
    elif fault == "near-duplicates":
        half = records // 2
        near = members[0][:half] + 0.05 * rng.normal(size=(half, x.shape[1]))
        nonmembers = (
            np.concatenate([near, nonmembers[0][half:]]),
            np.concatenate([members[1][:half], nonmembers[1][half:]]),
        )
    elif fault == "different recipe":
        untrained = forest(max_depth=3)(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gl.AuditWarning)
        return gl.audit(
            estimator_target(model, untrained=untrained),
            members,
            nonmembers,
            population,
            references=references,
            attacks=["lira_bayes", "loss"],
            seed=seed,
            jobs=1,
        )


FAULTS = ("no fault", "members oversampled", "population is members", "near-duplicates", "different recipe")


def issues(results: gl.Results) -> list[str]:
    outcomes = (results.check(code) for code in CODES)
    return [check.code for check in outcomes if check is not None and check.state == "issue"]


def in_audits(fault: str, *, audits: int) -> Mapping[str, float]:
    """Return the mean AUC of LiRA, and the share of audits that raise each check."""
    results = [audited(fault, seed) for seed in range(audits)]
    shares = {code: float(np.mean([code in issues(result) for result in results])) for code in CODES}
    return {"lira_bayes": float(np.mean([result.attack("lira_bayes").auc.value for result in results])), **shares}


def main() -> None:
    content: dict[str, Any] = {
        "command": "python -m benchmarks.error_rates.recipe_mismatch",
        "level": MAX_TEST_P,
        "references": REFERENCES,
        "records": RECORDS,
        "pools": POOLS,
        "same_recipe": {},
        "other_recipe": {},
        "model_effects": {"simulations": SIMULATIONS, "references": 16, "flagged": {}},
        "audits": {"count": AUDITS, "records": [200, 200, 400], "results": {}},
    }

    def record_result(part: dict, name: str, metric) -> None:
        part[name] = metric
        print(f"{name:40} {metric}", flush=True)

    for effect in (0.0, 0.5, 1.0, 3.0):
        record_result(
            content["model_effects"]["flagged"], f"effect {effect:g}", flagged_with_effects(effect, repeats=SIMULATIONS)
        )
    record_result(
        content["model_effects"]["flagged"],
        "effect 1, 400 + 60",
        flagged_with_effects(1.0, repeats=SIMULATIONS, members=400, others=60),
    )
    for name, make in SAME.items():
        record_result(content["same_recipe"], name, round(false_positive_rate(make, pools=POOLS), 4))
    for name, (target, other) in OTHER.items():
        record_result(content["other_recipe"], name, power(target, other, pools=POOLS))
    for fault in FAULTS:
        record_result(content["audits"]["results"], fault, in_audits(fault, audits=AUDITS))
    Path(__file__).with_suffix(".json").write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
