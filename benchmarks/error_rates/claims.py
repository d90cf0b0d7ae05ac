"""``python -m benchmarks.error_rates.claims``: false claims of audits without leakage, and power with leakage.

Each part is a simulation with known truth. ``--parts`` runs some parts; the others keep their results. At full size a part takes
a few minutes.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.base import ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

import guestlist as gl
from guestlist._case import Case, Setting, Truth
from guestlist._collect import UntilWidth, grow_references
from guestlist._findings import groups
from guestlist._findings.headline import choose, same_recipe, stand_in_targets
from guestlist._findings.records import exposed_members, record_table
from guestlist._findings.results import Results
from guestlist._kernels import out_model_stats
from guestlist._views import Rotation
from guestlist.attacks import ATTACKS, score_every_target, select_attacks
from guestlist.metrics import Estimate, auc, pooled_auc
from guestlist.selfcheck.simulations import gaussian_simulation

HERE = Path(__file__).parent
Metrics = dict[str, float]


# Claims that are true even if the target was trained on no record of the pool. Its references were trained on the pool, so the
# training recipe may leak. And attack R, with eight references, flags more non-members than its nominal level: on average over
# 25 such audits 9 % (K-NN) and 14 % (logistic regression) at a level of 5 %. Both shares are printed separately.
TRUE_WITHOUT_LEAKAGE = ("training recipe leaks", "nominal level exceeded")


def claims(results: Results) -> tuple[str, ...]:
    """Return the names of the claims that the report makes from these results."""
    assert results.headline is not None
    headline, recipe_models = results.attack(results.headline.name), results.headline.same_recipe
    second = None if results.file_holder is None else results.attack(results.file_holder.name)
    others = [outcome for outcome in results.outcomes or () if outcome not in (headline, second)]
    exposed = [group for group in results.groups or () if group.exposed]
    top = max(exposed, key=lambda group: group.auc.low, default=None)
    gap = results.check("GL113")
    by_claim = {
        "headline beats guessing": headline.beats_guessing,
        "file holder beats guessing": second is not None and second.beats_guessing,
        "headline ranks below guessing": headline.ranks_below,
        "another attack beats guessing": any(outcome.beats_guessing for outcome in others),
        "group exposed": bool(exposed),
        "group exposed to the file holder": any(group.exposed for group in results.file_holder_groups or ()),
        "group more exposed than the others": top is not None and top.more_exposed,
        "training recipe leaks": recipe_models is not None and recipe_models.auc.low > 0.5,
        "nominal level exceeded": any(
            level.exceeds_nominal for test in results.hypothesis_tests or () for level in test.levels
        ),
        "accuracy gap": gap is not None and gap.state == "issue",
    }
    return tuple(name for name, claimed in by_claim.items() if claimed)


# -- training recipe ----------------------------------------------------------------------------------------------------


def recipe(simulations: int, records: int = 100, models: int = 16, shift: float = 0.0, seed: int = 0) -> Metrics:
    """Measure intervals of the training recipe's AUC with this number of stand-in targets."""
    attacks = signal_attacks()

    def interval_of(number: int) -> Estimate:
        simulation = gaussian_simulation(shift, records=records, models=models, seed=[seed, number])
        return pooled_auc(choose(simulation, attacks).crossed, simulation.member)

    return intervals([interval_of(number) for number in range(simulations)])


def recipe_until(
    simulations: int, records: int = 100, width: float = 0.05, shift: float = 0.0, seed: int = 1
) -> Metrics:
    """Measure the same if references are added until the interval is narrow enough."""
    attacks, until = signal_attacks(), UntilWidth(width, start=8, at_most=36)

    def interval_of(number: int) -> Estimate:
        simulation = gaussian_simulation(shift, records=records, models=until.at_most, seed=[seed, number])

        def run(count: int) -> Estimate:
            first = simulation.take(np.arange(count))
            return pooled_auc(choose(first, attacks).crossed, first.member)

        return grow_references(run, lambda results: results.high - results.low, until)

    return intervals([interval_of(number) for number in range(simulations)])


def signal_attacks() -> dict[str, gl.attacks.Attack]:
    """Return the default attacks that read only signals."""
    return {name: attack for name, attack in select_attacks(None, 32).items() if not attack.evidence}


def intervals(results: list[Estimate]) -> Metrics:
    """Return the mean, the coverage of the interval, and the shares of intervals above and below guessing."""
    value, low, high = np.array(results).T
    mean = value.mean()
    return {
        "simulations": len(results),
        "mean": mean,
        "covers": ((low <= mean) & (mean <= high)).mean(),
        "above guessing": (low > 0.5).mean(),
        "below guessing": (high < 0.5).mean(),
    }


