"""False positives of attack L: ``python -m benchmarks.error_rates.left_out``, about four minutes.

In this simulation nothing depends on membership. Each model has a random effect on all records, in addition to the noise of each
record. The benchmark measures how often the interval of attack L's AUC excludes 0.5. If all non-members share one set of models,
the random effects of this set shift all of them together; with separate models per record they do not.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np

import guestlist as gl
from guestlist._views import Evidence, ModelsView, Signals
from guestlist.attacks import ATTACKS
from guestlist.evidence import signals_of_margin
from guestlist.metrics import auc

REPEATS, AUDITS = 2000, 100
EFFECTS, RECORDS, MODELS = (0.0, 0.5, 1.0, 3.0), 100, 16
NAMES = ("leave_one_out", "leave_one_out_empirical")


def null_view(effect: float, records: int, models: int, shared: bool, rng: np.random.Generator) -> Signals:
    """Return the adversary's view of ``records`` members and the same number of non-members, without leakage.

    Args:
        effect: standard deviation of a model's effect on all margins; that of the noise per record is 1.
        shared: whether non-members share one set of models.
    """
    total = 2 * records
    model_effects = rng.normal(size=(models, total))
    if shared:
        model_effects[:, records:] = model_effects[:, records:][:, :1]
    difficulty = rng.normal(size=total)
    target = difficulty + effect * rng.normal() + rng.normal(size=total)
    outputs = signals_of_margin(difficulty + effect * model_effects + rng.normal(size=model_effects.shape))
    left_out = ModelsView(outputs, np.zeros(model_effects.shape, dtype=bool))
    no_member = np.zeros((0, total), dtype=bool)
    values = {name: row[None] for name, row in signals_of_margin(target).items()}
    return Signals(values, no_member, np.zeros(total, dtype=np.int64), Evidence({"left_out": left_out}))


def excluded(
    name: str, effect: float, *, shared: bool, repeats: int, records: int = RECORDS, models: int = MODELS
) -> float:
    """Return the share of simulations in which the interval of the attack's AUC excludes 0.5."""
    member = np.arange(2 * records) < records
    count = 0
    for repeat in range(repeats):
        view = null_view(effect, records, models, shared, np.random.default_rng([2, repeat]))
        results = auc(ATTACKS[name].score(view), member)
        count += not results.low <= 0.5 <= results.high
    return count / repeats


def audit(effect: float, repeat: int, *, records: int, models: int) -> gl.Results:
    """Run a real audit of models with random outputs."""
    rng = np.random.default_rng([3, repeat])

    def train(data, rng):
        random_effect = effect * rng.normal()
        # The first feature is the label, so that the random effect is the same for both classes.
        return lambda x: np.column_stack(
            [np.zeros(len(x)), (2 * x[:, 0] - 1) * (random_effect + rng.normal(size=len(x)))]
        )

    y = rng.integers(0, 2, 2 * records)
    x = np.column_stack([y, rng.normal(size=2 * records)])
    outputs = train(None, rng)(x)
    by_record = dict(zip(x[:, 1], outputs, strict=True))  # a target has the same outputs in every query
    target = gl.function_target(
        lambda x: np.array([by_record[value] for value in x[:, 1]]),
        classes=[0, 1],
        train=train,
        scale="logits",
        recipe="random outputs",
    )
    both_sets = [(x[rows], y[rows]) for rows in (slice(records), slice(records, None))]
    plan = gl.evidence.LeftOut(records=records, models=models)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gl.AuditWarning)
        return gl.audit(
            target, *both_sets, references=0, attacks=["leave_one_out"], evidence=[plan], seed=repeat, jobs=1
        )


def main() -> None:
    rows = []
    for name in NAMES:
        for effect in EFFECTS:
            metrics = {
                "separate_models": excluded(name, effect, shared=False, repeats=REPEATS),
                "shared_models": excluded(name, effect, shared=True, repeats=REPEATS),
            }
            print(f"{name:24} model effect {effect:<4g} {metrics}", flush=True)
            rows.append({"attack": name, "effect": effect, **metrics})
    results = [audit(1.0, repeat, records=30, models=8).attack("leave_one_out").auc for repeat in range(AUDITS)]
    count = sum(not result.low <= 0.5 <= result.high for result in results)
    print(f"{AUDITS} audits of 30 + 30 records, 8 models each, model effect 1: {count / AUDITS:.3f}")
    content = {
        "command": "python -m benchmarks.error_rates.left_out",
        "records": [RECORDS, RECORDS],
        "models": MODELS,
        "repeats": REPEATS,
        "interval_excludes_one_half": rows,
        "audits": {"count": AUDITS, "records": [30, 30], "models": 8, "effect": 1.0, "excluded": count / AUDITS},
    }
    Path(__file__).with_suffix(".json").write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
