"""Boosters without the scikit-learn interface are audited like their estimators."""

import numpy as np
import pandas as pd
import pytest

import guestlist as gl
from guestlist.defences import grid
from guestlist.models import FRAMEWORKS, as_target, framework_of
from guestlist.models.estimators import untrained_model
from guestlist.models.native_boosters import as_estimator

RNG = np.random.default_rng(0)
X = RNG.normal(size=(160, 3))
SCORE = X[:, 0] + RNG.normal(size=160)
LABELS = {2: (SCORE > 0).astype(int), 3: np.digitize(SCORE, [-0.7, 0.7])}
OPTIONS = {"references": 4, "attacks": ["loss", "lira"], "baseline": False, "jobs": 1, "progress": False}


def xgboost_booster(objective, y, rounds=12, x=X[:80], **params):
    xgboost = pytest.importorskip("xgboost")
    if objective.startswith("multi:"):
        params["num_class"] = 3
    records = xgboost.DMatrix(x, y[: len(x)], enable_categorical=True)
    return xgboost.train({"objective": objective, "nthread": 1, **params}, records, rounds)


def lightgbm_booster(objective, y, rounds=12, x=X[:80], **params):
    lightgbm = pytest.importorskip("lightgbm")
    if str(objective).startswith("multiclass"):
        params["num_class"] = 3
    params = {"objective": objective, "verbosity": -1, "num_threads": 1, "min_data_in_leaf": 3, **params}
    return lightgbm.train(params, lightgbm.Dataset(x, y[: len(x)]), rounds)


def sides(y):
    return (X[:80], y[:80]), (X[80:], y[80:])


CLASSIFIERS = [
    (xgboost_booster, "binary:logistic", 2),
    (xgboost_booster, "binary:logitraw", 2),
    (xgboost_booster, "binary:hinge", 2),
    (xgboost_booster, "multi:softprob", 3),
    (xgboost_booster, "multi:softmax", 3),
    (lightgbm_booster, "binary", 2),
    (lightgbm_booster, "multiclass", 3),
    (lightgbm_booster, "multiclassova", 3),
]


@pytest.mark.parametrize(("train", "objective", "classes"), CLASSIFIERS)
def test_a_classifier_outputs_probabilities_and_trains_itself_again(train, objective, classes):
    booster = train(objective, LABELS[classes])
    assert framework_of(booster) is FRAMEWORKS["native boosters"]
    target = as_target(booster)
    outputs = target.predict(X)
    assert target.classes.tolist() == list(range(classes))
    assert np.allclose(outputs.sum(axis=1), 1)
    assert (outputs[:80].argmax(axis=1) == LABELS[classes][:80]).mean() > 0.8
    # Without random parameters, the same records and parameters give the same booster.
    again = target.can["train"](gl.Data(X[:80], LABELS[classes][:80]), np.random.default_rng(5))
    assert np.allclose(again(X), outputs, atol=1e-6)


@pytest.mark.parametrize(
    ("train", "objective"),
    [
        (xgboost_booster, "reg:squarederror"),
        (xgboost_booster, "reg:absoluteerror"),
        (lightgbm_booster, "regression"),
        (lightgbm_booster, "huber"),
    ],
)
def test_a_regressor_outputs_values_and_trains_itself_again(train, objective):
    target = as_target(train(objective, SCORE))
    assert target.scale.name == "values"
    again = target.can["train"](gl.Data(X[:80], SCORE[:80]), np.random.default_rng(5))
    assert np.allclose(again(X), target.predict(X), atol=1e-5)