# -- prediction interval ------------------------------------------------------------------------------------------------


def prediction_interval(
    simulations: int,
    references: int = 32,
    shift: float = 1.0,
    records: int = 300,
    beyond: float = 0.0,
    step: float = 0.0,
) -> Metrics:
    """Return the share of models outside the prediction interval of models trained the same way.

    Args:
        beyond: additional shift of its members' margins.
        step: step to which scores are rounded, which makes ties.
    """
    outside = Counter()
    by_rank = 0
    for number in range(simulations):
        simulation = gaussian_simulation(shift, records=records, models=references + 1, seed=[9, number])
        scores = -np.logaddexp(
            0, -(simulation.values["margin"] + beyond * simulation.member * (np.arange(references + 1) == 0)[:, None])
        )
        scores = np.round(scores / step) if step else scores
        recipe_models = same_recipe(scores[1:], simulation.member[1:], scores[0], simulation.member[0])
        target_auc = auc(scores[0], simulation.member[0]).value
        outside["above"] += (
            recipe_models.prediction_interval is not None and target_auc > recipe_models.prediction_interval.high
        )
        outside["below"] += (
            recipe_models.prediction_interval is not None and target_auc < recipe_models.prediction_interval.low
        )
        by_rank += min(recipe_models.share_larger, 1 - recipe_models.share_larger) * references + 1 < 0.025 * (
            references + 1
        )
    return {
        "simulations": simulations,
        **{name: outside[name] / simulations for name in ("above", "below")},
        "by rank": by_rank / simulations,
    }


def prediction_interval_of_audits(audits: int, model_type: str, references: int = 32) -> Metrics:
    """Measure the same for trained models: each reference in turn is compared with the others."""
    compared = outside = 0
    for audit in range(audits):
        rng = np.random.default_rng([10, audit])
        x, y = rng.normal(size=(400, 5)), rng.integers(0, 2, 400)
        y = np.where(rng.random(400) < 0.7, x[:, 0] > 0, y).astype(int)
        results = gl.audit(
            MODELS[model_type](audit).fit(x[:200], y[:200]), (x[:200], y[:200]), (x[200:], y[200:]),
            references=references, seed=audit, jobs=1, progress=False, baseline=False,
        )  # fmt: skip
        assert results.headline is not None
        recipe_models = results.headline.same_recipe
        assert recipe_models is not None
        for at, model_auc in enumerate(recipe_models.aucs):
            others = replace(
                recipe_models, aucs=(*recipe_models.aucs[:at], *recipe_models.aucs[at + 1 :])
            ).prediction_interval
            compared += 1
            outside += others is not None and not others.low <= model_auc <= others.high
    return {"audits": audits, "models": compared, "outside the prediction interval": outside / compared}


# -- groups -------------------------------------------------------------------------------------------------------------


def random_groups(
    audits: int, number: int = 50, records: int = 2000, shift: float = 0.0, exposed: float = 0.0, seed: int = 2
) -> Metrics:
    """Measure claims about random groups, with one attack without references.

    Args:
        shift: shift of all members' margins.
        exposed: additional shift of the first group's members.
    """
    naming = more_exposed = naming_first = above_guessing = 0
    for audit in range(audits):
        rng = np.random.default_rng([seed, audit])
        group_of = rng.integers(number, size=records)
        simulation = gaussian_simulation(shift, records=records, models=1, seed=[seed, audit, 1])
        margin = simulation.values["margin"] + exposed * (group_of == 0) * simulation.member
        case = case_of(
            Rotation({"loss": np.logaddexp(0, -margin)}, simulation.member, simulation.labels),
            ("loss",),
            group_of,
            audit,
        )
        evaluated = groups.find(case)
        above_guessing += any(group.auc.low > 0.5 for group in evaluated)
        reported = [group for group in evaluated if group.exposed]
        if reported:
            top = max(reported, key=lambda group: group.auc.low)
            naming += 1
            more_exposed += top.more_exposed
            naming_first += top.value == "0"
    return {
        "audits": audits,
        "an interval above guessing": above_guessing / audits,
        "names a group": naming / audits,
        "names the first group": naming_first / audits,
        "more exposed than the others": more_exposed / audits,
    }


