"""Regression, end to end: a simulation with a closed form, no leak where there is none, and leaks of overfitted models."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import load_diabetes
from sklearn.ensemble import GradientBoostingRegressor, HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeRegressor

import guestlist as gl
from guestlist import InputError, read_results
from guestlist._report.diagnostics import sentence
from guestlist._store import open_store
from guestlist.models import as_target

pytestmark = pytest.mark.usefixtures("in_the_order_given")

ATTACKS = ["loss", "reference", "difficulty", "lira", "lira_offline", "lira_bayes", "lira_bayes_offline"]
NEED_CLASSES = [
    *("correctness", "confidence", "entropy", "mentr", "class_confidence", "class_entropy", "class_mentr"),
    *("rmia", "rmia_offline", "base", "label_only", "knn_likelihood_ratio", "t_waka", "nn_shokri", "nn_nasr"),
]


@pytest.fixture(scope="module")
def diabetes():
    """(members, nonmembers), half of the records each."""
    x, y = load_diabetes(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    return tuple((x[part], y[part]) for part in np.array_split(order, 2))


@pytest.fixture(scope="module")
def forest(diabetes):
    return RandomForestRegressor(20, random_state=0).fit(*diabetes[0])


def quiet(*args, **options):
    """An audit whose notices are not the point."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gl.AuditWarning)
        return gl.audit(*args, jobs=1, **options)


# -- closed forms ------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_least_squares_residuals_and_leverages(tmp_path):
    """Least squares, to the last digit: a member's residual is what it would be left out, times one minus its leverage."""
    rng = np.random.default_rng(0)
    x, beta = rng.normal(size=(80, 5)), rng.normal(size=5)
    y = x @ beta + rng.normal(size=80)
    members, nonmembers = (x[:40], y[:40]), (x[40:], y[40:])
    model = LinearRegression(fit_intercept=False).fit(*members)
    plans = [gl.evidence.LeftOut(records=40, models=1)]
    results = quiet(model, members, nonmembers, references=0, attacks=["loss"], evidence=plans, folder=tmp_path)
    assert "labels_only" not in results.untested  # a regressor has no labels
    store = open_store(tmp_path)
    residual = store.model(0)["residual"]
    hat = x[:40] @ np.linalg.inv(x[:40].T @ x[:40]) @ x[:40].T
    np.testing.assert_allclose(residual[:40], (np.eye(40) - hat) @ y[:40], atol=1e-9)
    left_out = gl.evidence.LeftOut.read(store).values["residual"][0]
    np.testing.assert_allclose(left_out[:40], residual[:40] / (1 - np.diag(hat)), atol=1e-9)
    np.testing.assert_allclose(left_out[40:], residual[40:], atol=1e-9)  # no record is left out
    # Sum of squared residuals: sigma^2 (n - p) for members; for others larger by their leverage.
    metrics = results.subject
    assert metrics.rmse_members == pytest.approx(np.sqrt(np.mean(residual[:40] ** 2)))
    assert metrics.r2_members == pytest.approx(1 - np.mean(residual[:40] ** 2) / y[:40].var())
    assert metrics.r2_nonmembers == pytest.approx(model.score(*nonmembers))


def test_the_auc_of_the_loss_is_that_of_the_leverage():
    """With p parameters and n members, residuals have variances 1 - p / n inside, 1 + p / (n - p - 1) outside: the AUC of
    two normals of one mean ranked by their size is (2 / pi) arctan of the ratio of their deviations."""
    n, p, residuals = 60, 20, []
    rng = np.random.default_rng(0)
    for _ in range(60):
        x = rng.normal(size=(2 * n, p))
        y = rng.normal(size=2 * n)
        residual = y - LinearRegression(fit_intercept=False).fit(x[:n], y[:n]).predict(x)
        inside, outside = np.abs(residual[:n]), np.abs(residual[n:])
        residuals.append((inside[:, None] < outside[None]).mean())
    ratio = np.sqrt((1 + p / (n - p - 1)) / (1 - p / n))
    assert np.mean(residuals) == pytest.approx(2 / np.pi * np.arctan(ratio), abs=0.01)


