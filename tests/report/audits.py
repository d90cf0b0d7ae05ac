"""Seven audits that readers meet, small and with fixed seeds, for the snapshots of whole reports."""

from collections.abc import Callable

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from tests.corpus.audits import records

import guestlist as gl
from guestlist._audit.demo import demo_inputs

OPTIONS = {"references": 8, "seed": 3, "engine": gl.Here(), "progress": False}


def demo() -> gl.Results:
    """The network of the demo, with few reference models."""
    return gl.audit(**demo_inputs(), **{**OPTIONS, "references": 4}, about={"demo": True})


def adult() -> gl.Results:
    """A tree on part of the Adult data, with groups."""
    label = gl.datasets.DATASETS["adult"].label
    table = gl.datasets.load("adult").drop(columns=["split", "fnlwgt"]).sample(1200, random_state=0)
    members, nonmembers = table.iloc[:600].reset_index(drop=True), table.iloc[600:].reset_index(drop=True)
    encoder = OneHotEncoder(handle_unknown="ignore")
    model = make_pipeline(encoder, DecisionTreeClassifier(min_samples_leaf=3, random_state=0))
    model.fit(members.drop(columns=label), members[label])
    return gl.audit(model, members, nonmembers, label=label, group=["sex", "race"], **OPTIONS)


def null() -> gl.Results:
    """A strongly regularised model with few parameters, in which attacks find nothing."""
    members, nonmembers = records(31, 400, 400)
    return gl.audit(LogisticRegression(C=0.001).fit(*members), members, nonmembers, **OPTIONS)


def leaking_tree() -> gl.Results:
    """A tree that memorises, with a row for someone who holds the model file."""
    members, nonmembers = records(32, 300, 300)
    return gl.audit(DecisionTreeClassifier(random_state=0).fit(*members), members, nonmembers, **OPTIONS)


def tiny() -> gl.Results:
    """Too few records for any conclusion."""
    members, nonmembers = records(33, 20, 20)
    return gl.audit(LogisticRegression().fit(*members), members, nonmembers, **OPTIONS)


def regression() -> gl.Results:
    """A regression tree that memorises."""
    (x, _), (z, _) = records(34, 200, 200)
    rng = np.random.default_rng(34)
    members = (x, x[:, 0] ** 2 + rng.normal(size=len(x)))
    nonmembers = (z, z[:, 0] ** 2 + rng.normal(size=len(z)))
    model = DecisionTreeRegressor(min_samples_leaf=2, random_state=0).fit(*members)
    return gl.audit(model, members, nonmembers, **OPTIONS)


def private() -> gl.Results:
    """A network trained with DP-SGD."""
    (data,) = records(35, 400)
    recipe = gl.defences.DpSgd(noise=2.0, rate=0.25, epochs=4, learning_rate=0.5)
    return gl.play(gl.games.Sides(200, 200), recipe, data, model=gl.defences.mlp(5, 3, hidden=(8,)), **OPTIONS)


NAMED: dict[str, Callable[[], gl.Results]] = {
    "demo": demo,
    "adult": adult,
    "null": null,
    "leaking_tree": leaking_tree,
    "tiny": tiny,
    "regression": regression,
    "private": private,
}
NEEDS_DATA = {"adult": "adult.parquet"}
