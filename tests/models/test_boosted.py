"""XGBoost, LightGBM and CatBoost: arguments of ``fit`` are passed to references too."""

import os

import numpy as np
import pandas as pd
import pytest

import guestlist as gl
from guestlist import InputError
from guestlist.defences import Refit, unfitted
from guestlist.models import as_target
from guestlist.models.estimators import untrained_model


def people(records: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = pd.DataFrame({"age": rng.normal(size=records), "town": rng.choice(["north", "south", "west"], records)})
    return x, np.where(x["age"] + (x["town"] == "north") + rng.normal(size=records) > 0.3, "yes", "no")


def catboost(**options):
    catboost = pytest.importorskip("catboost")
    return catboost.CatBoostClassifier(**{"iterations": 20, "verbose": False, "allow_writing_files": False, **options})


@pytest.mark.slow
@pytest.mark.parametrize("when", ["before", "in fit"])
def test_catboost_with_categories_is_audited(when, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    if when == "before":
        model = catboost(
            cat_features=["town"], iterations=200, learning_rate=0.5, l2_leaf_reg=0.01, random_state=3
        ).fit(*people(100, 1))
    else:
        model = catboost(iterations=200, learning_rate=0.5, l2_leaf_reg=0.01).fit(
            *people(100, 1), cat_features=["town"]
        )
    results = gl.audit(
        model,
        people(100, 1),
        people(100, 2),
        references=4,
        attacks=["loss", "lira"],
        jobs=1,
        baseline=False,
        progress=False,
    )
    assert (results.attacks["auc"] > 0.6).all()
    assert os.listdir() == []  # it writes no files of its own
    assert capfd.readouterr().out == ""


def test_a_catboost_reference_is_quiet_has_its_own_seed_and_one_thread():
    model = catboost(cat_features=["town"], logging_level="Verbose")
    model = type(model)(**{k: v for k, v in model.get_params().items() if k != "verbose"})
    data = gl.Data(*people(60, 1))
    first, two = (Refit()(model, data, np.random.default_rng(seed)).get_params() for seed in (0, 1))
    assert first["logging_level"] == "Silent"
    assert first["thread_count"] == 1
    assert first["random_seed"] != two["random_seed"]
    assert (
        "random_state"
        in Refit()(catboost(random_state=1, cat_features=[1]), data, np.random.default_rng(0)).get_params()
    )


def test_a_pipeline_that_ends_in_catboost_is_cloned():
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    pipeline = make_pipeline(FunctionTransformer(), catboost(cat_features=["town"])).set_output(transform="pandas")
    x, y = people(60, 1)
    fitted = pipeline.fit(x, y)
    made = unfitted(fitted)
    assert made[-1].get_params() == fitted[-1].get_params()
    assert made[-1] is not fitted[-1]
    assert not made[-1].is_fitted()
    trained = Refit()(made, gl.Data(x, y), np.random.default_rng(0))
    assert trained.predict_proba(x).shape == (60, 2)


def test_a_catboost_regressor_and_an_array_are_read():
    catboost = pytest.importorskip("catboost")
    x, _ = people(80, 1)
    x, y = x[["age"]].to_numpy(), x["age"].to_numpy()
    model = catboost.CatBoostRegressor(iterations=5, verbose=False, allow_writing_files=False).fit(x, y)
    target = as_target(model)
    assert target.scale.name == "values"
    assert target.reads.features is None
    assert target.fitting(gl.Data(pd.DataFrame(x), y), "members").x.dtype == np.float64


def stopped(library: str):
    """Fitted on 60 records of ``people``, as far as 60 others like it; None where the library is not there."""
    module = pytest.importorskip(library.partition(" ")[0])
    (x, y), (x_more, y_more) = people(60, 1), people(60, 3)
    x, x_more, y, y_more = x[["age"]].to_numpy(), x_more[["age"]].to_numpy(), y == "yes", y_more == "yes"
    options = {"n_estimators": 200, "max_depth": 3}
    if library == "xgboost":
        return module.XGBClassifier(early_stopping_rounds=3, **options).fit(
            x, y, eval_set=[(x_more, y_more)], verbose=False
        )
    if library == "lightgbm":
        model = module.LGBMClassifier(early_stopping_rounds=3, verbose=-1, min_child_samples=2, **options)
        return model.fit(x, y, eval_X=x_more, eval_y=y_more)
    if library == "lightgbm callback":
        model = module.LGBMClassifier(verbose=-1, min_child_samples=2, **options)
        stop = module.early_stopping(3, verbose=False)
        return model.fit(x, y, eval_X=x_more, eval_y=y_more, callbacks=[stop])
    return catboost(early_stopping_rounds=3, iterations=200, learning_rate=0.5).fit(x, y, eval_set=(x_more, y_more))


STOPPED = ["xgboost", "lightgbm", "lightgbm callback", "catboost"]


@pytest.mark.parametrize("library", STOPPED)
def test_references_are_trained_for_the_rounds_that_the_target_kept(library):
    model = stopped(library)
    start = untrained_model(model)
    assert 1 <= start.rounds < 60
    assert start.max_rounds == 200
    x, y = people(60, 1)
    trained = Refit()(start.model, gl.Data(x[["age"]].to_numpy(), y == "yes"), np.random.default_rng(0))
    rounds = {
        "xgboost": lambda model: model.get_booster().num_boosted_rounds(),
        "lightgbm": lambda model: model.booster_.num_trees(),
        "catboost": lambda model: model.tree_count_,
    }
    assert rounds[library.partition(" ")[0]](trained) == start.rounds
    # The same records and the same rounds: the outputs are the target's, but for CatBoost's seed.
    ours, theirs = (model_.predict_proba(x[["age"]].to_numpy())[:, 1] for model_ in (trained, model))
    assert np.corrcoef(ours, theirs)[0, 1] > (0.9 if library == "catboost" else 0.9999)
    assert untrained_model(trained).rounds is None


@pytest.mark.slow
@pytest.mark.parametrize("library", ["xgboost", "catboost"])
def test_an_audit_of_a_model_that_stopped_early_reports_the_training_of_references(library):
    sides = [(x[["age"]].to_numpy(), y == "yes") for x, y in (people(60, 1), people(60, 2))]
    rounds = untrained_model(stopped(library)).rounds
    with pytest.warns(gl.AuditWarning, match=f"Every reference model is trained for {rounds} rounds"):
        results = gl.audit(
            stopped(library), *sides, references=4, attacks=["loss", "lira"], jobs=1, baseline=False, progress=False
        )
    check = next(check for check in results.checks if check.code == "GL126")
    assert (check.state, dict(check.values)) == ("issue", {"rounds": rounds, "most": 200})
    alone = gl.audit(stopped(library), *sides, references=0, attacks=["loss"], baseline=False)
    assert next(check for check in alone.checks if check.code == "GL126").state == "not applicable"


def test_a_game_cannot_stop_by_records_that_it_does_not_have():
    xgboost = pytest.importorskip("xgboost")
    x, y = people(60, 1)
    data = (x[["age"]].to_numpy(), (y == "yes").astype(int))
    with pytest.raises(InputError, match=r"stops early \(early_stopping_rounds=3\).*set n_estimators"):
        gl.play(gl.games.Sides(20, 20), xgboost.XGBClassifier(early_stopping_rounds=3), data, references=0)
