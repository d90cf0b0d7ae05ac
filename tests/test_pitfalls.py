"""Ways an audit could go wrong in silence, or end in a traceback; each was found by someone trying to."""

import os
import subprocess
import sys
import threading
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC

import guestlist as gl
from guestlist import Estimate, InputError
from guestlist._audit.flow import prepare
from guestlist._findings.headline import SameRecipe
from guestlist._report import prose
from guestlist._report.diagnostics import sentence
from guestlist._store import Manifest, fingerprint, folder_lock, open_store, remove_partial_files, row_hashes
from guestlist._util import describe
from guestlist.data import as_data, concatenate
from guestlist.errors import FolderError
from guestlist.models import as_target
from guestlist.models.input_checks import members_again

COLUMNS = list("abcde")


def frames(blobs):
    return [pd.DataFrame(x, columns=COLUMNS).assign(y=y) for x, y in blobs]


# -- numbers ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_columns_in_another_order_are_put_right_for_models_of_arrays(blobs):
    members, nonmembers = frames(blobs)
    model = LogisticRegression().fit(*blobs[0])
    straight = gl.audit(model, members, nonmembers, label="y", references=0)
    turned = gl.audit(model, members, nonmembers[["y", *COLUMNS[::-1]]], label="y", references=0)
    assert turned.document() == straight.document()


class AppearanceOrder(RandomForestClassifier):
    """A classifier whose classes are in the order in which it saw them."""

    def fit(self, x, y):
        super().fit(x, y)
        self.order_ = np.array(list(dict.fromkeys(y)))
        self.where_ = np.searchsorted(self.classes_, self.order_)
        self.sorted_, self.classes_ = self.classes_, self.order_
        return self

    def predict_proba(self, x):
        self.classes_ = self.sorted_
        probability = super().predict_proba(x)[:, self.where_]
        self.classes_ = self.order_
        return probability


def test_references_columns_are_read_from_the_fitted_clone(blobs):
    x, y = blobs[0]
    model = AppearanceOrder(20, random_state=0).fit(x, y)
    reference = as_target(model).can["train"](as_data((x[::-1], y[::-1]), side="members"), np.random.default_rng(0))
    assert (model.order_[reference(x).argmax(axis=1)] == y).mean() > 0.9


@pytest.mark.slow
def test_a_frozen_part_is_refused_since_references_would_be_copies(blobs):
    forest = RandomForestClassifier(5, random_state=0).fit(*blobs[0])
    model = CalibratedClassifierCV(FrozenEstimator(forest)).fit(*blobs[0])
    with pytest.raises(InputError, match="FrozenEstimator"):
        gl.audit(model, *blobs, references=4)
    assert gl.audit(model, *blobs, references=0).attack("loss").auc.value > 0.5


@pytest.mark.slow
def test_references_that_are_copies_of_the_target_are_reported(blobs, tree):
    target = gl.function_target(tree.predict_proba, classes=[0, 1, 2], train=lambda data, rng: tree.predict_proba)
    results = gl.audit(target, *blobs, references=4, jobs=1)
    assert results.check("GL106").state == "issue"
    assert "4 of 4 reference models" in sentence(results.check("GL106"))


def test_what_a_training_function_closes_over_is_part_of_the_recipe():
    def made(depth):
        def train(data, rng, leaves=depth):
            return depth

        return train

    assert describe(made(1)) == describe(made(1))
    assert describe(made(1)) != describe(made(2))
    assert describe(lambda x: 1) != describe(lambda x: 2)


@pytest.mark.slow
def test_a_lambda_in_a_pipeline_has_a_recipe(blobs):
    model = make_pipeline(FunctionTransformer(lambda x: 2 * x), LogisticRegression()).fit(*blobs[0])
    assert gl.audit(model, *blobs, references=2, jobs=2).references.count == 2


