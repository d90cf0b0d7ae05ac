"""Quantile regression against known quantiles, and the report if the features predict nothing."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import guestlist as gl
from guestlist import InputError
from guestlist._report.diagnostics import sentence
from guestlist._store import open_store
from guestlist.evidence import parse_plan
from guestlist.evidence.quantiles import pinball, quantile_regression, regression_features
from guestlist.models.scales import hinge, zero_replacement

pytestmark = pytest.mark.usefixtures("in_the_order_given")


def run(model, sides, folder, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gl.AuditWarning)
        return gl.audit(model, *sides, folder=folder, **{"references": 0, "jobs": 1, **options})


def read(folder):
    return gl.evidence.Quantiles.read(open_store(folder))


def draw(records, seed):
    """Two classes that overlap; the first feature says how sure one can be, and the second says nothing."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=records)
    return rng.normal(size=(records, 2)) + [1.5, 0] * y[:, None], y


@pytest.fixture(scope="module")
def easy():
    return draw(200, 0), draw(800, 1)


@pytest.fixture(scope="module")
def smooth(easy):
    return LogisticRegression().fit(*easy[0])


def regressed(records: int, level: float, seed: int = 0):
    """Return the mean distance of predictions from the true conditional quantiles, over records that are not known."""
    rng = np.random.default_rng(seed)
    x, labels = rng.normal(size=(records + 1000, 3)), rng.integers(3, size=records + 1000)
    mean, deviation = 2 * x[:, 0] + labels, np.exp(0.3 * x[:, 1])
    y = mean + deviation * rng.normal(size=len(x))
    fit, check = np.array_split(np.arange(records), 2)
    y[records:] = np.nan  # what is not known is not read
    quantiles = quantile_regression(regression_features(x, labels), y, fit, check, level, rng)
    assert not quantiles.degenerate
    return np.abs(quantiles.quantile - mean - deviation * norm.ppf(level))[records:].mean()


@pytest.mark.slow
@pytest.mark.parametrize("level", [0.5, 0.9])
def test_predictions_tend_to_the_true_quantiles(level):
    few, many = (np.mean([regressed(records, level, seed) for seed in range(3)]) for records in (400, 6000))
    assert many < 0.35
    assert many < 0.6 * few


def test_pinball_is_smallest_at_the_true_quantile():
    y = np.random.default_rng(0).normal(size=200_000)
    candidates = norm.ppf(0.9) + np.linspace(-0.5, 0.5, 11)
    costs = [pinball(y, np.full(len(y), c), 0.9).mean() for c in candidates]
    assert np.argmin(costs) == 5
    # Its value there in closed form: the density of the normal at the quantile.
    assert abs(costs[5] - norm.pdf(norm.ppf(0.9))) < 0.002