def case_of(simulation: Rotation, attacks: tuple[str, ...], groups: np.ndarray, seed: int = 0) -> Case:
    """Return a case with the first model of a simulation as the target."""
    labels = simulation.labels
    ids = np.array([f"r{i}" for i in range(len(labels))])
    table = pd.DataFrame({"id": ids, "label": labels.astype(str), "class": labels, "group_random": groups.astype(str)})
    truth = Truth(simulation.member[0].copy(), np.ones(len(labels), dtype=bool))
    stand_ins = stand_in_targets(simulation) if len(simulation.member) > 2 else None
    setting = Setting("a model", 2, "logits", seed=seed)
    return Case(
        simulation.facing(0), truth, table, stand_ins, {name: ATTACKS[name] for name in attacks}, setting
    ).scored()


# -- exposed records ----------------------------------------------------------------------------------------------------


def exposed_records(
    simulations: int = 40, records: int = 300, models: int = 65, shift: float = 1.0, seed: int = 3
) -> Metrics:
    """Return the share of OUT models under which listed records are flagged at a level of 5 %.

    ``flagged by score`` is the same for the records with the highest scores, flagged above the 95 % quantile of non-members.
    """
    by_model, by_score = [], []
    for number in range(simulations):
        simulation = gaussian_simulation(shift, records=records, models=models, seed=[seed, number])
        case = case_of(simulation, ("loss",), np.zeros(records, int))
        table = case.of(record_table)
        row = {name: at for at, name in enumerate(table["id"])}
        compared = [row[record.id] for record in exposed_members(table, "loss")]
        scores = score_every_target(ATTACKS["loss"], simulation)
        highest = [row[record.id] for record in exposed_members(table.drop(columns="p_among_models"), "loss")]
        for k in range(1, models):
            others = np.flatnonzero((np.arange(models) != k) & (np.arange(models) != 0))
            p_values = out_model_stats(scores[k], scores[others], simulation.member[others]).p_values
            outside = ~simulation.member[k]
            by_model.extend(p_values[at] <= 0.05 for at in compared if outside[at])
            threshold = np.quantile(scores[k, outside], 0.95)
            by_score.extend(scores[k, at] >= threshold for at in highest if outside[at])
    return {
        "simulations": simulations,
        "flagged": float(np.mean(by_model)),
        "flagged by score": float(np.mean(by_score)),
    }


# -- whole audits -------------------------------------------------------------------------------------------------------

MODELS: dict[str, Callable[[int], ClassifierMixin]] = {
    "K-NN": lambda seed: KNeighborsClassifier(5),
    "forest": lambda seed: RandomForestClassifier(10, random_state=seed),
    "logistic regression": lambda seed: LogisticRegression(),
    "tree": lambda seed: DecisionTreeClassifier(random_state=seed),  # all its scores are 0 or 1
    "shallow tree": lambda seed: DecisionTreeClassifier(max_depth=3, random_state=seed),  # few distinct scores
}


@dataclass
class Tally:
    """Numbers of audits with claims, by claim."""

    audits: int = 0
    claiming: int = 0
    claims: Counter = field(default_factory=Counter)

    def count(self, claimed: tuple[str, ...], true: tuple[str, ...] = ()) -> None:
        """Count the claims of one audit."""
        self.audits += 1
        self.claiming += bool(set(claimed) - set(true))
        self.claims.update(claimed)

    def shares(self) -> Metrics:
        """Return the share of audits with any false claim, and with each claim."""
        by_claim = {name: number / self.audits for name, number in sorted(self.claims.items())}
        return {"audits": self.audits, "any claim": self.claiming / self.audits, **by_claim}


def null_audits(model_type: str, audits: int, size: int = 100, references: int = 8, seed: int = 4) -> Metrics:
    """Audit models that were trained on no record of the pool; ``any claim`` excludes ``TRUE_WITHOUT_LEAKAGE``."""
    tally = Tally()
    for number in range(audits):
        rng = np.random.default_rng([seed, number])
        x = rng.normal(size=(3 * size, 5))
        y = (x[:, 0] + 0.7 * rng.normal(size=3 * size) > 0).astype(int)
        model = MODELS[model_type](number).fit(x[:size], y[:size])
        both_sets = [table(x[part], y[part], rng) for part in (slice(size, 2 * size), slice(2 * size, None))]
        with tempfile.TemporaryDirectory() as folder:
            results = gl.audit(
                model,
                *both_sets,
                label="y",
                group="part",
                references=references,
                jobs=1,
                seed=number,
                folder=f"{folder}/a",
            )
        tally.count(claims(results), TRUE_WITHOUT_LEAKAGE)
    return tally.shares()