@pytest.mark.parametrize(
    ("train", "objective", "params"),
    [
        (xgboost_booster, "binary:logistic", {"max_depth": 2, "eta": 0.05, "lambda": 9, "scale_pos_weight": 3}),
        (xgboost_booster, "binary:logistic", {"base_score": 0.2, "num_parallel_tree": 2, "min_child_weight": 4}),
        (
            xgboost_booster,
            "binary:logistic",
            {"grow_policy": "lossguide", "max_leaves": 3, "monotone_constraints": "(1,0,0)"},
        ),
        (xgboost_booster, "binary:logistic", {"tree_method": "exact", "gamma": 1.0}),
        (xgboost_booster, "reg:tweedie", {"tweedie_variance_power": 1.2}),
        (lightgbm_booster, "binary", {"num_leaf": 4, "eta": 0.05, "lambda": 9, "is_unbalance": True}),
        (lightgbm_booster, "binary", {"monotone_constraints": [1, 0, 0], "max_bin": 7}),
        (lightgbm_booster, "binary", {"interaction_constraints": [[0, 1], [2]]}),
    ],
)
def test_references_have_the_parameters_of_the_booster(train, objective, params):
    y = np.exp(SCORE) if "tweedie" in objective else LABELS[2]
    plain, target = as_target(train(objective, y)), as_target(train(objective, y, **params))
    again = target.can["train"](gl.Data(X[:80], y[:80]), np.random.default_rng(5))
    assert np.allclose(again(X), target.predict(X), atol=1e-5)
    assert not np.allclose(plain.predict(X), target.predict(X), atol=1e-3)


@pytest.mark.parametrize("train", [xgboost_booster, lightgbm_booster])
def test_the_seed_and_the_weights_reach_a_reference(train):
    objective = "binary:logistic" if train is xgboost_booster else "binary"
    sampled = {"subsample": 0.5, "bagging_freq": 1} if train is lightgbm_booster else {"subsample": 0.5}
    target = as_target(train(objective, LABELS[2], **sampled))
    data = gl.Data(X[:80], LABELS[2][:80])
    first, two, same = (target.can["train"](data, np.random.default_rng(seed))(X) for seed in (0, 1, 0))
    assert np.array_equal(first, same)
    assert not np.array_equal(first, two)
    weighted = target.can["train"].weighted(data, np.exp(X[:80, 1]), np.random.default_rng(0))
    assert not np.allclose(weighted(X), first)


@pytest.mark.parametrize("train", [xgboost_booster, lightgbm_booster])
def test_a_booster_is_audited_and_gives_the_numbers_of_its_estimator(train):
    objective = "binary:logistic" if train is xgboost_booster else "binary"
    y = LABELS[2]
    native = gl.audit(train(objective, y), *sides(y), **OPTIONS)
    if train is xgboost_booster:
        from xgboost import XGBClassifier

        model = XGBClassifier(n_estimators=12, n_jobs=1)
    else:
        from lightgbm import LGBMClassifier

        model = LGBMClassifier(n_estimators=12, n_jobs=1, verbose=-1, min_child_samples=3)
    estimator = gl.audit(model.fit(X[:80], y[:80]), *sides(y), **OPTIONS)
    assert native.subject.name == f"{train.__name__.partition('_')[0]}.Booster"
    for attack in ("loss", "lira"):
        assert native.attack(attack).auc.value == pytest.approx(estimator.attack(attack).auc.value, abs=0.01)


def test_the_defences_that_regularise_know_the_parameters():
    for booster in (xgboost_booster("binary:logistic", LABELS[2]), lightgbm_booster("binary", LABELS[2])):
        changed = {
            name for recipe in grid(untrained_model(as_estimator(booster)).model, 400) for name in recipe.parameters
        }
        assert {"n_estimators", "reg_lambda"} < changed
        target = as_target(booster, next(grid(as_estimator(booster), 400)))
        assert target.can["train"](gl.Data(X[:80], LABELS[2][:80]), np.random.default_rng(0))(X).shape == (160, 2)


def test_categories_of_a_table_are_read():
    table = pd.DataFrame({"age": X[:, 0], "town": pd.Categorical(RNG.choice(["north", "south", "west"], 160))})
    y = ((X[:, 0] > 0) ^ (table["town"] == "north")).to_numpy().astype(int)
    for booster in (
        xgboost_booster("binary:logistic", y, x=table[:80]),
        lightgbm_booster("binary", y, x=table[:80], min_data_per_group=1),
    ):
        target = as_target(booster)
        assert target.reads.features == ("age", "town")
        again = target.can["train"](gl.Data(table[:80], y[:80]), np.random.default_rng(0))
        assert np.allclose(again(table), target.predict(table), atol=1e-6)