@pytest.mark.slow
def test_the_signals_of_another_model_are_refused_without_its_full_outputs(tree, blobs, tmp_path):
    gl.audit(tree, *blobs, references=1, jobs=1, folder=tmp_path / "a")
    (tmp_path / "a" / "outputs.npz").unlink()
    other = RandomForestClassifier(10, random_state=9).fit(*blobs[0])
    with pytest.raises(FolderError, match="different fitted model"):
        gl.audit(other, *blobs, references=1, jobs=1, folder=tmp_path / "a")
    gl.audit(tree, *blobs, references=1, jobs=1, folder=tmp_path / "a")


def test_a_model_is_called_unusual_only_beyond_the_prediction_interval():
    same_recipe = SameRecipe(Estimate(0.7, 0.6, 0.8), tuple(0.7 + 0.01 * np.sin(np.arange(32))), 0.0)
    low, high = same_recipe.prediction_interval.low, same_recipe.prediction_interval.high
    assert low < min(same_recipe.aucs) < max(same_recipe.aucs) < high
    assert "leaks more than expected" in prose(
        "headline.compared", high + 1e-6, same_recipe.prediction_interval, "others"
    )
    assert "leaks less than expected" in prose(
        "headline.compared", low - 1e-6, same_recipe.prediction_interval, "others"
    )
    assert "about as much as expected" in prose("headline.compared", 0.7, same_recipe.prediction_interval, "others")
    for aucs in ((0.7,) * 32, (0.7, 0.8)):
        prediction = replace(same_recipe, aucs=aucs).prediction_interval
        assert "cannot be computed" in prose("headline.compared", 0.9, prediction, "others")


@pytest.mark.parametrize(
    "change",
    [
        lambda x, y: (x.astype(np.float64), y),
        lambda x, y: (x, y.astype(float)),
        lambda x, y: (x.astype(object), y),
        lambda x, y: (np.where(x == 0, -0.0, x), y),
    ],
)
def test_duplicates_are_found_for_any_type(change):
    x, y = np.array([[1, 0], [2, 5], [0, 3]]), np.array([0, 1, 1])
    arrays = [as_data((x, y), side="members"), as_data(change(x, y), side="nonmembers")]
    tables = [as_data((pd.DataFrame(a), b), side="members") for a, b in ((x, y), change(x, y))]
    member = np.arange(6) < 3
    for sides in (arrays, tables):
        assert members_again(row_hashes(concatenate(sides)), None, member, ~member)[3:].all()


@pytest.mark.slow
def test_records_of_objects_have_a_fingerprint_that_lasts():
    code = (
        "import numpy as np; from guestlist.data import as_data; from guestlist._store.integrity import fingerprint;"
        "x = np.array([['a', 1], ['b', 2]], dtype=object);"
        "print(fingerprint(as_data((x, np.array([0, 1])), side='members')))"
    )
    runs = {subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout for _ in range(2)}
    assert len(runs) == 1


@pytest.mark.slow
def test_categories_that_differ_between_the_sets_stay_categories(blobs):
    members, nonmembers = frames(blobs)
    members["a"] = pd.Categorical(np.where(members["a"] > 1.5, 7, 1))
    nonmembers["a"] = pd.Categorical(np.ones(len(nonmembers), int))
    pool = concatenate([as_data(t, side="members", label="y") for t in (members, nonmembers)])
    assert pool.x["a"].cat.categories.tolist() == [1, 7]
    model = HistGradientBoostingClassifier(max_iter=3, categorical_features="from_dtype")
    model.fit(members.drop(columns="y"), members["y"])
    assert gl.audit(model, members, nonmembers, label="y", references=2, jobs=1).references.count == 2


def test_two_attacks_of_one_name_are_refused(tree, blobs):
    def loss(signals):
        return signals.target("loss")

    for attacks in (["loss", loss], [loss], [lambda s: s.labels, lambda s: s.labels], ["loss", "loss"]):
        with pytest.raises(InputError, match="Two attacks are named"):
            gl.audit(tree, *blobs, references=0, attacks=attacks)


