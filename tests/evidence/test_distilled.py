"""Distilled models: fitted to the target's outputs on the right records and labels, with the same bytes each time."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import optimize
from scipy.special import logsumexp, softmax
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import guestlist as gl
from guestlist import InputError
from guestlist._store import open_store
from guestlist._views import Evidence, ModelsView
from guestlist.attacks import ATTACKS
from guestlist.data import as_data
from guestlist.errors import FolderError
from guestlist.evidence import Distilled, check_plans, parse_plan
from guestlist.models import as_target

pytestmark = pytest.mark.usefixtures("in_the_order_given")

RECORDS = np.column_stack([np.arange(100.0), np.random.default_rng(0).normal(size=100)])
LABELS = np.arange(100) % 2
MEMBERS, NONMEMBERS = np.arange(20), np.arange(20, 40)


def predict(x):
    return np.column_stack([np.zeros(len(x)), x[:, 1]])


class Counting:
    """A soft recipe that records its inputs."""

    def __init__(self):
        self.taught = []

    def __call__(self, data, soft, rng):
        self.taught.append((data.x[:, 0].astype(int), soft, rng.normal()))
        return predict


def collect(folder, distil=None, *, population=60, jobs=1, **options):
    rows = [MEMBERS, NONMEMBERS, np.arange(40, 40 + population)]
    sides = [(RECORDS[r], LABELS[r]) for r in rows if len(r)]
    distil = Counting() if distil is None else distil
    target = gl.function_target(predict, classes=[0, 1], distil=distil, scale="logits", recipe="r")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gl.AuditWarning)
        plan = gl.evidence.Distilled(**{"models": 4, **options})
        gl.audit(target, *sides, references=0, evidence=[plan], folder=folder, jobs=jobs)
    return distil.taught, Distilled.read(open_store(folder))


def contents(folder):
    files = [*sorted((folder / "evidence").rglob("*.*")), folder / "results.json", folder / "records.parquet"]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("population", "records", "side"),
    [(60, "auto", "population"), (60, "pool", "pool"), (19, "auto", "pool"), (19, "population", "population")],
)
def test_they_train_on_the_population_or_on_the_pool(population, records, side, tmp_path):
    taught, models = collect(tmp_path, population=population, records=records)
    assert len(taught) == len(models.member) == 4
    for (rows, _, _), member in zip(taught, models.member, strict=True):
        np.testing.assert_array_equal(np.flatnonzero(member), rows)
        assert (rows >= 40).all() == (side == "population")
    there = np.concatenate([rows for rows, _, _ in taught])
    if side == "pool":  # from every set, and about the number of records that the target had
        assert all(((low <= there) & (there < low + 19)).any() for low in (0, 20, 40))
    if population == 60:
        assert 10 < len(there) / 4 < 30
    else:
        assert side == "pool" or len(there) == 4 * 19  # all there is, where there is not enough
    assert len({draw for *_, draw in taught}) == 4


@pytest.mark.slow
def test_their_labels_are_the_targets_probabilities(tmp_path):
    taught, _ = collect(tmp_path)
    for rows, soft, _ in taught:
        np.testing.assert_allclose(soft, softmax(predict(RECORDS[rows]), axis=1), rtol=1e-12)


@pytest.mark.slow
def test_probabilities_are_fitted_unchanged(blobs, tree):
    """Up to the rounding of their sum."""
    taught = []

    def distil(data, soft, rng):
        taught.append((data.x, soft))
        return tree.predict_proba

    target = gl.function_target(tree.predict_proba, classes=[0, 1, 2], distil=distil)
    gl.audit(target, *blobs, references=0, evidence=[gl.evidence.Distilled(2)], jobs=1)
    for x, soft in taught:
        np.testing.assert_allclose(soft, tree.predict_proba(x), atol=1e-12)
        np.testing.assert_allclose(soft.sum(axis=1), 1, rtol=1e-15)


@pytest.mark.slow
def test_a_record_is_compared_only_with_models_that_did_not_train_on_it(tmp_path):
    """On the pool: NaN where all of them did, and what the others say plays no part."""
    _, models = collect(tmp_path, population=0)
    member = models.member
    assert member.any(axis=0).any()
    signals = open_store(tmp_path).rotation().facing(0)
    altered = {name: np.where(member, 99.0, values) for name, values in models.values.items()}
    for name in ("distillation", "distillation_empirical"):
        score = ATTACKS[name].score
        scores, other = (
            score(replace(signals, evidence=Evidence({"distilled": m}))) for m in (models, ModelsView(altered, member))
        )
        np.testing.assert_array_equal(scores, other)
        np.testing.assert_array_equal(np.isnan(scores), member.all(axis=0))


@pytest.mark.slow
def test_more_models_keep_the_first_ones_and_other_records_are_refused(tmp_path):
    first, _ = collect(tmp_path / "grown")
    second, _ = collect(tmp_path / "grown", models=7)
    complete, _ = collect(tmp_path / "whole", models=7)
    assert (len(first), len(second)) == (4, 3)
    assert [draw for *_, draw in first + second] == [draw for *_, draw in complete]
    assert contents(tmp_path / "grown") == contents(tmp_path / "whole")
    fewer, models = collect(tmp_path / "grown", models=2)
    assert not fewer
    assert len(models.member) == 7
    with pytest.raises(FolderError, match="'distilled' collected with records='auto'"):
        collect(tmp_path / "grown", records="pool")


@pytest.mark.slow
def test_resumed_after_a_file_was_lost_the_bytes_are_the_same(tmp_path):
    collect(tmp_path)
    before = contents(tmp_path)
    (tmp_path / "evidence/distilled/model-0002.npz").unlink()
    taught, _ = collect(tmp_path)
    assert len(taught) == 1
    assert contents(tmp_path) == before


@pytest.mark.slow
@pytest.mark.long
def test_one_and_two_jobs_give_the_same_bytes(tree, blobs, tmp_path):
    for jobs in (1, 2):
        gl.audit(
            tree, *blobs, references=0, evidence=[gl.evidence.Distilled(4)], folder=tmp_path / str(jobs), jobs=jobs
        )
    assert contents(tmp_path / "1") == contents(tmp_path / "2")


@pytest.mark.slow
def test_a_copycat_without_noise_shows_no_member(tmp_path):
    """Models with exactly the outputs of the target: every score is random."""
    collect(tmp_path)
    np.testing.assert_allclose(np.load(tmp_path / "scores" / "distillation.npy"), 0, atol=1e-6)


# -- soft labels for scikit-learn-style models ----------------------------------------------------------------------


def taught_by(target, data, soft, seed=0):
    """A model trained on soft labels, queried on its own records; warnings of libraries are ignored."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return target.can["distil"](data, soft, np.random.default_rng(seed))(data.x)


