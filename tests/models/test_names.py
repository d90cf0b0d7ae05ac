"""Names of models in reports, and training of a target with its recipe."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
import skops.io
from click.testing import CliRunner
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import guestlist as gl
from guestlist.cli import main
from guestlist.models import as_target

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3))
Y = (X[:, 0] + RNG.normal(size=120) > 0).astype(int)
MEMBERS, NONMEMBERS = (X[:60], Y[:60]), (X[60:], Y[60:])


def outputs(x, slope=1.0):
    return np.full((len(x), 2), 0.5)


def search(model, name):
    return GridSearchCV(model, {name: [1, 2]}, cv=2).fit(*MEMBERS)


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (search(DecisionTreeClassifier(), "max_depth"), "DecisionTreeClassifier"),
        (
            search(make_pipeline(StandardScaler(), LogisticRegression()), "logisticregression__C"),
            "StandardScaler + LogisticRegression",
        ),
        (
            make_pipeline(StandardScaler(), search(LogisticRegression(), "C")).fit(*MEMBERS),
            "StandardScaler + LogisticRegression",
        ),
        (make_pipeline("passthrough", LogisticRegression()).fit(*MEMBERS), "LogisticRegression"),
        (gl.function_target(outputs, classes=[0, 1]), "outputs"),
        (gl.function_target(partial(outputs, slope=2.0), classes=[0, 1]), "outputs"),
        (gl.function_target(lambda x: outputs(x), classes=[0, 1]), "function"),
    ],
)
def test_a_model_has_the_name_of_its_inner_estimator(model, name):
    assert as_target(model).name == name
    assert as_target(model, name="credit score").name == "credit score"


def test_the_report_has_the_name_that_the_user_gives(tmp_path):
    model = LogisticRegression().fit(*MEMBERS)
    results = gl.audit(
        model, MEMBERS, NONMEMBERS, name="credit score", references=0, attacks=["loss"], baseline=False, folder=tmp_path
    )
    assert results.subject.name == "credit score"
    assert gl.read_results(tmp_path).subject.name == "credit score"
    with pytest.raises(ValueError, match="name="):
        gl.audit(model, MEMBERS, NONMEMBERS, name=" ")


def test_the_command_takes_a_name(tmp_path):
    model = LogisticRegression().fit(*MEMBERS)
    skops.io.dump(model, tmp_path / "model.skops")
    frames = []
    for side, (x, y) in {"members": MEMBERS, "nonmembers": NONMEMBERS}.items():
        frame = pd.DataFrame(x, columns=["a", "b", "c"]).assign(label=y)
        frame.to_csv(tmp_path / f"{side}.csv", index=False)
        outputs = pd.DataFrame(model.predict_proba(x), columns=["p_0", "p_1"])
        frames.append(outputs.assign(label=y, member=side == "members"))
    pd.concat(frames).to_csv(tmp_path / "predictions.csv", index=False)
    for name, sources in {
        "model": ("model.skops", "members.csv", "nonmembers.csv"),
        "predictions": ("predictions.csv",),
    }.items():
        options = [name, "members", "nonmembers"]
        arguments = [
            text for option, path in zip(options, sources, strict=False) for text in (f"--{option}", tmp_path / path)
        ]
        arguments += [
            "--label",
            "label",
            "--references",
            0,
            "--attack",
            "loss",
            "--no-baseline",
            "--out",
            tmp_path / name,
        ]
        result = CliRunner().invoke(main, ["audit", *map(str, arguments), "--name", f"credit {name}"])
        assert result.exit_code == 0, result.output
        assert gl.read_results(tmp_path / name).subject.name == f"credit {name}"


def test_a_torch_target_is_trained_with_its_recipe():
    torch = pytest.importorskip("torch")
    target = gl.torch_target(
        torch.nn.Linear(3, 1), classes=["no", "yes"], train=gl.defences.Fit(epochs=20, learning_rate=0.1)
    )
    labels = np.array(["no", "yes"])[Y]
    before = torch.get_rng_state()
    first, same, other = (gl.models.train_target(target, (X, labels), seed=seed).predict(X) for seed in (0, 0, 1))
    assert np.array_equal(first, same)
    assert not np.array_equal(first, other)
    assert (first.argmax(axis=1) == Y).mean() > 0.65
    assert torch.equal(torch.get_rng_state(), before)
    with pytest.raises(gl.InputError, match="cannot be retrained"):
        gl.models.train_target(gl.torch_target(torch.nn.Linear(3, 2)), (X, Y))
