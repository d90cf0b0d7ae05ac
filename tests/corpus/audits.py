"""Small audits with fixed seeds, written against public names only.

Each function runs one audit in a folder that the caller provides, and returns its results or plain JSON. Each takes at most
about three seconds, so that the corpus can run after every change.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import guestlist as gl

MEMBERS = 60
NONMEMBERS = 60
OPTIONS = {"references": 8, "seed": 3, "engine": gl.Here(), "progress": False}
AUDITS: dict[str, Callable[[Path], Any]] = {}


def corpus(audit: Callable[[Path], Any]) -> Callable[[Path], Any]:
    """Add an audit to the corpus under its function's name."""
    AUDITS[audit.__name__] = audit
    return audit


def records(seed: int, *sizes: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return sets of records with five features and three overlapping classes."""
    rng = np.random.default_rng(seed)
    sets = []
    for size in sizes:
        y = rng.integers(3, size=size)
        sets.append((rng.normal(size=(size, 5)) + np.eye(5)[y], y))
    return sets


def table(seed: int, size: int) -> pd.DataFrame:
    """Return a table with identifiers, persons with several records each, two groups and a label."""
    ((x, y),) = records(seed, size)
    frame = pd.DataFrame(x.round(3), columns=[f"x{i}" for i in range(5)])
    rng = np.random.default_rng([seed, 1])
    frame["patient"] = [f"p{seed}-{i}" for i in rng.integers(size // 3, size=size)]
    frame["visit"] = [f"v{seed}-{i}" for i in range(size)]
    frame["sex"] = rng.choice(["f", "m"], size)
    frame["site"] = rng.choice(["north", "south", "west"], size, p=[0.6, 0.3, 0.1])
    frame["label"] = np.array(["low", "middle", "high"])[y]
    return frame


@corpus
def classifier(folder: Path) -> gl.Results:
    """A logistic regression on arrays with every attack that runs by default, and a claim of differential privacy."""
    members, nonmembers = records(1, MEMBERS, NONMEMBERS)
    model = LogisticRegression(C=100).fit(*members)
    return gl.audit(model, members, nonmembers, folder=folder, claimed=gl.Claim(epsilon=1.0, delta=1e-5), **OPTIONS)


@corpus
def regression(folder: Path) -> gl.Results:
    """A ridge regression: attacks on residuals, and leverage."""
    (x, _), (z, _) = records(2, MEMBERS, NONMEMBERS)
    weights = np.array([1.0, -2.0, 0.5, 0.0, 3.0])
    rng = np.random.default_rng(2)
    members = (x, x @ weights + rng.normal(size=len(x)))
    nonmembers = (z, z @ weights + rng.normal(size=len(z)))
    return gl.audit(Ridge(0.1).fit(*members), members, nonmembers, folder=folder, **OPTIONS)


@corpus
def regression_tree(folder: Path) -> gl.Results:
    """A tree of numbers that fits its training records exactly."""
    (x, _), (z, _) = records(12, MEMBERS, NONMEMBERS)
    members = (x, x[:, 0] ** 2 + x[:, 1])
    nonmembers = (z, z[:, 0] ** 2 + z[:, 1])
    model = DecisionTreeRegressor(random_state=0).fit(*members)
    return gl.audit(model, members, nonmembers, folder=folder, **OPTIONS)


@corpus
def trees(folder: Path) -> gl.Results:
    """A random forest: leaves as evidence, and duplicates between members and non-members."""
    members, nonmembers = records(3, MEMBERS, NONMEMBERS)
    nonmembers[0][:3] = members[0][:3]
    nonmembers[1][:3] = members[1][:3]
    model = RandomForestClassifier(5, random_state=0).fit(*members)
    return gl.audit(model, members, nonmembers, folder=folder, duplicates="drop", **OPTIONS)


@corpus
def knn(folder: Path) -> gl.Results:
    """A K-NN model: the space of its distances, and SHAPr of the inputs."""
    members, nonmembers = records(4, MEMBERS, NONMEMBERS)
    model = KNeighborsClassifier(3).fit(*members)
    return gl.audit(model, members, nonmembers, folder=folder, evidence=[gl.evidence.Spaces(("inputs",))], **OPTIONS)


@corpus
def torch(folder: Path) -> gl.Results:
    """A small network that is trained by a game, with gradients, layers and checkpoints as evidence."""
    (data,) = records(5, MEMBERS + NONMEMBERS)
    evidence = [gl.evidence.WhiteBox(), gl.evidence.Spaces(("first_layer", "last_hidden")), gl.evidence.LossTrace()]
    recipe = gl.defences.Fit(epochs=15, batch_size=16, learning_rate=0.05)
    module = gl.defences.mlp(5, 3, hidden=(16,))
    return gl.play(
        gl.games.Sides(MEMBERS, NONMEMBERS), recipe, data, model=module, folder=folder, evidence=evidence, **OPTIONS
    )


@corpus
def onnx(folder: Path) -> gl.Results:
    """An ONNX file with a function that trains references."""
    from skl2onnx import to_onnx

    members, nonmembers = records(6, MEMBERS, NONMEMBERS)
    model = LogisticRegression(C=100).fit(*members)
    path = folder.parent / "model.onnx"
    path.write_bytes(to_onnx(model, members[0][:1], options={"zipmap": False}).SerializeToString())

    def train(data, rng):
        return clone(model).fit(data.x, data.y).predict_proba

    return gl.audit(gl.onnx_target(path, train=train), members, nonmembers, folder=folder, **OPTIONS)


def predictions_of(seed: int, **options) -> gl.Predictions:
    """Return the outputs of a forest for its members and as many non-members."""
    members, nonmembers = records(seed, MEMBERS, NONMEMBERS)
    model = RandomForestClassifier(10, random_state=0).fit(*members)
    x = np.concatenate([members[0], nonmembers[0]])
    y = np.concatenate([members[1], nonmembers[1]])
    if options.pop("with_features", False):
        options["features"] = x
    if options.pop("without_labels", False):
        y = None
        options["labelled"] = False
    return gl.Predictions(model.predict_proba(x), y, np.arange(len(x)) < MEMBERS, **options)


@corpus
def predictions(folder: Path) -> gl.Results:
    """Outputs with labels, groups, persons and features, and a shadow model."""
    rng = np.random.default_rng(7)
    groups = {"sex": rng.choice(["f", "m"], MEMBERS + NONMEMBERS)}
    persons = np.array([f"p{i // 2}" for i in range(MEMBERS + NONMEMBERS)])
    outputs = predictions_of(7, groups=groups, persons=persons, with_features=True)
    return gl.audit_predictions(outputs, shadow=predictions_of(8), folder=folder, prior=0.1)


@corpus
def predictions_unlabelled(folder: Path) -> gl.Results:
    """Outputs only: neither labels nor a shadow model."""
    return gl.audit_predictions(predictions_of(9, without_labels=True), folder=folder)


@corpus
def persons(folder: Path) -> gl.Results:
    """Tables in which persons have several records, with identifiers and two group columns."""
    members, nonmembers = table(10, MEMBERS), table(11, NONMEMBERS)
    features = [f"x{i}" for i in range(5)]
    columns = {"label": "label", "person": "patient", "id": "visit", "group": ["sex", "site"]}
    model = DecisionTreeClassifier(random_state=0).fit(members[features], members["label"])
    return gl.audit(model, members, nonmembers, folder=folder, ignore=["GL104"], **columns, **OPTIONS)


@corpus
def population(folder: Path) -> gl.Results:
    """More records of the same source for references, and a group column."""
    drop = ["patient", "visit"]
    tables = [table(seed, size).drop(columns=drop) for seed, size in ((13, MEMBERS), (14, NONMEMBERS), (15, 240))]
    features = [f"x{i}" for i in range(5)]
    model = RandomForestClassifier(5, random_state=0).fit(tables[0][features], tables[0]["label"])
    evidence = [gl.evidence.Quantiles(), gl.evidence.Distilled(models=4, records="population")]
    return gl.audit(model, *tables, folder=folder, label="label", group=["sex", "site"], evidence=evidence, **OPTIONS)


@corpus
def evidence(folder: Path) -> gl.Results:
    """Every type of evidence that a scikit-learn model can have on request."""
    members, nonmembers = records(16, MEMBERS, NONMEMBERS)
    plans = [
        gl.evidence.Distilled(models=6),
        gl.evidence.LeftOut(records=4, models=3),
        gl.evidence.Perturbed(copies=5),
        gl.evidence.Quantiles(level=0.6),
        gl.evidence.FullOutputs(),
        gl.evidence.Leverage(),
        gl.evidence.Spaces(("inputs",)),
    ]
    model = LogisticRegression(C=100).fit(*members)
    return gl.audit(model, members, nonmembers, folder=folder, evidence=plans, **OPTIONS)


@corpus
def combined_attacks(folder: Path) -> gl.Results:
    """Chosen attacks, a combination of attacks and a user-defined attack, without the baseline."""
    members, nonmembers = records(17, MEMBERS, NONMEMBERS)
    model = DecisionTreeClassifier(min_samples_leaf=2, random_state=0).fit(*members)

    def minus_entropy(signals):
        return -signals.target("entropy")

    attacks = ["loss", "lira_bayes", "union(loss,lira)", minus_entropy]
    return gl.audit(model, members, nonmembers, folder=folder, attacks=attacks, baseline=False, **OPTIONS)


@corpus
def comparison(folder: Path) -> Any:
    """Two audits of the same records, compared."""
    members, nonmembers = records(18, MEMBERS, NONMEMBERS)
    audits = {
        name: gl.audit(
            DecisionTreeClassifier(max_depth=depth, random_state=0).fit(*members),
            members,
            nonmembers,
            folder=folder / name,
            baseline=False,
            **OPTIONS,
        )
        for name, depth in (("plain", None), ("shallow", 2))
    }
    path = gl.compare(audits, fpr=0.1).to_json(folder / "comparison.json")
    return json.loads(path.read_text("utf-8"))


@corpus
def game(folder: Path) -> gl.Results:
    """Canaries with wrong labels in a pool of records."""
    (data,) = records(19, 200)
    model = RandomForestClassifier(5, random_state=0)
    return gl.play(gl.games.Canaries(60), model, data, folder=folder, **OPTIONS)


@corpus
def games(folder: Path) -> Any:
    """Every other game with one target, judged by two attacks."""
    frame = table(20, 240)
    frame["label"] = (frame["x0"] > 0).astype(int)
    frame = frame.drop(columns=["patient", "visit", "sex"])
    played = {
        "bernoulli": gl.games.Bernoulli(0.5),
        "sides": gl.games.Sides(60, 60),
        "bias": gl.games.Bias("x1", "high", 0.8, 40, 40),
        "sources": gl.games.Sources("site", "north"),
        "clusters": gl.games.Clusters(60, 60),
    }
    frame["x1"] = np.where(frame["x1"] > 0.3, "high", "low")
    results = {}
    for name, rules in played.items():
        data = frame.drop(columns=["site"]) if name != "sources" else frame
        data = data if name == "bias" else data.drop(columns=["x1"])
        options = {**OPTIONS, "references": 4, "attacks": ["loss", "lira"]}
        results[name] = gl.play(rules, DecisionTreeClassifier(random_state=0), data, label="label", **options).attacks
    return {name: frame.to_dict("list") for name, frame in results.items()}


@corpus
def trials(folder: Path) -> Any:
    """Many models with one record in or out: a lower bound on epsilon."""
    (data,) = records(21, 60)
    model = DecisionTreeClassifier(random_state=0)
    claimed = gl.Claim(0.2)
    options = {"seed": 3, "engine": gl.Here(), "progress": False}
    bounds = [
        gl.play_many(gl.games.Strong(20, against="nothing"), model, data, runs=20, claimed=claimed, **options),
        gl.play_many(gl.games.Exchangeable(20), model, data, runs=12, **options),
    ]
    return bounds


@corpus
def gate(folder: Path) -> gl.Results:
    """A policy that the audit violates: the verdicts are kept in results.json."""
    from click.testing import CliRunner

    from guestlist.cli import main

    members, nonmembers = records(22, MEMBERS, NONMEMBERS)
    model = DecisionTreeClassifier(random_state=0).fit(*members)
    gl.audit(model, members, nonmembers, folder=folder, **OPTIONS)
    policy = folder.parent / "policy.toml"
    policy.write_text('max_auc = 0.6\nmax_advantage = 0.9\nmax_tpr = ["0.2@0.1"]\nleast_records = 50\n', "utf-8")
    ended = CliRunner().invoke(main, ["gate", str(folder), "--policy", str(policy)])
    assert ended.exit_code == 1, ended.output
    return gl.read_results(folder)


@corpus
def defend(folder: Path) -> Any:
    """Two defences of a tree, each audited and compared with the plain model."""
    members, nonmembers = records(23, MEMBERS, NONMEMBERS)
    model = DecisionTreeClassifier(random_state=0).fit(*members)
    defended = gl.defend(
        model, members, nonmembers, folder=folder, defences=["regularised", "rounded"], baseline=False, **OPTIONS
    )
    return {"helps": list(defended.helps), "table": defended.table.to_dict("list")}