@pytest.mark.slow
def test_a_shadow_brings_no_attack_that_has_nothing_to_compare(blobs, tree):
    x, y = blobs[1]
    member = np.arange(len(y)) % 2 == 0
    predictions = gl.Predictions(tree.predict_proba(x), y, member)
    shadow = gl.Predictions(tree.predict_proba(x) * 0.9 + 0.1 / 3, y, member)
    results = gl.audit_predictions(predictions, shadow=shadow, prior=0.25)
    assert all(finding.unscored == 0 for finding in results.outcomes)
    assert {rate.prior for finding in results.outcomes for rate in finding.rates} == {0.25}


# -- what is lost or left behind -----------------------------------------------------------------------------------


def test_a_faulty_attack_is_found_before_anything_is_trained(blobs, tmp_path):
    def never(data, rng):
        raise AssertionError

    target = gl.function_target(lambda x: np.full((len(x), 3), 1 / 3), classes=[0, 1, 2], train=never)
    for attack, message in ((lambda s: s.labels[:3], "one score per record"), (lambda s: 1 / 0, "ZeroDivisionError")):
        with pytest.raises(InputError, match=message):
            gl.audit(target, *blobs, references=4, attacks=[attack], folder=tmp_path / "a")
    with pytest.raises(InputError, match="attacks= is empty"):
        gl.audit(target, *blobs, references=4, attacks=[])
    assert not (tmp_path / "a").exists()


def test_a_name_that_is_a_path_is_refused(tree, blobs, tmp_path):
    def attack(signals):
        return signals.target("loss")

    attack.__name__ = "../../escaped"
    with pytest.raises(InputError, match="plain name"):
        gl.audit(tree, *blobs, references=0, attacks=[attack], folder=tmp_path / "a" / "b")


def test_an_interval_that_cannot_be_had_stops_the_growing():
    from guestlist import UntilWidth
    from guestlist._collect import grow_references

    results = object()
    assert grow_references(lambda count: results, lambda results_: float("nan"), UntilWidth(0.1)) is results


@pytest.mark.slow
def test_records_left_by_a_killed_audit_are_removed_by_the_next(tree, blobs, tmp_path):
    gl.audit(tree, *blobs, references=2, jobs=1, folder=tmp_path)
    (tmp_path / ".work").mkdir()
    (tmp_path / ".work" / "pool.joblib").write_bytes(b"people")
    gl.audit(tree, *blobs, references=2, jobs=1, folder=tmp_path)
    assert not (tmp_path / ".work").exists()


def test_parts_of_a_living_process_are_spared(tmp_path):
    names = {"living": os.getppid(), "dead": 999999999, "our own, of a container before": os.getpid(), "odd": "x"}
    parts = {name: tmp_path / f".a.{process}.part" for name, process in names.items()}
    for part in parts.values():
        part.touch()
    remove_partial_files(tmp_path)
    assert [name for name, part in parts.items() if part.exists()] == ["living"]


def test_two_audits_started_together_do_not_mix(tree, blobs, tmp_path):
    """The lock is taken before the manifest is read."""
    done = []
    with folder_lock(tmp_path):
        thread = threading.Thread(target=lambda: done.append(_refused(tree, blobs, tmp_path)))
        thread.start()
        thread.join()
    assert done == [True]
    assert not (tmp_path / "manifest.json").exists()


def _refused(tree, blobs, folder):
    try:
        gl.audit(tree, *blobs, references=1, jobs=1, folder=folder)
    except FolderError:
        return True
    return False


def test_about_is_that_of_the_last_audit(tmp_path):
    game = {"name": "bernoulli", "rate": 0.5}
    manifest = {
        "data": "d",
        "split": "s",
        "recipe": "r",
        "seed": 0,
        "game": game,
        "scale": "logits",
        "classes": ("a", "b"),
    }
    open_store(tmp_path, Manifest(**manifest, about={"options": {"prior": 0.5}}))
    open_store(tmp_path, Manifest(**manifest, about={"options": {"prior": 0.1}}))
    assert open_store(tmp_path).manifest.about["options"] == {"prior": 0.1}