def null_visits(
    audits: int = 200,
    persons: int = 40,
    each: int = 10,
    references: int = 8,
    seed: int = 5,
    with_identifiers: bool = True,
) -> Metrics:
    """Audit models that were trained on none of these persons, each with several correlated visits (ICC .5).

    Args:
        persons: number of persons in each set.
        with_identifiers: whether the audit gets person identifiers.
    """
    tally = Tally()
    for number in range(audits):
        rng = np.random.default_rng([seed, number])
        parts = [visits(persons, each, part, rng) for part in range(3)]
        features = [name for name in parts[0] if name.startswith("x")]
        model = LogisticRegression().fit(parts[0][features], parts[0]["y"])
        with tempfile.TemporaryDirectory() as folder:
            results = gl.audit(
                model,
                *(part if with_identifiers else part.drop(columns="person") for part in parts[1:]),
                label="y",
                group="part",
                person="person" if with_identifiers else None,
                references=references,
                jobs=1,
                seed=number,
                folder=f"{folder}/a",
            )
        tally.count(claims(results), TRUE_WITHOUT_LEAKAGE)
    return tally.shares()


def visits(persons: int, each: int, part: int, rng: np.random.Generator) -> pd.DataFrame:
    """Draw persons with several records: half of the variance of features and of the label's logit is between persons."""
    owners = np.repeat(np.arange(persons), each)
    x, noise = (
        (rng.normal(size=(persons, width))[owners] + rng.normal(size=(persons * each, width))) / np.sqrt(2)
        for width in (5, 1)
    )
    y = (x[:, 0] + 0.7 * noise[:, 0] > 0).astype(int)
    return table(x, y, rng).assign(person=[f"{part}-{owner}" for owner in owners])


def table(x: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> pd.DataFrame:
    """Return records with five random groups."""
    columns = {f"x{i}": column for i, column in enumerate(x.T)}
    return pd.DataFrame(columns).assign(y=y, part=rng.integers(5, size=len(y)).astype(str))


# -----------------------------------------------------------------------------------------------------------------------

# Number of simulations or audits at full size, and the function to run, by name.
PARTS: dict[str, tuple[int, Callable[[int], Metrics]]] = {
    "recipe": (1000, recipe),
    "recipe, leaking": (300, partial(recipe, shift=1.0)),
    "recipe until narrow": (1000, recipe_until),
    "recipe until narrow, leaking": (200, partial(recipe_until, shift=1.0)),
    "prediction interval": (2000, prediction_interval),
    "prediction interval, nothing leaks": (2000, partial(prediction_interval, shift=0.0)),
    "prediction interval, nearly everything leaks": (2000, partial(prediction_interval, shift=5.0)),
    "prediction interval, eight references": (2000, partial(prediction_interval, references=8)),
    "prediction interval, tied scores": (2000, partial(prediction_interval, step=0.5)),
    "prediction interval, a target that leaks more": (2000, partial(prediction_interval, beyond=0.5)),
    "prediction interval, forests": (20, partial(prediction_interval_of_audits, model_type="forest")),
    "prediction interval, logistic regression": (
        20,
        partial(prediction_interval_of_audits, model_type="logistic regression"),
    ),
    "50 groups": (1000, random_groups),
    "50 groups that leak equally": (300, partial(random_groups, shift=1.0)),
    "50 groups, one exposed": (300, partial(random_groups, exposed=2.0)),
    "exposed records": (40, exposed_records),
    "null audits, visits": (200, null_visits),
    "null audits, visits without person identifiers": (100, partial(null_visits, with_identifiers=False)),
    **{f"null audits, {model_type}": (300, partial(null_audits, model_type)) for model_type in MODELS},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", nargs="*", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--share", type=float, default=1.0, help="share of the simulations or audits at full size")
    path, options = HERE / "claims.json", parser.parse_args()
    warnings.simplefilter("ignore")
    for part in options.parts:
        number, simulate = PARTS[part]
        results = simulate(max(1, round(options.share * number)))
        metrics = {n: value if isinstance(value, int) else round(float(value), 4) for n, value in results.items()}
        print(f"{part:32}", "  ".join(f"{name} {value:g}" for name, value in metrics.items()), flush=True)
        stored = json.loads(path.read_text())["parts"] if path.exists() else {}
        stored[part] = metrics
        ordered = {name: stored[name] for name in PARTS if name in stored}
        document = {"command": "python -m benchmarks.error_rates.claims", "parts": ordered}
        path.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
