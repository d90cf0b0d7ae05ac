"""Several records of one person: evaluation, training and exclusion are decided by person."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import guestlist as gl
from guestlist import AuditWarning, InputError
from guestlist._collect import prepare
from guestlist._store import fingerprint
from guestlist.data import as_data
from guestlist.games import Bernoulli, Sides, draw


def visits(persons, each, seed, first=0):
    """Patients with several visits that resemble each other."""
    rng = np.random.default_rng(seed)
    whose = np.repeat(np.arange(first, first + persons), each)
    centre = rng.normal(size=(persons, 3)).repeat(each, axis=0)
    table = pd.DataFrame(centre + rng.normal(0, 0.5, (len(whose), 3)), columns=list("abc"))
    return table.assign(patient=[f"p{n}" for n in whose], ill=rng.integers(2, size=len(whose)))


@pytest.fixture(scope="module")
def visits_model():
    members, nonmembers = visits(20, 5, 1), visits(25, 4, 2, first=100)
    model = LogisticRegression().fit(members[["a", "b", "c"]], members["ill"])
    return model, members, nonmembers


@pytest.mark.slow
def test_references_train_on_whole_persons(visits_model, tmp_path):
    model, *sides = visits_model
    case = gl.collect(model, *sides, label="ill", person="patient", references=6, folder=tmp_path, jobs=1)
    assert "patient" not in case.records
    assert case.records["person"].nunique() == 45
    for row in case.stand_ins.member:
        by_person = pd.Series(row).groupby(case.records["person"].to_numpy()).nunique()
        assert (by_person == 1).all()
    assert len(np.unique(case.stand_ins.member.mean(axis=1))) > 1
    assert len(np.unique(case.persons)) == 45


@pytest.mark.parametrize("game", [Bernoulli(0.4), Sides(40, 40)])
def test_a_game_draws_whole_persons(game):
    data = as_data(visits(30, 4, 0), side="data", label="ill", person="patient")
    split = draw(game, data, 4, seed=1)
    for row in (*split.member, *split.evaluated):
        assert (pd.Series(row).groupby(data.persons).nunique() == 1).all()
    assert 0 < split.members.sum() < len(data)
    if isinstance(game, Sides):
        assert (split.members.sum(), split.nonmembers.sum()) == (40, 40)
    alone = draw(game, as_data(visits(30, 4, 0).drop(columns="patient"), side="data", label="ill"), 4, seed=1)
    assert not np.array_equal(alone.member, split.member)


def test_uneven_persons_give_at_least_so_many_records():
    rng = np.random.default_rng(0)
    whose = np.repeat(np.arange(40), rng.integers(1, 9, 40)).astype(str).astype(object)
    data = gl.Data(rng.normal(size=(len(whose), 2)), np.zeros(len(whose)), persons=whose)
    split = draw(Sides(50, 60), data, 1, seed=3)
    assert 50 <= split.members.sum() < 58
    assert 60 <= split.nonmembers.sum() < 68


@pytest.mark.slow
def test_a_person_in_both_sets_is_a_duplicate(visits_model):
    model, members, nonmembers = visits_model
    again = pd.concat([nonmembers, visits(1, 7, 9, first=3)], ignore_index=True)
    with pytest.warns(AuditWarning, match="one of the 1 persons"):
        results = gl.audit(model, members, again, label="ill", person="patient", references=0)
    assert results.check("GL101").values == {"duplicates": 7, "nonmembers": 107, "persons": 1}
    with pytest.warns(AuditWarning, match="or belong to a person"):
        fewer = gl.audit(model, members, again, label="ill", person="patient", references=0, duplicates="drop")
    assert fewer.subject.nonmembers == 100
    mostly = members.assign(a=members["a"] + 1)
    with pytest.raises(InputError, match="non-members are also members"):
        gl.audit(model, members, mostly, label="ill", person="patient", references=0)


@pytest.mark.slow
def test_names_that_repeat_are_an_issue_unless_persons_are_given(visits_model):
    model, *sides = visits_model
    with pytest.warns(AuditWarning, match="200 records have 45 different ids"):
        results = gl.audit(model, *sides, label="ill", id="patient", references=0)
    assert results.check("GL114").state == "issue"
    known = gl.audit(model, *sides, label="ill", id="patient", person="patient", references=0)
    assert known.check("GL114").state == "not applicable"
    assert known.records["id"].tolist() == known.records["person"].tolist()
    numbered = [side.assign(visit=[f"{n}-{k}" for n in range(len(side))]) for k, side in enumerate(sides)]
    single = gl.audit(model, *(t.drop(columns="patient") for t in numbered), label="ill", id="visit", references=0)
    assert single.check("GL114").state == "passed"


def test_persons_decide_the_fingerprint_and_must_be_known():
    table = visits(4, 3, 0)
    data = as_data(table, side="members", label="ill", person="patient")
    other = as_data(table.assign(patient=list("aabbccddeeff")), side="members", label="ill", person="patient")
    assert fingerprint(data) != fingerprint(other)
    assert list(data.x.columns) == list("abc")
    with pytest.raises(InputError, match="is missing for"):
        as_data(table.assign(patient=[None, *table["patient"][1:]]), side="members", label="ill", person="patient")
    with pytest.raises(InputError, match=r"gl\.Data"):
        as_data((table[["a"]].to_numpy(), table["ill"]), side="members", person="patient")
    model = LogisticRegression().fit(table[["a", "b", "c"]], table["ill"])
    unknown = as_data(table.drop(columns="patient"), side="nonmembers", label="ill")
    with pytest.raises(InputError, match="for all records, or for none"):
        prepare(model, data, unknown)


@pytest.mark.slow
def test_predictions_know_persons_too(tmp_path):
    rng = np.random.default_rng(0)
    p = rng.random(60)
    table = pd.DataFrame({"p_0": 1 - p, "p_1": p, "label": rng.integers(2, size=60), "member": np.arange(60) < 30})
    table["patient"] = np.repeat(np.arange(12), 5)
    table.loc[30, "patient"] = 0
    table.to_csv(tmp_path / "p.csv", index=False)
    from guestlist import read_predictions

    results = gl.audit_predictions(read_predictions(tmp_path / "p.csv", person="patient"))
    assert results.records["person"].tolist() == table["patient"].astype(str).tolist()
    assert results.check("GL101").values == {"duplicates": 1, "nonmembers": 30, "persons": 1}
    named = gl.audit_predictions(read_predictions(tmp_path / "p.csv", id="patient"))
    assert named.check("GL114").state == "issue"


def by_order(signals):
    """Ranks equals by their place."""
    return -np.arange(len(signals.labels), dtype=float)


@pytest.mark.slow
def test_the_order_of_the_records_has_no_effect():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(400, 3)), rng.integers(2, size=400)
    model = LogisticRegression().fit(rng.normal(size=(50, 3)), rng.integers(2, size=50))
    sides = (x[:200], y[:200]), (x[200:], y[200:])
    results = gl.audit(model, *sides, references=0, attacks=[by_order])
    assert results.attack("by_order").auc.low < 0.5 < results.attack("by_order").auc.high
    assert results.records["id"].tolist() == [f"members:{n}" for n in range(200)] + [
        f"nonmembers:{n}" for n in range(200)
    ]
    p = model.predict_proba(x)
    outputs = gl.Predictions(p, y, np.arange(400) < 200)
    results = gl.audit_predictions(outputs, attacks=[by_order])
    assert results.attack("by_order").auc.low < 0.5 < results.attack("by_order").auc.high
    assert results.records["member"].tolist() == [True] * 200 + [False] * 200
    np.testing.assert_array_equal(results.records["p_y"], p[np.arange(400), y])
