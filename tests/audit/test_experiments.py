"""Experiments on games of dependent records: measures against loops, and runs that go on where they were."""

import json
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import sem, t

import guestlist as gl
from guestlist import ExperimentSetting, InputError, experiment
from guestlist._audit.experiment import Shadows, shadow_predictions, train_shadows, unused_records
from guestlist._audit.experiment_summary import (
    ACCURACIES,
    ATTACKS,
    Run,
    best_gap,
    gap,
    mean_of,
    measures,
    summarise_runs,
)
from guestlist.datasets import as_numbers
from guestlist.errors import FolderError

pytest.importorskip("torch")
pytest.importorskip("opacus")

NORTH = gl.games.Sources("place", "north", members=100, nonmembers=100)
SMALL = ExperimentSetting(epsilons=(1.0, math.inf), repeats=2, hidden=(16,), epochs=15, batch_size=20, validation=40)


@pytest.fixture(scope="module")
def people():
    return drawn(300)


def drawn(records):
    """Two places whose records lie apart, and a label that hangs on other features in each."""
    rng = np.random.default_rng(0)
    region = rng.integers(2, size=records)
    table = pd.DataFrame(rng.normal(size=(records, 4)), columns=list("abcd"))
    table["a"] += 4 * region
    table["place"] = np.where(region, "north", "south")
    table["sex"] = np.where(rng.random(records) < 0.5, "f", "m")
    table["y"] = (np.where(region, table["b"], -table["b"]) > 0).astype(int)
    return table


@pytest.fixture(scope="module")
def played(people, tmp_path_factory):
    folder = tmp_path_factory.mktemp("experiment")
    return experiment(NORTH, people, SMALL, label="y", folder=folder, engine=gl.Here()), folder


def test_the_best_gap_is_that_of_a_loop_over_thresholds():
    rng = np.random.default_rng(1)
    loss = rng.integers(5, size=80).astype(float)
    member = np.arange(80) < 30
    slow = max(gap(loss <= level, member, ~member) for level in (-1.0, *np.unique(loss)))
    assert best_gap(loss, member, ~member) == pytest.approx(slow)
    assert best_gap(np.where(member, 2.0, 1.0), member, ~member) == 0  # no threshold helps


def test_measures_of_a_model_that_knows_its_members():
    member = np.arange(40) < 20
    labels = np.zeros(40, dtype=int)
    p = np.where(member, 0.9, 0.4)
    log_p = np.log(np.column_stack([p, 1 - p]))
    measured = measures(log_p, labels, member, ~member, np.zeros(40, dtype=bool))
    assert measured["optimal_threshold"] == 1
    assert measured["average_threshold"] == 1
    assert (measured["members"], measured["nonmembers"]) == (1, 0)
    assert math.isnan(measured["validation"])
    assert math.isnan(measured["shadow"])


def test_the_average_may_be_that_of_others():
    member, labels = np.arange(40) < 20, np.zeros(40, dtype=int)
    p = np.where(member, np.where(np.arange(40) < 5, 0.5, 0.9), 0.4)
    log_p = np.log(np.column_stack([p, 1 - p]))

    def advantage(average):
        return measures(log_p, labels, member, ~member, ~member, None, average)["average_threshold"]

    assert advantage(None) == 0.75
    assert advantage(-np.log(0.5)) == 1
    assert advantage(-np.log(0.95)) == 0
    assert math.isnan(advantage(np.nan))
    shadows = Shadows(log_p[[0, 6, 20]], labels[:3], np.array([True, True, False]))
    assert shadows.average_loss == pytest.approx(-(np.log(0.5) + np.log(0.9)) / 2)


@pytest.mark.slow
def test_the_average_of_shadows_keeps_its_folder_to_itself(tmp_path, snapshot):
    setting = replace(SMALL, epsilons=(math.inf,), epochs=2, shadows=1, validation=0)
    people, game = drawn(500), gl.games.Sources("place", "north", members=110, nonmembers=110)
    by_target = experiment(game, people, setting, label="y", folder=tmp_path / "own", engine=gl.Here())
    others = replace(setting, average_of="shadows")
    by_shadows = experiment(game, people, others, label="y", folder=tmp_path / "told", engine=gl.Here())
    assert (by_target.average_of, by_shadows.to_dict()["average_of"]) == ("target", "shadows")
    differ = {figure: by_target.mean(figure, math.inf) != by_shadows.mean(figure, math.inf) for figure in ATTACKS}
    assert differ == {"average_threshold": True, "optimal_threshold": False, "shadow": False}
    with snapshot.raises(FolderError):
        experiment(game, people, others, label="y", folder=tmp_path / "own")
    plan = tmp_path / "own" / "plan.json"
    document = json.loads(plan.read_text())
    del document["setting"]["average_of"]  # as a folder has it that is older than the option
    plan.write_text(json.dumps(document))
    assert experiment(game, people, setting, label="y", folder=tmp_path / "own", engine=gl.Here()) == by_target
    with snapshot.raises(FolderError):
        experiment(game, people, others, label="y", folder=tmp_path / "own")
    with snapshot.raises(InputError, "200"):
        experiment(game, people[:300], others, label="y")