def soft_labels(records, classes, seed=0):
    return softmax(np.random.default_rng(seed).normal(size=(records, classes)), axis=1)


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 3])
def test_weighted_copies_minimise_the_expected_loss(classes, blobs):
    """Logistic regression on them, against a direct search for the least soft cross-entropy with the same penalty."""
    x, y = blobs[0]
    y = y % classes
    soft, penalty = soft_labels(len(x), classes), 1 / (2 * 0.5)
    model = LogisticRegression(C=0.5, tol=1e-10, max_iter=10_000).fit(x, y)
    data = taught_by(as_target(model), as_data((x, y), side="members"), soft)

    def logits(flat):
        if classes == 2:  # scikit-learn has one row of coefficients for two classes, and penalises that one
            return np.column_stack([np.zeros(len(x)), x @ flat[:5] + flat[5]])
        return x @ flat[:15].reshape(5, 3) + flat[15:]

    def objective(flat):
        z, slopes = logits(flat), flat[:5] if classes == 2 else flat[:15]
        return (logsumexp(z, axis=1) - (soft * z).sum(axis=1)).sum() + penalty * (slopes**2).sum()

    best = optimize.minimize(objective, np.zeros(6 if classes == 2 else 18), tol=1e-12, options={"gtol": 1e-6}).x
    np.testing.assert_allclose(data, softmax(logits(best), axis=1), atol=1e-6)


def test_one_hot_soft_labels_train_like_hard_labels(blobs):
    x, y = blobs[0]
    model = LogisticRegression(tol=1e-10, max_iter=1000).fit(x, y)
    target, data = as_target(model), as_data((x, y), side="members")
    np.testing.assert_allclose(taught_by(target, data, np.eye(3)[y]), target.predict(x), atol=1e-6)


def test_a_pipeline_on_a_table_takes_soft_labels(blobs):
    x, y = blobs[0]
    table = pd.DataFrame(x, columns=list("abcde")).assign(town=np.where(x[:, 0] > 0, "north", "south"))
    words = np.array(["low", "mid", "top"])[y]
    encode = ColumnTransformer([("town", OneHotEncoder(), ["town"]), ("rest", StandardScaler(), list("abcde"))])
    model = make_pipeline(encode, LogisticRegression(tol=1e-10, max_iter=1000)).fit(table, words)
    target, data = as_target(model), as_data((table, words), side="members")
    distilled = taught_by(target, data, target.predict(table))
    assert list(target.classes) == ["low", "mid", "top"]
    # The penalty pulls towards 0 once more, and that is all.
    assert np.abs(distilled - target.predict(table)).max() < 0.05
    assert (distilled.argmax(axis=1) == target.predict(table).argmax(axis=1)).mean() > 0.95