@pytest.mark.slow
@pytest.mark.parametrize("records", [200, 1000])
def test_uninformative_features_are_detected(records):
    degenerate = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        described = regression_features(rng.normal(size=(records, 4)), rng.integers(2, size=records))
        y = rng.normal(size=records)
        quantiles = quantile_regression(described, y, *np.array_split(np.arange(records), 2), 0.9, rng)
        degenerate.append(bool(quantiles.degenerate))
        if quantiles.degenerate:
            assert (quantiles.quantile == np.quantile(y[: records // 2], 0.9)).all()
    assert sum(degenerate) >= 9


def test_features_of_tables_arrays_and_images():
    x = pd.DataFrame({"number": [1.0, np.nan, 3.0], "word": ["b", None, "a"], "kind": pd.Categorical([1, 2, 1])})
    features = regression_features(x, np.array([0, 1, 0]))
    np.testing.assert_array_equal(
        features.values, [[1, 0, 0, 0], [np.nan, np.nan, 1, 1], [3, 1, 0, 0]], err_msg="codes in order of appearance"
    )
    assert features.categorical.tolist() == [False, True, True, True]
    image = np.arange(24).reshape(3, 2, 4)
    features = regression_features(image, np.array([0, 1, 0]))
    np.testing.assert_array_equal(features.values[:, :8], image.reshape(3, 8))
    assert features.categorical.tolist() == [False] * 8 + [True]
    # More categories than trees can tell apart: how frequent each is.
    many = pd.DataFrame({"word": [f"w{i}" for i in range(300)] + ["w0", None]})
    features = regression_features(many, np.zeros(302, int))
    assert features.categorical.tolist() == [False, True]
    np.testing.assert_array_equal(features.values[[0, 1, 300, 301], 0], [2, 1, 2, np.nan])


@pytest.mark.slow
def test_only_known_nonmembers_have_no_score(smooth, easy, tmp_path):
    results = run(smooth, easy, tmp_path, evidence=[gl.evidence.Quantiles(known=0.5)])
    view, member = read(tmp_path), np.arange(1000) < 200
    assert not view.degenerate
    assert results.check("GL109").state == "passed"
    unknown = np.isnan(view.ceiling)
    assert unknown.sum() == 400
    assert not unknown[member].any()
    assert len(view.beyond) == 200
    scores = np.load(tmp_path / "scores" / "quantile.npy")
    np.testing.assert_array_equal(np.isnan(scores), unknown)
    np.testing.assert_allclose(scores, view.hinge - view.ceiling)
    assert results.attacks.set_index("attack").loc["quantile", "unscored"] == 400
    # Which ones are known is drawn, not taken from the front.
    assert 150 < unknown[200:600].sum() < 250
    # Where the target is surer, the ceiling is higher; few of the non-members are beyond it.
    assert np.corrcoef(view.hinge[~unknown], view.ceiling[~unknown])[0, 1] > 0.5
    assert 0.01 < (scores[~unknown & ~member] > 0).mean() < 0.2


@pytest.mark.slow
def test_the_hinge_is_that_of_the_outputs(smooth, easy, tree, blobs, tmp_path):
    run(smooth, easy, tmp_path / "smooth", evidence=[gl.evidence.Quantiles()])
    x, y = np.concatenate([easy[0][0], easy[1][0]]), np.concatenate([easy[0][1], easy[1][1]])
    log_odds = smooth.decision_function(x) * np.where(y == 1, 1, -1)
    np.testing.assert_allclose(read(tmp_path / "smooth").hinge, log_odds, rtol=1e-6, atol=1e-6)
    run(tree, blobs, tmp_path / "steps", evidence=[gl.evidence.Quantiles(level=0.75)])
    x, y = np.concatenate([blobs[0][0], blobs[1][0]]), np.concatenate([blobs[0][1], blobs[1][1]])
    p = tree.predict_proba(x)
    expected = hinge(np.log(np.maximum(p, zero_replacement(p))), y)
    np.testing.assert_allclose(read(tmp_path / "steps").hinge, expected)


@pytest.mark.slow
def test_the_population_is_known_where_it_is_large_enough(smooth, easy, tmp_path):
    population = draw(300, 2)
    run(smooth, easy, tmp_path / "large", population=population, evidence=[gl.evidence.Quantiles()])
    unknown = np.isnan(read(tmp_path / "large").ceiling)
    np.testing.assert_array_equal(unknown, np.arange(1300) >= 1000)
    few = tuple(part[:199] for part in population)  # 200 are enough
    run(smooth, easy, tmp_path / "small", population=few, evidence=[gl.evidence.Quantiles()])
    unknown = np.isnan(read(tmp_path / "small").ceiling)
    assert unknown[200:1000].sum() == unknown.sum() == 400


@pytest.mark.slow
def test_a_regressor_without_predictive_value_is_reported(tmp_path):
    """Outputs that are noise around one value: no feature predicts the confidence of the target."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(1000, 3)), (np.arange(1000) % 50 == 0).astype(int)

    def predict(x):
        digits = np.abs(np.sin(1e5 * x).sum(axis=1))  # looks random, and is the same for every query
        return np.column_stack([digits, np.zeros(len(x))])

    target = gl.function_target(predict, classes=[0, 1], scale="logits")
    results = run(target, ((x[:200], y[:200]), (x[200:], y[200:])), tmp_path, evidence=[gl.evidence.Quantiles()])
    assert results.check("GL109").state == "issue"
    text = sentence(results.check("GL109"))
    assert "quantile regression" in text
    assert "pinball loss on 200 held-out records" in text or "one value for all records" in text
    view, scores = read(tmp_path), np.load(tmp_path / "scores" / "quantile.npy")
    known = np.isnan(view.ceiling)
    assert known.sum() == 400
    assert len(np.unique(view.ceiling[~known])) == 1
    assert not np.isnan(scores[~known]).any()


@pytest.mark.slow
def test_a_pipeline_on_a_table_with_text(tmp_path):
    rng = np.random.default_rng(0)
    kind = rng.choice(["clear", "vague"], 1200)
    number = rng.normal(size=1200)
    x = pd.DataFrame({"kind": kind, "number": number, "word": pd.Categorical(rng.choice(["a", "b", "c"], 1200))})
    y = np.where(rng.random(1200) < np.where(kind == "clear", 0.95, 0.5), "yes", "no")
    encode = make_column_transformer((OneHotEncoder(), ["kind", "word"]), remainder="passthrough")
    model = make_pipeline(encode, RandomForestClassifier(25, min_samples_leaf=4, random_state=0))
    model.fit(x[:300], y[:300])
    results = run(model, ((x[:300], y[:300]), (x[300:], y[300:])), tmp_path, evidence=[gl.evidence.Quantiles()])
    view = read(tmp_path)
    assert not view.degenerate
    assert results.attacks.set_index("attack").loc["quantile", "auc"] > 0.5
    clear, vague = (np.nanmean(view.ceiling[(kind == k) & (y == "yes")]) for k in ("clear", "vague"))
    assert clear > vague + 1  # it has read the text


@pytest.mark.slow
def test_run_again_gives_the_same_bytes(smooth, easy, tmp_path):
    for name in ("once", "twice", "twice", "other"):
        run(smooth, easy, tmp_path / name, evidence=[gl.evidence.Quantiles()], seed=int(name == "other"))
    bytes_of = {
        name: (tmp_path / name / "evidence/quantiles/regression.npz").read_bytes()
        for name in ("once", "twice", "other")
    }
    assert bytes_of["once"] == bytes_of["twice"] != bytes_of["other"]


@pytest.mark.parametrize("options", [{"known": 0.0}, {"known": 1.0}, {"level": 0.0}, {"level": 1.2}])
def test_options_are_checked_at_once(options):
    ((name, value),) = options.items()
    with pytest.raises(ValueError, match=f"{name}={value}"):
        gl.evidence.Quantiles(**options)


@pytest.mark.slow
def test_too_few_records_are_refused_before_a_folder_is_made(smooth, easy, tmp_path):
    few = easy[0], tuple(part[:300] for part in easy[1])
    with pytest.raises(InputError, match=r"200 known non-members.*population has 0.*0\.5 of the non-members are 150"):
        run(smooth, few, tmp_path / "audit", evidence=[gl.evidence.Quantiles()])
    assert not (tmp_path / "audit").exists()
    run(smooth, few, tmp_path / "audit", evidence=[parse_plan("quantiles:level=0.9,known=0.4")])
    assert np.isnan(read(tmp_path / "audit").ceiling).sum() == 120