@pytest.mark.slow
def test_plain_shadows_are_the_same_for_every_epsilon(monkeypatch):
    """At epsilon = infinity both types are plain models; elsewhere only ``plain`` trains without noise, and once."""
    fitted, private = [], []
    fit, dp = gl.defences.Fit.__call__, gl.defences.DpSgd.__call__
    monkeypatch.setattr(gl.defences.Fit, "__call__", lambda *args: fitted.append(args) or fit(*args))
    monkeypatch.setattr(gl.defences.DpSgd, "__call__", lambda *args: private.append(args) or dp(*args))
    setting = replace(SMALL, epochs=2, shadows=3, validation=0)
    people, game = drawn(500), gl.games.Sources("place", "north", members=110, nonmembers=110)
    trained = {}
    for name in ("private", "plain"):
        fitted.clear(), private.clear()
        experiment(game, people, replace(setting, shadow_training=name), label="y", engine=gl.Here(), progress=False)
        trained[name] = (len(fitted), len(private))
    # 2 repeats, 2 arms, and a target for each of 2 epsilons; 3 shadow models for each target, or for each arm.
    assert trained == {"private": (16, 16), "plain": (4 + 12, 4)}


def test_the_interval_is_students():
    values = [0.1, 0.3, 0.2, 0.6]
    low, high = mean_of(values)[1:]
    assert (low, high) == pytest.approx(t.interval(0.95, 3, np.mean(values), sem(values)))
    assert math.isnan(mean_of([0.1]).value)


@pytest.mark.slow
def test_dependent_records_are_reported_and_the_control_is_played(played):
    whole, _ = played
    free = math.inf
    assert whole.mean("optimal_threshold", free).value > whole.mean("optimal_threshold", free, "iid").value
    assert {gap.attack for gap in whole.gaps} == {"average_threshold", "optimal_threshold"}
    # Validation records are of the members' place; that of the others is foreign to the model.
    assert whole.mean("validation", free).value > whole.mean("nonmembers", free).value + 0.1
    assert len(whole.table) == len(whole.points)


@pytest.mark.slow
def test_runs_are_kept_and_more_repeats_add_to_them(people, played, snapshot):
    _, folder = played
    before = {path: path.read_bytes() for path in (folder / "runs").iterdir()}
    (folder / "runs" / "run-00001.npz").unlink()  # as if it had been killed before
    repeated = experiment(NORTH, people, replace(SMALL, repeats=3), label="y", folder=folder, engine=gl.Here())
    assert {path: path.read_bytes() for path in before} == before
    assert repeated.repeats == 3
    with snapshot.raises(FolderError):
        experiment(NORTH, people, replace(SMALL, epochs=4), label="y", folder=folder)
    with snapshot.raises(FolderError):
        experiment(gl.games.Sources("sex", "f"), people, SMALL, label="y", folder=folder)


@pytest.mark.slow
@pytest.mark.long
def test_the_hidden_column_is_no_feature_and_results_do_not_depend_on_jobs(people):
    game = gl.games.Bias("sex", "f", 1.0, 60, 60)
    setting = replace(SMALL, epsilons=(math.inf,))
    here, two = (experiment(game, people, setting, label="y", engine=where) for where in (gl.Here(), gl.Local(2)))
    assert here.to_dict() == two.to_dict()
    assert here.mean("members", math.inf).value > 0.5