def test_an_xgboost_file_has_no_parameters_and_the_message_shows_how_to_pass_them(tmp_path):
    xgboost = pytest.importorskip("xgboost")
    xgboost_booster("binary:logistic", LABELS[2], max_depth=2).save_model(tmp_path / "model.ubj")
    loaded = xgboost.Booster(model_file=tmp_path / "model.ubj")
    linear = as_target(xgboost_booster("binary:logistic", LABELS[2], booster="gblinear", updater="coord_descent"))
    assert "gblinear" in linear.cannot["train"]
    with pytest.raises(
        gl.InputError, match=r"do not store training parameters.*train=lambda data, rng: xgboost\.train"
    ):
        gl.audit(loaded, *sides(LABELS[2]), references=2)

    def train(data, rng):
        params = {"objective": "binary:logistic", "max_depth": 2, "seed": int(rng.integers(2**31))}
        return xgboost.train(params, xgboost.DMatrix(data.x, data.y), 12)

    results = gl.audit(loaded, *sides(LABELS[2]), train=train, **OPTIONS)
    assert results.references.count == 4


def test_a_lightgbm_file_has_its_parameters():
    lightgbm = pytest.importorskip("lightgbm")
    booster = lightgbm_booster("binary", LABELS[2], num_leaves=4, learning_rate=0.3)
    loaded = as_target(lightgbm.Booster(model_str=booster.model_to_string()))
    again = loaded.can["train"](gl.Data(X[:80], LABELS[2][:80]), np.random.default_rng(0))
    assert np.allclose(again(X), booster.predict(X)[:, None] * [-1, 1] + [1, 0])


def test_a_booster_that_stopped_early_is_noted():
    xgboost, lightgbm = pytest.importorskip("xgboost"), pytest.importorskip("lightgbm")
    y = LABELS[2]
    validation = xgboost.DMatrix(X[80:], y[80:])
    stopped = xgboost.train(
        {"objective": "binary:logistic"},
        xgboost.DMatrix(X[:80], y[:80]),
        200,
        evals=[(validation, "v")],
        early_stopping_rounds=2,
        verbose_eval=False,
    )
    notes = as_target(stopped).notes["GL126"]
    assert notes == {"rounds": stopped.num_boosted_rounds(), "most": 0}
    assert 1 < notes["rounds"] < 200
    records = lightgbm.Dataset(X[:80], y[:80])
    booster = lightgbm.train(
        {"objective": "binary", "verbosity": -1, "early_stopping_round": 2, "min_data_in_leaf": 3, "eta": 0.5},
        records,
        200,
        [lightgbm.Dataset(X[80:], y[80:], reference=records)],
    )
    assert as_target(booster).notes["GL126"] == {"rounds": booster.best_iteration, "most": 200}
    assert untrained_model(as_estimator(booster)).model.n_estimators == booster.best_iteration


@pytest.mark.parametrize("loss", ["Logloss", "MultiClass", "RMSE"])
def test_catboost_without_the_estimator_interface_is_audited(loss, tmp_path, monkeypatch):
    catboost = pytest.importorskip("catboost")
    monkeypatch.chdir(tmp_path)
    y = {"Logloss": LABELS[2], "MultiClass": LABELS[3], "RMSE": SCORE}[loss]
    params = {"loss_function": loss, "iterations": 8, "verbose": False, "allow_writing_files": False}
    model = catboost.CatBoost(params).fit(X[:80], y[:80])
    target = as_target(model)
    assert target.scale.name == ("values" if loss == "RMSE" else "probabilities")
    assert "train" in target.can
    trained = target.can["train"](gl.Data(X[:80], y[:80]), np.random.default_rng(0))
    assert np.corrcoef(np.ravel(trained(X)), np.ravel(target.predict(X)))[0, 1] > 0.9


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: xgboost_booster("rank:pairwise", LABELS[2]), "rank:pairwise.*gl.function_target"),
        (lambda: xgboost_booster("binary:logistic", np.c_[LABELS[2], LABELS[2]]), "several outputs.*\n.*for output in"),
        (lambda: lightgbm_booster(lambda p, d: (p - d.get_label(), np.ones(len(p))), LABELS[2]), "custom objective"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_an_objective_without_a_known_scale_is_refused(make, message):
    with pytest.raises(gl.InputError, match=f"(?s){message}"):
        as_target(make())
