"""A target with an output defence: its references have it too, unless the attacker knows nothing of it."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.tree import DecisionTreeClassifier

import guestlist as gl
from guestlist import InputError


@pytest.fixture(scope="module")
def sides():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(240, 4))
    y = np.where(x[:, 0] + rng.normal(size=240) > 0, "yes", "no")
    return (x[:120], y[:120]), (x[120:], y[120:])


@pytest.fixture(scope="module")
def model(sides):
    return DecisionTreeClassifier(min_samples_leaf=3, random_state=0).fit(*sides[0])


OPTIONS = {"references": 6, "attacks": ["loss", "correctness", "lira"], "jobs": 1, "baseline": False}


def test_outputs_of_target_and_references_are_changed_the_same_way(model, sides):
    target = gl.models.with_output_defence(model, gl.defences.LabelOnly())
    assert set(np.unique(target.predict(sides[0][0]))) == {0.0, 1.0}
    reference = target.can["train"](gl.Data(*sides[0]), np.random.default_rng(1))
    assert set(np.unique(reference(sides[1][0]))) == {0.0, 1.0}
    naive = gl.models.with_output_defence(model, gl.defences.LabelOnly(), attacker="naive").can["train"](
        gl.Data(*sides[0]), np.random.default_rng(1)
    )
    assert len(np.unique(naive(sides[1][0]))) > 2


@pytest.mark.slow
def test_an_audit_sees_only_the_outputs(model, sides):
    plain = gl.audit(model, *sides, **OPTIONS)
    label = gl.audit(gl.models.with_output_defence(model, gl.defences.LabelOnly()), *sides, **OPTIONS)
    assert label.attack("loss").auc.value == pytest.approx(label.attack("correctness").auc.value)
    assert label.records["score_loss"].nunique() == 2 < plain.records["score_loss"].nunique()
    assert plain.attack("correctness").auc.value == pytest.approx(label.attack("correctness").auc.value)


def test_two_output_defences_never_share_a_folder(model):
    recipes = [
        gl.models.with_output_defence(model, defence).recipe
        for defence in (gl.defences.Rounded(1), gl.defences.Rounded(2), gl.defences.LabelOnly())
    ]
    recipes += [
        gl.models.with_output_defence(model, gl.defences.Rounded(1), attacker="naive").recipe,
        gl.estimator_target(model).recipe,
    ]
    assert len(set(recipes)) == 5


def test_logits_become_probabilities(sides):
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    target = gl.torch_target(gl.defences.mlp(4, 2, hidden=(4,)), classes=["no", "yes"], train=gl.defences.Fit(epochs=2))
    changed = gl.models.with_output_defence(target, gl.defences.Temperature(1.0))
    logits = target.predict(sides[0][0])
    expected = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    assert changed.predict(sides[0][0]) == pytest.approx(expected)
    assert "white_box" not in changed.can
    with pytest.raises(InputError, match="an output defence changes its outputs"):
        changed.needs("white_box")


@pytest.mark.slow
def test_an_output_defence_that_is_fitted_receives_the_members(sides):
    pytest.importorskip("torch")
    model = RandomForestClassifier(10, random_state=0).fit(*sides[0])  # much surer of its members
    rng = np.random.default_rng(5)
    held_out = gl.Data(rng.normal(size=(60, 4)), rng.integers(2, size=60))
    defence = gl.defences.MemGuard(
        held_out, hidden=(8,), classifier=gl.defences.Fit(epochs=40, learning_rate=0.02), steps=20
    )
    with pytest.raises(InputError, match="MemGuard is fitted on the records"):
        gl.models.with_output_defence(model, defence)
    target = gl.models.with_output_defence(model, defence, members=sides[0])
    p, outputs = model.predict_proba(sides[1][0]), target.predict(sides[1][0])
    assert (outputs.argmax(1) == p.argmax(1)).all()
    assert np.abs(outputs - p).max() > 0
    reference = target.can["train"](gl.Data(*sides[0]), np.random.default_rng(1))
    assert reference(sides[1][0]).sum(axis=1) == pytest.approx(np.ones(120))


@pytest.mark.slow
def test_nothing_reads_more_than_the_defended_outputs(model, sides):
    results = gl.audit(
        gl.models.with_output_defence(model, gl.defences.LabelOnly()), *sides, **{**OPTIONS, "attacks": None}
    )
    assert not {"leaf_shares", "white_box"} & {outcome.name for outcome in results.outcomes}
    assert {"leaves", "neighbours", "checkpoints"}.isdisjoint(
        gl.models.with_output_defence(model, gl.defences.LabelOnly()).can
    )


def test_held_out_records_are_brought_into_the_models_form():
    pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(90, 3)), columns=list("abc")).assign(sex=rng.integers(2, size=90))
    y = rng.integers(2, size=90)
    model = RandomForestClassifier(5, random_state=0).fit(table.loc[:39, list("abc")], y[:40])
    defence = gl.defences.MemGuard(
        gl.Data(table[60:].reset_index(drop=True), y[60:]), hidden=(4,), classifier=gl.defences.Fit(epochs=2), steps=5
    )
    target = gl.models.with_output_defence(model, defence, members=(table[:40], y[:40]))
    assert target.predict(table.loc[40:59, list("abc")]).shape == (20, 2)
    with pytest.raises(InputError, match=r"held_out must be gl\.Data"):
        gl.defences.MemGuard((table, y))


def test_impossible_defences_are_reported(model, sides):
    with pytest.raises(InputError, match="not an output defence"):
        gl.models.with_output_defence(model, gl.defences.Fit())
    with pytest.raises(InputError, match="predicts values"):
        gl.models.with_output_defence(Ridge().fit(np.ones((4, 1)), np.arange(4.0)), gl.defences.LabelOnly())
    with pytest.raises(ValueError, match="'adaptive', 'naive'"):
        gl.models.with_output_defence(LogisticRegression().fit(*sides[0]), gl.defences.LabelOnly(), attacker="lazy")