def _boosted(package, kind, **options):
    return lambda: getattr(pytest.importorskip(package), kind)(n_estimators=30, **options)


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [
        lambda: RandomForestClassifier(50, min_samples_leaf=5),
        lambda: HistGradientBoostingClassifier(max_iter=15),
        _boosted("xgboost", "XGBClassifier", verbosity=0),
        _boosted("lightgbm", "LGBMClassifier", verbose=-1),
    ],
    ids=["forest", "histogram", "xgboost", "lightgbm"],
)
def test_trees_fit_the_soft_labels_and_not_the_true_ones(make, blobs):
    """Labels that give the next class 80 %: the fitted model follows them."""
    x, y = blobs[0]
    target = as_target(make().fit(x, y))
    soft = np.full((len(y), 3), 0.1)
    soft[np.arange(len(y)), (y + 1) % 3] = 0.8
    distilled = taught_by(target, as_data((x, y), side="members"), soft)
    assert (distilled.argmax(axis=1) == (y + 1) % 3).mean() > 0.6
    assert np.abs(distilled.mean(axis=0) - soft.mean(axis=0)).max() < 0.05


@pytest.mark.parametrize("wrap", [lambda m: m, lambda m: make_pipeline(StandardScaler(), m)], ids=["alone", "pipeline"])
def test_a_model_without_weights_is_refused_before_anything_is_trained(wrap, blobs, tmp_path):
    model = wrap(KNeighborsClassifier()).fit(*blobs[0])
    with pytest.raises(InputError, match="KNeighborsClassifier takes no sample_weight in fit"):
        gl.audit(model, *blobs, references=4, evidence=[gl.evidence.Distilled()], folder=tmp_path / "audit")
    assert not (tmp_path / "audit").exists()


# -- and for torch --------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_torch_recipes_take_soft_labels(blobs):
    pytest.importorskip("torch")
    x, y = blobs[0]
    fit = gl.defences.Fit(epochs=15, learning_rate=0.05)
    module = fit(gl.defences.mlp(5, 3, hidden=(32,)), gl.Data(x, y), np.random.default_rng(0))
    target = gl.torch_target(module, train=fit)
    soft = np.roll(softmax(target.predict(x), axis=1), 1, axis=1)
    distilled = taught_by(target, as_data((x, y), side="members"), soft)
    assert (distilled.argmax(axis=1) == soft.argmax(axis=1)).mean() > 0.9
    results = gl.audit(target, *blobs, references=0, evidence=[gl.evidence.Distilled(4)], jobs=1)
    assert results.attack("distillation").unscored < 200


@pytest.mark.slow
def test_a_torch_user_may_pass_a_distillation_function(blobs):
    pytest.importorskip("torch")
    shapes = []

    def distil(data, soft, rng):
        shapes.append((len(data), soft.shape))
        return gl.defences.Fit(epochs=1).distil(module, data, soft, rng)

    module = gl.defences.mlp(5, 3, hidden=(8,))
    for train in (None, gl.defences.Fit(epochs=1)):
        target = gl.torch_target(module, train=train, distil=distil)
        gl.audit(target, *blobs, references=0, evidence=[gl.evidence.Distilled(2)], jobs=1)
    assert len(shapes) == 4
    assert all(shape == (records, 3) for records, shape in shapes)
    with pytest.raises(InputError, match="trains models on soft labels, which"):
        gl.audit(gl.torch_target(module), *blobs, references=0, evidence=[gl.evidence.Distilled(2)])


# -- plans ------------------------------------------------------------------------------------------------------------


def test_plans_are_checked(blobs, tree):
    assert parse_plan("distilled:models=3,records=pool") == gl.evidence.Distilled(3, "pool")
    for text, message in [
        ("distiled", "There is no evidence 'distiled'"),
        ("distilled:model=3", "has no option 'model'"),
        ("distilled:models=0", "Expected models=0"),
        ("distilled:records=some", "Expected records='some'"),
    ]:
        with pytest.raises(InputError, match=message):
            parse_plan(text)
    with pytest.raises(InputError, match="requested twice"):
        check_plans([gl.evidence.Distilled(), gl.evidence.Distilled(3)])
    with pytest.raises(InputError, match=r"such as gl\.evidence\.Distilled\(\); found 'distilled'"):
        check_plans(["distilled"])
    with pytest.raises(InputError, match="no population to distil on"):
        gl.audit(tree, *blobs, references=0, evidence=[gl.evidence.Distilled(records="population")])