def test_shadow_models_train_an_attack():
    """Models that are certain of their own members alone: the calls are right for all."""
    labels = np.arange(400) % 2
    target = np.arange(400) < 100
    outside = np.arange(400) >= 200

    def outputs(rows, _=0):
        p = np.where(rows, 0.95, 0.6) + np.random.default_rng(rows.sum()).uniform(-0.02, 0.02, len(rows))
        return np.log(np.where(labels[:, None] == np.arange(2), p[:, None], 1 - p[:, None]))

    shadows = train_shadows(outputs, labels, outside, 2, np.random.default_rng(0))
    calls = shadow_predictions(shadows, labels, outputs(target))
    assert (calls[:200] == target[:200]).mean() > 0.95
    assert shadows.average_loss == pytest.approx(-np.log(0.95), abs=0.01)  # that of a record left out is larger
    assert train_shadows(outputs, labels, np.arange(400) < 50, 2, np.random.default_rng(0)) is None


@pytest.mark.parametrize(("share", "expected"), [(0.0, [30, 20]), (0.5, [30, 30]), (1.0, [20, 30])])
def test_the_adversary_has_at_most_n_unevaluated_records_of_each_value(share, expected):
    men = np.arange(200) % 2 == 0
    pool = gl.Data(np.zeros((200, 1)), np.zeros(200), groups={"sex": np.where(men, "m", "f")})
    game = gl.games.Bias("sex", "m", share, members=60, nonmembers=40)
    evaluated = np.zeros(200, dtype=bool)
    evaluated[np.flatnonzero(men)[: round(60 * share) + 20]] = True
    evaluated[np.flatnonzero(~men)[: 60 - round(60 * share) + 20]] = True
    unused = unused_records(game.parts(pool), evaluated, 30, np.random.default_rng(0))
    assert not (unused & evaluated).any()
    assert [(unused & of_value).sum() for of_value in (men, ~men)] == expected


def test_text_becomes_numbers():
    table = pd.DataFrame({"age": [20, None, 40], "sex": ["f", "m", None], "job": ["x", "y", "z"], "one": [1, 1, 1]})
    numbers = as_numbers(table)
    assert list(numbers) == ["age", "sex=m", "job=x", "job=y", "job=z", "one"]
    assert numbers["age"].tolist() == [0, 0.5, 1]
    assert numbers["sex=m"].tolist() == [0, 1, 0]
    assert not numbers["one"].any()


def test_wrong_experiments_are_reported(people, tmp_path, snapshot):
    with snapshot.raises(InputError, "Sides"):
        experiment(gl.games.Sides(10, 10), people, SMALL, label="y")
    with snapshot.raises(InputError, "iid=True"):
        experiment(gl.games.Sources("place", "north", iid=True), people, SMALL, label="y")
    with snapshot.raises(InputError, "500", "place = north"):
        experiment(gl.games.Sources("place", "north", members=500), people, SMALL, label="y")
    with snapshot.raises(InputError, "label 1"):
        experiment(NORTH, people.assign(y=1), SMALL, label="y")
    with snapshot.raises(InputError, "(20, 3, 3)"):
        experiment(gl.games.Clusters(5, 5), (np.zeros((20, 3, 3)), np.arange(20) % 2), SMALL)
    (tmp_path / "manifest.json").write_text("{}")
    with snapshot.raises(FolderError):
        experiment(NORTH, people, SMALL, label="y", folder=tmp_path)
    for wrong in (
        {"epsilons": ()},
        {"epsilons": (0.0,)},
        {"epsilons": (0.001,)},
        {"epsilons": (1.0, 1.0)},
        {"repeats": 1},
        {"delta": 0.0},
        {"average_of": "shadows"},
        {"average_of": "others", "shadows": 1},
        {"shadow_training": "public"},
    ):
        with pytest.raises(ValueError, match="Expected"):
            ExperimentSetting(**wrong)


@pytest.mark.slow
def test_equal_arms_are_rarely_distinguished():
    """Fifteen gaps of metrics with one distribution in both arms: the intervals hold simultaneously."""
    rng, claims = np.random.default_rng(0), 0
    setting = replace(SMALL, epsilons=(0.1, 1.0, 10.0, 100.0, math.inf), repeats=10)
    for _ in range(100):
        runs = [
            Run(arm, epsilon, repeat, {name: rng.normal(0.2, 0.05) for name in (*ATTACKS, *ACCURACIES)})
            for repeat in range(10)
            for epsilon in setting.epsilons
            for arm in ("apart", "iid")
        ]
        summary = summarise_runs({}, setting, runs)
        assert len(summary.gaps) == 15
        claims += any(gap.difference.low > 0 or gap.difference.high < 0 for gap in summary.gaps)
    assert claims <= 11  # 5 on average; 12 or more in 1 of 200 such tests