@pytest.mark.slow
def test_attacks_find_no_leak_in_a_regressor_without_members():
    """Members and non-members are drawn after training: every attack's AUC is a half, up to chance."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(900, 4))
    y = x[:, 0] + rng.normal(size=900)
    model = RandomForestRegressor(10, random_state=0).fit(x[600:], y[600:])
    results = quiet(model, (x[:300], y[:300]), (x[300:600], y[300:600]), references=16, attacks=ATTACKS)
    for name in ATTACKS:
        assert abs(results.attack(name).auc.value - 0.5) < 4 * np.sqrt(601 / (12 * 300 * 300)), name


# -- models that leak --------------------------------------------------------------------------------------


def boosted(library):
    if library == "xgboost":
        return pytest.importorskip("xgboost").XGBRegressor(n_estimators=40, max_depth=5, n_jobs=1)
    lightgbm = pytest.importorskip("lightgbm")
    return lightgbm.LGBMRegressor(n_estimators=40, min_child_samples=3, n_jobs=1, verbose=-1)


@pytest.mark.slow
@pytest.mark.parametrize(
    "model",
    [
        RandomForestRegressor(20, random_state=0),
        GradientBoostingRegressor(n_estimators=50, max_depth=5, random_state=0),
        HistGradientBoostingRegressor(max_iter=30, min_samples_leaf=3, random_state=0),
        make_pipeline(
            StandardScaler(),
            MLPRegressor(hidden_layer_sizes=(64,), solver="lbfgs", max_iter=150, random_state=0),
        ),
        "xgboost",
        "lightgbm",
    ],
    ids=lambda model: (
        model if isinstance(model, str) else type(model[-1] if hasattr(model, "steps") else model).__name__
    ),
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("references", [8, pytest.param(16, marks=pytest.mark.long)])
def test_overfitted_regressors_are_found(model, references, diabetes):
    model = (boosted(model) if isinstance(model, str) else model).fit(*diabetes[0])
    results = quiet(model, *diabetes, references=references, attacks=ATTACKS)
    assert results.attack("lira_bayes").auc.low > 0.6
    assert results.attack("loss").auc.low > 0.6
    assert results.subject.r2_members > results.subject.r2_nonmembers + 0.2
    assert results.headline.same_recipe.auc.low > 0.5


@pytest.mark.slow
def test_a_torch_regressor_is_found(diabetes, tmp_path):
    pytest.importorskip("torch")
    members, nonmembers = ((10 * x, (y - 150) / 80) for x, y in diabetes)
    fit = gl.defences.Fit(epochs=40, batch_size=32, learning_rate=0.02, loss="squared")
    module = fit(gl.defences.mlp(10, 1, hidden=(64,)), gl.Data(*members), np.random.default_rng(0))
    target = gl.torch_target(module, train=fit, scale="values")
    plans = [
        gl.evidence.Distilled(models=2),
        gl.evidence.LeftOut(records=2, models=2),
        gl.evidence.Quantiles(level=0.9),
    ]
    results = quiet(target, members, nonmembers, references=8, evidence=plans, folder=tmp_path)
    assert results.attack("lira_bayes").auc.low > 0.6
    assert {"distillation", "leave_one_out", "quantile", "reference", "difficulty", "lira"} <= {
        *results.attacks["attack"]
    }


def test_training_a_linear_module_on_the_squared_loss_is_least_squares():
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(100, 4)), rng.normal(size=100)
    fit = gl.defences.Fit(epochs=300, batch_size=len(y), learning_rate=0.1, optimizer="sgd", loss="squared")
    module = fit(gl.defences.mlp(4, 1, hidden=()).double(), gl.Data(x, y), np.random.default_rng(0))
    with torch.no_grad():
        outputs = module(torch.as_tensor(x)).numpy()[:, 0]
    np.testing.assert_allclose(outputs, LinearRegression().fit(x, y).predict(x), atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    "model",
    [
        Ridge(),
        SVR(),
        KNeighborsRegressor(),
        DecisionTreeRegressor(max_depth=3, random_state=0),
        TransformedTargetRegressor(Ridge(), func=np.log, inverse_func=np.exp),
    ],
    ids=lambda model: type(model).__name__,
)
def test_any_regressor_runs_end_to_end(model, diabetes, tmp_path):
    results = quiet(model.fit(*diabetes[0]), *diabetes, references=4, folder=tmp_path)
    assert not set(NEED_CLASSES) & {*results.attacks["attack"]}
    assert {"loss", "shadow", "reference", "difficulty", "lira"} <= {*results.attacks["attack"]}
    assert results.subject.classes == 0
    assert results.subject.accuracy_members is None
    assert "R²" in results.summary(verbose=True) or "R²" in results.to_html(tmp_path / "page.html").read_text("utf-8")
    assert read_results(tmp_path).document() == results.document()
    np.testing.assert_allclose(results.records["residual"] ** 2, results.records["loss"])


@pytest.mark.slow
def test_leaves_of_regression_trees(forest, diabetes):
    pytest.importorskip("xgboost")
    xgb = boosted("xgboost").fit(*diabetes[0])
    x = diabetes[0][0]
    for model, sampled in ((forest, True), (xgb, False), (boosted("lightgbm").fit(*diabetes[0]), False)):
        trees = as_target(model).needs("leaves")(x)
        for tree, held in enumerate(trees.held):
            counts = np.bincount(trees.leaf[:, tree], minlength=len(held))
            assert held.sum() <= len(x) if sampled else (counts == held).all()
    results = quiet(xgb, *diabetes, references=0, attacks=["leaf_shares", "loss"])
    assert results.attack("leaf_shares").auc.low > 0.5
    assert "risk_alone_in_leaves" in results.records


# -- resuming, evidence, predictions ------------------------------------------------------------------------


@pytest.mark.slow
def test_an_audit_of_a_regressor_is_resumed_and_grows(forest, diabetes, tmp_path):
    results = quiet(forest, *diabetes, references=6, folder=tmp_path / "a", attacks=ATTACKS)
    quiet(forest, *diabetes, references=4, folder=tmp_path / "b", attacks=ATTACKS)
    grown = quiet(forest, *diabetes, references=6, folder=tmp_path / "b", attacks=ATTACKS)
    assert grown.document()["outcomes"] == results.document()["outcomes"]
    other = RandomForestRegressor(20, random_state=1).fit(*diabetes[0])
    with pytest.raises(gl.AuditError, match="different fitted model"):
        quiet(other, *diabetes, references=4, folder=tmp_path / "b")


@pytest.mark.slow
@pytest.mark.long
def test_one_and_two_jobs_give_the_same_numbers(forest, diabetes):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gl.AuditWarning)
        here, two = (gl.audit(forest, *diabetes, references=4, jobs=jobs) for jobs in (1, 2))
    assert here.document() == two.document()


@pytest.mark.slow
def test_evidence_of_a_regressor(forest, diabetes, tmp_path):
    members, others = diabetes
    nonmembers, population = ((others[0][part], others[1][part]) for part in (slice(0, 110), slice(110, None)))
    plans = [
        gl.evidence.Distilled(models=6, records="pool"),
        gl.evidence.LeftOut(records=5, models=4),
        gl.evidence.Quantiles(level=0.9),
    ]
    results = quiet(forest, members, nonmembers, population, references=4, evidence=plans, folder=tmp_path)
    ran = {*results.attacks["attack"]}
    assert {"distillation", "leave_one_out", "quantile"} <= ran
    assert results.attack("quantile").auc.low > 0.5
    assert results.attack("distillation").auc.value > 0.5


def test_distilled_regressors_fit_the_outputs_of_the_target(forest, diabetes):
    x, _ = diabetes[0]
    target = as_target(forest)
    taught = target.needs("distil")(gl.Data(*diabetes[0]), np.zeros((len(x), 1)), np.random.default_rng(0))
    np.testing.assert_array_equal(taught(x), 0)


@pytest.mark.slow
def test_predictions_of_a_regressor(forest, diabetes, tmp_path):
    x, y = (np.concatenate(parts) for parts in zip(*diabetes, strict=True))
    member = np.arange(len(y)) < len(diabetes[0][1])
    predicted = forest.predict(x)
    np.savez(tmp_path / "p.npz", values=predicted, labels=y, member=member)
    pd.DataFrame({"predicted": predicted, "label": y, "member": member}).to_csv(tmp_path / "p.csv", index=False)
    from guestlist import read_predictions

    expected = quiet(forest, *diabetes, references=0, attacks=["loss"]).attack("loss").auc
    files = ("p.npz", None), ("p.csv", None), ("p.csv", "values"), ("p.csv", gl.models.Values())
    for read in (read_predictions(tmp_path / name, scale=scale) for name, scale in files):
        results = gl.audit_predictions(read)
        assert {*results.attacks["attack"]} == {"loss"}
        assert results.attack("loss").auc.value == pytest.approx(expected.value)
        assert results.subject.r2_members > results.subject.r2_nonmembers
    with pytest.raises(InputError, match="one predicted value per record"):
        gl.Predictions(np.zeros((4, 2)), np.zeros(4), np.arange(4) < 2, scale="values")
    with pytest.raises(InputError, match="NaN or infinite"):
        gl.Predictions(np.zeros(4), np.array([0, 1, np.nan, 2]), np.arange(4) < 2, scale="values")


@pytest.mark.slow
def test_a_function_may_predict_values(diabetes):
    def train(data, rng):
        return DecisionTreeRegressor(max_depth=8).fit(data.x, data.y).predict

    target = gl.function_target(train(gl.Data(*diabetes[0]), None), train=train, scale="values")
    results = quiet(target, *diabetes, references=8, attacks=["loss", "lira"])
    assert results.attack("lira").auc.low > 0.5


@pytest.mark.slow
def test_a_user_defined_attack_reads_residuals(forest, diabetes):
    def custom(signals):
        assert not signals.labels.any()
        return -np.abs(signals.target("residual"))

    results = quiet(forest, *diabetes, references=4, attacks=[custom, "loss"])
    assert results.attack("custom").auc.value == pytest.approx(results.attack("loss").auc.value)
    with pytest.raises(InputError, match="failed on simulated signals"):
        quiet(forest, *diabetes, references=4, attacks=[lambda signals: signals.target("p_y")])


# -- what is refused -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NEED_CLASSES)
def test_attacks_that_need_classes_report_it(name, forest, diabetes):
    with pytest.raises(InputError, match=f"'{name}' needs classes"):
        quiet(forest, *diabetes, references=4, attacks=[name])


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (gl.evidence.Perturbed(), "needs a classifier"),
        (gl.evidence.FullOutputs(), "needs a classifier"),
        (gl.evidence.WhiteBox(), "torch target"),
    ],
)
def test_evidence_that_needs_classes_reports_it(plan, message, forest, diabetes):
    with pytest.raises(InputError, match=message):
        quiet(forest, *diabetes, references=4, evidence=[plan])


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda y: np.where(np.arange(len(y)) == 3, np.nan, y), "1 records without a label, first in row 3"),
        (lambda y: np.where(np.arange(len(y)) == 3, np.inf, y), "1 infinite labels, first in row 3"),
        (lambda y: np.full(len(y), "high"), "labels that are not numbers"),
        (lambda y: np.column_stack([y, y]), "one label per record"),
    ],
)
def test_wrong_values_are_reported(spoil, message, forest, diabetes):
    (x, y), members = diabetes[1], diabetes[0]
    with pytest.raises(InputError, match=message):
        quiet(forest, members, (x, spoil(y)), references=4)


def test_models_that_cannot_be_audited_are_reported(diabetes):
    x, y = diabetes[0]
    with pytest.raises(InputError, match="Ridge is not fitted"):
        gl.audit(Ridge(), *diabetes)
    several = LinearRegression().fit(x, np.column_stack([y, y]))
    with pytest.raises(InputError, match="several outputs"):
        quiet(several, *diabetes, references=4)
    with pytest.raises(InputError, match="has no classes"):
        gl.function_target(lambda x: x, classes=[0, 1], scale="values")
    with pytest.raises(InputError, match=r"Pass classes=\[…\]"):
        gl.function_target(lambda x: x)
    with pytest.raises(InputError, match="one predicted value per record"):
        quiet(gl.function_target(lambda x: np.zeros((len(x), 2)), scale="values"), *diabetes, references=0)


def test_a_loss_that_does_not_suit_the_outputs_is_refused():
    pytest.importorskip("torch")
    with pytest.raises(InputError, match="Pass loss='squared'"):
        gl.torch_target(gl.defences.mlp(10, 1), train=gl.defences.Fit(), scale="values")
    with pytest.raises(InputError, match="Pass loss='cross_entropy'"):
        gl.torch_target(gl.defences.mlp(10, 3), train=gl.defences.Fit(loss="squared"))
    with pytest.raises(ValueError, match="scale='probabilities' is not supported"):
        gl.torch_target(gl.defences.mlp(10, 3), scale="probabilities")
    with pytest.raises(ValueError, match="loss='absolute'"):
        gl.defences.Fit(loss="absolute")


@pytest.mark.slow
def test_a_regressor_that_knows_nothing_is_noticed(diabetes):
    (x, y), others = diabetes
    model = LinearRegression().fit(x, -y)
    results = quiet(model, (x, y), others, references=0)
    assert results.check("GL103").state == "issue"
    assert "R² on the non-members" in sentence(results.check("GL103"))
    good = quiet(LinearRegression().fit(x, y), (x, y), others, references=0)
    assert good.check("GL103").state == "passed"