@pytest.mark.slow
def test_nothing_is_sent_anywhere(tree, blobs, tmp_path, monkeypatch):
    import socket

    def refused(*_):
        raise AssertionError("an audit opened a connection")

    monkeypatch.setattr(socket.socket, "connect", refused)
    gl.audit(tree, *blobs, references=8, jobs=1, folder=tmp_path / "a").to_html(tmp_path / "report.html")


# -- what a user reads ---------------------------------------------------------------------------------------------


def test_labels_with_equal_text_are_distinguished(blobs):
    (x, y), nonmembers = blobs
    model = LogisticRegression().fit(x, y.astype(str))
    with pytest.raises(InputError, match=r"not trained on: 2 .* Its classes are '0', '1', '2'"):
        gl.audit(model, (x, y), nonmembers)


@pytest.mark.slow
def test_nullable_labels_are_labels(blobs):
    members, nonmembers = frames(blobs)
    for kind in ("boolean", "Int64"):
        tables = [t.assign(y=(t["y"] > 0).astype(kind)) for t in (members, nonmembers)]
        model = LogisticRegression().fit(tables[0][COLUMNS], tables[0]["y"])
        assert gl.audit(model, *tables, label="y", references=0).subject.classes == 2


@pytest.mark.slow
def test_records_without_a_group_are_a_group(blobs, tree):
    members, nonmembers = (t.assign(town=np.where(t["a"] > 0, "n", None)) for t in frames(blobs))
    model = RandomForestClassifier(5, random_state=0).fit(members[COLUMNS], members["y"])
    results = gl.audit(model, members, nonmembers, label="y", group="town", references=0)
    assert [g.value for g in results.groups] == ["(missing)", "n"]
    assert sum(g.members for g in results.groups) == len(members)


@pytest.mark.slow
def test_a_group_column_that_is_no_feature_of_a_model_of_arrays_is_left_out(blobs):
    members, nonmembers = (t.assign(ward=(t["a"] > 0).astype(int)) for t in frames(blobs))
    model = LogisticRegression().fit(*blobs[0])
    assert len(gl.audit(model, members, nonmembers, label="y", group="ward", references=0).groups) == 2


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda x, y: SVC(decision_function_shape="ovo").fit(np.r_[x, x], np.r_[y, y + 3]), "decision_function_shape"),
        (lambda x, y: gl.function_target(lambda z: z, classes=[0, 0]), "each with its own name; found 0, 0"),
        (
            lambda x, y: gl.function_target(lambda z: 1 / 0, classes=[0, 1, 2]),
            "cannot read members, neither .*ZeroDivisionError",
        ),
    ],
)
def test_odd_models_are_refused_in_words(make, message, blobs):
    with pytest.raises(InputError, match=message):
        gl.audit(make(*blobs[0]), *blobs, references=0)


def test_repeated_columns_are_named(blobs):
    members, nonmembers = frames(blobs)
    doubled = pd.concat([members, members[["a"]]], axis=1)
    with pytest.raises(InputError, match="several columns named 'a'"):
        gl.audit(LogisticRegression().fit(*blobs[0]), doubled, nonmembers, label="y")
    with pytest.raises(InputError, match="several columns named 'y'"):
        as_data(pd.concat([members, members[["y"]]], axis=1), side="members", label="y")


@pytest.mark.parametrize("wrong", [{"references": 2.5}, {"seed": -1}, {"jobs": 0}, {"prior": 2}])
def test_settings_that_make_no_sense_fail_at_the_call(wrong, tree, blobs, tmp_path):
    with pytest.raises(ValueError, match="Expected"):
        gl.audit(tree, *blobs, folder=tmp_path / "a", **wrong)
    assert not (tmp_path / "a").exists()


def test_a_folder_that_is_a_file_is_reported(tree, blobs, tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(FolderError, match="is a file"):
        gl.audit(tree, *blobs, references=0, folder=tmp_path / "file")


def test_the_fingerprint_depends_on_every_feature(blobs):
    prepared = prepare(LogisticRegression().fit(*blobs[0]), *blobs)
    changed = prepared.pool.x.copy()
    changed[17, 3] += 1e-9
    assert fingerprint(prepared.pool.changed(x=changed)) != fingerprint(prepared.pool)
