"""Outputs that change between queries, depend on the batch or come back in another order are recognised; others are not."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import guestlist as gl
from guestlist import AuditWarning, Data, InputError
from guestlist._collect import query_target
from guestlist._diagnostics.table import of_consistency
from guestlist.errors import FolderError
from guestlist.models import as_target

X = np.random.default_rng(0).normal(size=(400, 3))
Y = (X[:, 0] > 0).astype(int)
POOL = Data(X, Y)


def probability(x):
    p = 1 / (1 + np.exp(-x[:, 0]))
    return np.column_stack([1 - p, p])


def noisy(size):
    rng = np.random.default_rng(1)

    def predict(x):
        p = probability(x)[:, 1]
        p = np.clip(p + size * rng.normal(size=len(x)), 0, 1)
        return np.column_stack([1 - p, p])

    return predict


def warming_up():
    calls = []

    def predict(x):
        calls.append(len(x))
        return probability(x if len(calls) > 1 else x + 1)

    return predict


def scaled_by_batch(x):
    return probability((x - x.mean(axis=0)) / (x.std(axis=0) + 1e-9))


def broken_end(x):
    """All but whole batches of 128 records are zeros, as where the rest of a buffer is not filled."""
    return np.vstack([probability(x[: len(x) // 128 * 128]), np.full((len(x) % 128, 2), 0.5)])


def rounding(x):
    """Like sums of a different number of terms: one part in ten million depends on the number of records."""
    p = np.clip(probability(x)[:, 1] * (1 + 1e-7 * np.sin(len(x) * x[:, 1])), 0, 1)
    return np.column_stack([1 - p, p])


def shuffled():
    rng = np.random.default_rng(1)
    return lambda x: probability(x)[rng.permutation(len(x))]


def state(predict, scale="probabilities", classes=(0, 1), pool=POOL):
    target = gl.function_target(predict, classes=list(classes), scale=scale)
    _, outputs = query_target(target, pool)
    return {check.code: check.state for check in of_consistency(outputs)}


@pytest.mark.parametrize(
    ("predict", "changing", "batched"),
    [
        (probability, "passed", "passed"),
        (rounding, "passed", "passed"),
        (noisy(1e-9), "passed", "passed"),
        (noisy(0.001), "issue", "not run"),
        (noisy(0.1), "issue", "not run"),
        (warming_up(), "issue", "not run"),
        (scaled_by_batch, "passed", "issue"),
        (broken_end, "passed", "issue"),
    ],
    ids=lambda model: getattr(model, "__qualname__", model),
)
def test_what_is_recognised(predict, changing, batched):
    assert state(predict) == {"GL130": changing, "GL131": batched}


def test_labels_that_change():
    rng = np.random.default_rng(0)
    assert state(lambda x: (x[:, 0] > 0).astype(int), "labels")["GL130"] == "passed"
    assert state(lambda x: (x[:, 0] + 0.3 * rng.normal(size=len(x)) > 0).astype(int), "labels")["GL130"] == "issue"


@pytest.mark.parametrize(
    "predict",
    [shuffled(), lambda x: probability(np.sort(x, axis=0)), lambda x: probability(x)[::-1]],
    ids=["shuffled", "sorted", "reversed"],
)
def test_another_order_is_reported(predict):
    with pytest.raises(InputError, match="outputs in a different order from the records"):
        state(predict)


def test_a_model_that_takes_all_records_or_none_is_not_compared():
    def predict(x):
        if len(x) < 400:
            raise ValueError("too few")
        return probability(x)

    assert state(predict) == {"GL130": "not run", "GL131": "not run"}


@pytest.mark.parametrize("records", [9, 400])
def test_the_sample_is_small_and_the_outputs_are_those_of_the_first_query(records):
    sizes = []
    predict = noisy(0.1)

    def counting(x):
        sizes.append(len(x))
        return predict(x)

    outputs, _ = query_target(gl.function_target(counting, classes=[0, 1]), POOL.take(np.arange(records)))
    assert sizes == [records, *([8] * 2 if records == 9 else [12] * 2)]
    assert np.array_equal(outputs, noisy(0.1)(X[:records]))


@pytest.mark.slow
@pytest.mark.parametrize(
    "model",
    [
        MLPClassifier((16,), tol=1.0, n_iter_no_change=1),
        make_pipeline(StandardScaler(), KNeighborsClassifier(5)),
        LogisticRegression(),
    ],
)
def test_ordinary_models_are_consistent(model):
    # Many equal distances, which rounding would break in any way.
    x = np.repeat(np.random.default_rng(0).integers(2, size=(1000, 20)), 2, axis=0).astype(np.float32)
    y = x[:, 0] > 0
    _, outputs = query_target(as_target(model.fit(x[:500], y[:500])), Data(x, y))
    assert outputs.deterministic
    assert outputs.batched == 0


def test_an_audit_reports_it_and_the_folder_is_not_resumed(tmp_path):
    sides = (X[:200], Y[:200]), (X[200:], Y[200:])
    target = gl.function_target(noisy(0.1), classes=[0, 1])
    options = {"references": 0, "attacks": ["loss"], "folder": tmp_path / "audit", "baseline": False}
    with pytest.warns(AuditWarning, match="not deterministic"):
        results = gl.audit(target, *sides, **options)
    assert results.check("GL130").state == "issue"
    assert results.check("GL131").state == "not run"
    with pytest.raises(FolderError, match="because it is not deterministic"):
        gl.audit(target, *sides, **options)
    options |= {"folder": tmp_path / "ignored", "ignore": ["GL131"]}
    results = gl.audit(gl.function_target(scaled_by_batch, classes=[0, 1]), *sides, **options)
    assert results.check("GL131").state == "ignored"
