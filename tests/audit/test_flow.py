"""The whole flow, and what stops it before any long work."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression

import guestlist as gl
from guestlist import InputError
from guestlist._report.diagnostics import sentence
from guestlist._store import open_store


def never(data, rng):
    raise AssertionError("a reference was trained although the inputs are wrong")


@pytest.fixture(scope="module")
def results(tree, blobs):
    return gl.audit(tree, *blobs, references=16, jobs=1, seed=3)


def test_three_lines_give_tables_and_words(results, blobs):
    (_, y), (_, y2) = blobs
    assert set(results.attacks["attack"]) >= {"loss", "correctness", "mentr", "class_mentr", "lira", "lira_offline"}
    assert len(results.records) == len(y) + len(y2)
    assert results.records["member"].sum() == len(y)
    assert results.attack("lira").auc.low > 0.7
    assert "lira" in results.summary(verbose=True)
    assert "<table" in results._repr_html_()


def test_the_report_is_written_to_the_requested_path(results, tmp_path):
    path = results.to_html(tmp_path / "deep" / "report.html")
    assert "RandomForestClassifier" in path.read_text("utf-8")


@pytest.mark.slow
def test_a_folder_holds_what_the_call_returned(tree, blobs, tmp_path, results):
    gl.audit(tree, *blobs, references=16, jobs=1, seed=3, folder=tmp_path / "a")
    again = gl.read_results(tmp_path / "a")
    assert again.document() == results.document()
    pd.testing.assert_frame_equal(again.records, results.records, check_dtype=False)


@pytest.mark.slow
def test_the_order_of_records_changes_no_target_score(tree, blobs):
    (x, y), nonmembers = blobs
    order = np.random.default_rng(1).permutation(len(y))
    names = [f"p{i}" for i in range(len(y))]
    tables = [pd.DataFrame(x, index=names), pd.DataFrame(x, index=names).iloc[order]]
    scores = []
    for table, labels in zip(tables, (y, y[order]), strict=True):
        results = gl.audit(tree, (table, labels), (pd.DataFrame(nonmembers[0]), nonmembers[1]), references=0)
        scores.append(results.records.set_index("id")["score_mentr"])
    pd.testing.assert_series_equal(scores[0].sort_index(), scores[1].sort_index())


def test_a_model_that_saw_nothing_of_its_members_leaks_nothing(blobs):
    """Members that did not train the model: every interval should usually contain 0.5."""
    members, nonmembers = blobs
    rng = np.random.default_rng(5)
    x = rng.normal(size=(300, 5))
    model = LogisticRegression().fit(x, rng.integers(3, size=300))
    results = gl.audit(model, members, nonmembers, references=0, attacks=["loss", "entropy"])
    assert all(low < 0.5 < high for low, high in results.attacks[["auc_low", "auc_high"]].to_numpy())


@pytest.mark.slow
def test_population_records_train_references_and_are_not_evaluated(tree, blobs):
    rng = np.random.default_rng(2)
    population = rng.normal(size=(500, 5)), rng.integers(3, size=500)
    results = gl.audit(tree, *blobs, population, references=8, jobs=1)
    assert results.subject.population == 500
    assert len(results.records) == 440
    # The pool has the size of the target's sets, and a model trains on about half: most of the population is not used.
    assert results.references.records == pytest.approx(240, rel=0.1)
    assert results.check("GL105").state == "passed"


@pytest.mark.slow
def test_sizes_that_differ_are_stated(blobs):
    (x, y), (x2, y2) = blobs
    model = RandomForestClassifier(5, random_state=0).fit(x, y)
    results = gl.audit(model, (x, y), (x2[:20], y2[:20]), references=8, jobs=1)
    assert results.check("GL105").state == "issue"
    assert results.check("GL105").values["target"] == 240
    assert "trained on 240 records, the reference models on 1" in sentence(results.check("GL105"))


def test_a_custom_attack_runs_with_the_others(tree, blobs):
    def custom(signals):
        return signals.target("margin") - signals.outside("margin").mean

    results = gl.audit(tree, *blobs, references=8, jobs=1, attacks=["lira", custom])
    assert results.attack("custom").auc.value > 0.7
    with pytest.raises(InputError, match=r"'short' .*shaped \(440,\); found \(3,\)"):
        gl.audit(tree, *blobs, references=0, attacks=[short])


def short(signals):
    return np.zeros(3)


def with_nan(x):
    x = x.copy()
    x[3, 2] = np.nan
    return x


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda m, n: ((with_nan(m[0]), m[1]), n),
            r"members has 1 records with NaN or infinite features \(feature 2\)",
        ),
        (lambda m, n: (m, (with_nan(n[0]) / 0.0, n[1])), "nonmembers has 200 records with NaN or infinite"),
        (lambda m, n: (m, (n[0][:, :4], n[1])), r"members have features shaped \(5,\), but nonmembers \(4,\)"),
        (lambda m, n: (m, (n[0], n[1] + 7)), "nonmembers has labels that the model was not trained on: 9"),
        (lambda m, n: ((m[0], np.where(m[1] == 1, np.nan, m[1])), n), "records without a label"),
        (lambda m, n: (m, (n[0][:0], n[1][:0])), "nonmembers is empty"),
        (lambda m, n: ((m[0][:0], m[1][:0]), n), "members is empty"),
        (lambda m, n: (m, m), "240 of 240 non-members"),
        (lambda m, n: (m, (pd.DataFrame(n[0]), n[1])), "members is a ndarray"),
    ],
)
def test_wrong_inputs_stop_before_anything_is_trained(change, message, blobs, tmp_path):
    model = LogisticRegression().fit(*blobs[0])

    def predict(x):
        return model.predict_proba(x)

    target = gl.function_target(predict, classes=[0, 1, 2], train=never, recipe="never")
    with np.errstate(all="ignore"), pytest.raises(InputError, match=message):
        gl.audit(target, *change(*blobs), folder=tmp_path / "audit", jobs=1)
    assert not (tmp_path / "audit").exists()


@pytest.mark.slow
def test_nan_that_the_model_can_read_is_no_error(blobs):
    (x, y), nonmembers = blobs
    model = HistGradientBoostingClassifier(max_iter=5).fit(with_nan(x), y)
    assert gl.audit(model, (with_nan(x), y), nonmembers, references=0).subject.members == 240


def test_probabilities_that_are_none_are_refused(blobs):
    for wrong in (lambda x: np.ones((len(x), 3)), lambda x: np.full((len(x), 3), -1.0)):
        with pytest.raises(InputError, match=r"are not probabilities .* scale='logits'"):
            gl.audit(gl.function_target(wrong, classes=[0, 1, 2]), *blobs, references=0)
    with pytest.raises(InputError, match=r"shape \(440, 3\)"):
        gl.audit(gl.function_target(lambda x: np.ones(len(x)), classes=[0, 1, 2]), *blobs, references=0)
    with pytest.raises(InputError, match="NaN for 440 of 440"):
        gl.audit(gl.function_target(lambda x: np.full((len(x), 3), np.nan), classes=[0, 1, 2]), *blobs, references=0)


@pytest.mark.slow
def test_a_few_duplicates_warn_with_their_count_and_can_be_dropped(tree, blobs):
    members, (x, y) = blobs
    x, y = np.r_[x, members[0][:7]], np.r_[y, members[1][:7]]
    with pytest.warns(gl.AuditWarning, match="7 of 207 non-members"):
        results = gl.audit(tree, members, (x, y), references=0)
    assert "7 of 207" in sentence(results.check("GL101"))
    with pytest.warns(gl.AuditWarning, match="7 of 207 non-members were dropped"):
        results = gl.audit(tree, members, (x, y), references=0, duplicates="drop")
    assert results.subject.nonmembers == 200
    assert (results.check("GL101").state, results.check("GL102").state) == ("passed", "issue")


@pytest.mark.slow
def test_a_target_that_does_not_beat_chance_is_reported(blobs):
    target = gl.function_target(lambda x: np.tile([0.1, 0.2, 0.7], (len(x), 1)), classes=[0, 1, 2])
    results = gl.audit(target, *blobs, references=0)
    check = results.check("GL103")
    labels = blobs[1][1]
    assert check.state == "issue"
    assert check.values["accuracy"] == pytest.approx((labels == 2).mean())
    assert check.values["guessing"] == pytest.approx(np.bincount(labels).max() / len(labels))


def test_wrong_options_fail_at_the_call(tree, blobs):
    for options, message in [
        ({"references": -1}, "references=-1"),
        ({"duplicates": "keep"}, "duplicates='keep'"),
        ({"attacks": ["lyra"]}, "no attack 'lyra'"),
        ({"attacks": ["lira"], "references": 0}, "'lira' needs at least 4 reference models, found 0"),
    ]:
        with pytest.raises((ValueError, InputError), match=message):
            gl.audit(tree, *blobs, **options)


@pytest.mark.slow
def test_groups_are_compared_and_may_be_several(blobs):
    (x, y), (x2, y2) = blobs
    tables = [
        pd.DataFrame(a).assign(sex=np.where(a[:, 0] > 0, "f", "m"), town="here", y=b) for a, b in ((x, y), (x2, y2))
    ]
    tables = [table.rename(columns=str) for table in tables]
    model = RandomForestClassifier(10, random_state=0).fit(tables[0][list("01234")], y)
    results = gl.audit(model, *tables, label="y", group=["sex", "town"], references=8, jobs=1)
    assert [(g.group, g.value) for g in results.groups] == [("sex", "f"), ("sex", "m"), ("town", "here")]
    assert {"group_sex", "group_town"} <= set(results.records)
    assert sum(g.members for g in results.groups if g.group == "sex") == 240


@pytest.mark.slow
def test_warnings_of_references_do_not_drown_the_user(blobs):
    class Chatty(RandomForestClassifier):
        def fit(self, x, y):
            warnings.warn("once per model", UserWarning, stacklevel=2)
            return super().fit(x, y)

    with pytest.warns(UserWarning, match="once per model"):
        model = Chatty(5, random_state=0).fit(*blobs[0])
    gl.audit(model, *blobs, references=4, jobs=1)


@pytest.mark.slow
@pytest.mark.parametrize("references", [5, gl.UntilWidth(0.01, start=8, at_most=10)], ids=["fixed", "until"])
def test_the_target_is_queried_once_and_the_pool_is_read_once(references, blobs, tmp_path, monkeypatch):
    """However many attacks, findings, kinds of evidence and rounds there are."""
    model = RandomForestClassifier(5, random_state=0).fit(*blobs[0])
    queried, read = [], []
    answer, parquet = type(model).predict_proba, pd.read_parquet
    monkeypatch.setattr(pd, "read_parquet", lambda *arguments: read.append(parquet(*arguments)) or read[-1])

    def counting(self, x):
        if self is model:
            queried.append(len(x))
        return answer(self, x)

    monkeypatch.setattr(type(model), "predict_proba", counting)
    gl.audit(
        model, *blobs, references=references, evidence=[gl.evidence.FullOutputs()], folder=tmp_path, engine=gl.Here()
    )
    assert queried.count(len(blobs[0][1]) + len(blobs[1][1])) == 1
    assert len([table for table in read if {"id", "class"} <= set(table)]) == 1


@pytest.mark.slow
def test_references_are_queried_on_the_records_of_the_target(tree, blobs, tmp_path):
    population = blobs[1][0][:40] + 0.1, blobs[1][1][:40]
    gl.audit(tree, *blobs, population, references=3, attacks=["loss"], folder=tmp_path, jobs=1)
    split = open_store(tmp_path).split
    assert (split.evaluated == split.evaluated[0]).all()
    assert split.population.sum() == 40


@pytest.mark.slow
def test_the_first_references_decide_their_share_and_not_an_audit_without_any(blobs, tmp_path):
    sides = [(x[:30], y[:30]) for x, y in blobs]
    population = blobs[0][0][100:], blobs[0][1][100:]
    model = LogisticRegression().fit(*sides[0])
    gl.audit(model, *sides, population, references=0, attacks=["loss"], folder=tmp_path / "a")
    later = gl.audit(model, *sides, population, references=32, attacks=["loss"], folder=tmp_path / "a", jobs=1)
    at_once = gl.audit(model, *sides, population, references=32, attacks=["loss"], folder=tmp_path / "b", jobs=1)
    assert later.references == at_once.references


@pytest.mark.slow
def test_what_others_noted_in_a_folder_stays(tree, blobs, tmp_path):
    gl.audit(tree, *blobs, references=0, attacks=["loss"], folder=tmp_path, about={"ticket": "X-1"})
    gl.collect(tree, *blobs, references=0, folder=tmp_path)
    assert open_store(tmp_path).manifest.about["ticket"] == "X-1"


@pytest.mark.slow
def test_detection_limits_follow_from_the_records_with_a_score(tree, blobs):
    evidence = [gl.evidence.LeftOut(records=4, models=2)]
    results = gl.audit(tree, *blobs, references=0, attacks=["loss", "leave_one_out"], evidence=evidence, jobs=1)
    assert results.attack("leave_one_out").unscored > 400
    assert results.attack("leave_one_out").detectable_auc > 1 > results.attack("loss").detectable_auc


@pytest.mark.slow
def test_a_user_defined_attack_may_read_full_outputs_population_and_leaves(tree, blobs):
    def top(view):
        return view.outputs[np.arange(len(view.labels)), view.labels].astype(float)

    def beyond(view):
        return view.target("margin") - view.target("margin")[view.population].mean()

    def crowded(view):
        return -view.evidence.need("leaves").leaf.mean(axis=1)

    population = blobs[1][0][:40] + 0.1, blobs[1][1][:40]
    results = gl.audit(tree, *blobs, population, references=0, attacks=["loss", top, beyond, crowded])
    assert results.attack("top").auc.value == pytest.approx(results.attack("loss").auc.value, abs=0.01)
    assert results.attack("crowded").unscored == 0
    model = LogisticRegression().fit(*blobs[0])
    with pytest.raises(gl.AuditError, match="leaves of trees"):
        gl.audit(model, *blobs, references=0, attacks=[crowded])


def test_only_an_audit_grows(tree, blobs, tmp_path):
    with pytest.raises(ValueError, match="UntilWidth"):
        gl.collect(tree, *blobs, references=gl.UntilWidth(0.1), folder=tmp_path)
    with pytest.raises(InputError, match="stand-in targets"):
        gl.audit(tree, *blobs, references=gl.UntilWidth(0.1), attacks=["leaf_shares"], folder=tmp_path / "b")
    assert not (tmp_path / "b" / "signals").exists()


@pytest.mark.slow
def test_a_view_can_travel(tree, blobs, tmp_path):
    import pickle

    view = gl.collect(tree, *blobs, references=3, folder=tmp_path, jobs=1).view
    again = pickle.loads(pickle.dumps(view))
    np.testing.assert_array_equal(gl.attacks.ATTACKS["loss"].score(again), gl.attacks.ATTACKS["loss"].score(view))
