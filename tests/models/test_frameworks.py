"""The table of frameworks: a framework is one row, and no other code knows it."""

import random
import subprocess
import sys
import types
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

import guestlist as gl
from guestlist import InputError
from guestlist._util import global_generators, one_thread
from guestlist.defences import DEFENCES
from guestlist.models import FRAMEWORKS, Framework, Lazy, as_target, framework_of, load_model


class Centroids:
    """A model of the toy framework: probabilities by the distance to the mean of each class."""

    def __init__(self, means=None):
        self.means = means

    def probabilities(self, x):
        closeness = np.exp(-((x[:, None] - self.means) ** 2).sum(axis=2) / 10)
        return closeness / closeness.sum(axis=1, keepdims=True)


Centroids.__module__ = "toy.models"


@dataclass(frozen=True)
class FitCentroids:
    """A recipe of the toy framework, which reads the framework's global generator and number of threads."""

    def __call__(self, model, data, rng):
        toy = sys.modules["toy"]
        assert toy.threads == 1
        means = np.stack([data.x[data.y == label].mean(axis=0) for label in range(3)])
        return Centroids(means + 0.01 * toy.generator.random())

    def describe(self):
        return "FitCentroids"


def toy_target(model, train):
    recipe = train or FitCentroids()
    return gl.function_target(
        model.probabilities,
        classes=[0, 1, 2],
        train=lambda data, rng: recipe(model, data, rng).probabilities,
        recipe=f"{FRAMEWORKS['toy'].describe(model)} {recipe.describe()}",
    )


def retrain_toy(model, recipe, data, members, fit, **options):
    return toy_target(fit(recipe, model, data.copied(members)), recipe)


@contextmanager
def seed_toy(seed):
    toy = sys.modules["toy"]
    before = toy.generator
    toy.generator = random.Random(seed)
    yield
    toy.generator = before


@contextmanager
def limit_toy_threads():
    toy = sys.modules["toy"]
    before = toy.threads
    toy.threads = 1
    yield
    toy.threads = before


def load_toy(path, **options):
    return Centroids(np.loadtxt(path))


TOY = Framework(
    model_type="centroids",
    packages=("toy",),
    query=toy_target,
    retrain=retrain_toy,
    describe=lambda model: type(model).__qualname__,
    seed=seed_toy,
    limit_threads=limit_toy_threads,
    suffixes=(".toy",),
    load=load_toy,
)


@pytest.fixture
def toy(monkeypatch):
    """The toy framework, imported and with its row in the table."""
    module = types.ModuleType("toy")
    module.generator = random.Random(0)
    module.threads = 8
    monkeypatch.setitem(sys.modules, "toy", module)
    monkeypatch.setitem(FRAMEWORKS, "toy", TOY)
    return module


def test_a_model_of_a_new_framework_is_audited(toy, blobs):
    with one_thread():
        model = FitCentroids()(Centroids(), gl.Data(*blobs[0]), np.random.default_rng(0))
    before = toy.generator.getstate()
    results = gl.audit(model, *blobs, references=4, jobs=1, progress=False)
    assert results.attack("lira").auc.low < 0.6
    assert toy.threads == 8
    assert toy.generator.getstate() == before


def test_a_new_framework_plays_games_reproducibly(toy, blobs):
    results = [
        gl.play(
            gl.games.Sides(100, 100), FitCentroids(), blobs[0], model=Centroids(), references=2, jobs=1, progress=False
        ).document()
        for _ in range(2)
    ]
    assert results[0] == results[1]


def test_a_file_of_a_new_framework_is_loaded(toy, blobs, tmp_path):
    means = np.arange(15.0).reshape(3, 5)
    np.savetxt(tmp_path / "m.toy", means)
    assert np.array_equal(load_model(tmp_path / "m.toy").means, means)
    assert as_target(tmp_path / "m.toy").classes.tolist() == [0, 1, 2]


def test_a_framework_that_is_not_imported_is_neither_seeded_nor_limited(toy, monkeypatch):
    monkeypatch.delitem(sys.modules, "toy")
    with one_thread(), global_generators(np.random.default_rng(0)):
        assert toy.threads == 8


def test_models_are_recognised_by_the_classes_that_they_inherit_from(tree):
    class Own(type(tree)):
        pass

    assert framework_of(Own()) is FRAMEWORKS["scikit-learn"]
    assert framework_of(len) is FRAMEWORKS["function"]
    assert framework_of(3) is None


def test_boosters_and_torch_modules_are_recognised():
    torch = pytest.importorskip("torch")
    xgboost = pytest.importorskip("xgboost")

    class Own(torch.nn.Linear):
        pass

    assert framework_of(Own(2, 2)) is FRAMEWORKS["torch"]
    assert framework_of(xgboost.XGBClassifier()) is FRAMEWORKS["boosters"]


def test_a_model_that_needs_a_wrapper_gets_the_advice_of_its_row(toy, monkeypatch):
    monkeypatch.setitem(FRAMEWORKS, "toy", Framework("centroids", packages=("toy",), advice="Wrap it."))
    with pytest.raises(InputError, match=r"^Wrap it\.$"):
        as_target(Centroids())


def first_boosters(x, y):
    xgboost = pytest.importorskip("xgboost")
    return {"model": xgboost.XGBClassifier(n_estimators=2).fit(x, y)}


def first_native_boosters(x, y):
    xgboost = pytest.importorskip("xgboost")
    parameters = {"objective": "multi:softprob", "num_class": 3}
    return {"model": xgboost.train(parameters, xgboost.DMatrix(x, y), 2)}


def first_keras(x, y):
    keras = pytest.importorskip("keras")
    model = keras.Sequential([keras.layers.Input((5,)), keras.layers.Dense(3, activation="softmax")])
    model.compile("sgd", "sparse_categorical_crossentropy")
    model.fit(x, y, epochs=1, verbose=0)
    return {"model": model}


def first_onnx(x, y):
    pytest.importorskip("onnxruntime")
    skl2onnx = pytest.importorskip("skl2onnx")
    graph = skl2onnx.to_onnx(train_tree(gl.Data(x, y), None), x[:1].astype("float32"), options={"zipmap": False})
    Path("model.onnx").write_bytes(graph.SerializeToString())
    return {"train": train_tree}


def train_tree(data, rng):
    return DecisionTreeClassifier(max_depth=3, random_state=0).fit(data.x, data.y)


def train_function(data, rng):
    return train_tree(data, rng).predict_proba


FIRST = {
    "boosters": first_boosters,
    "native boosters": first_native_boosters,
    "scikit-learn": lambda x, y: {"model": train_tree(gl.Data(x, y), None)},
    "keras": first_keras,
    "torch": lambda x, y: {"model": pytest.importorskip("torch").nn.Linear(5, 3)},
    "onnx": first_onnx,
    "function": lambda x, y: {
        "predict": train_tree(gl.Data(x, y), None).predict_proba,
        "classes": [0, 1, 2],
        "train": train_function,
    },
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FIRST)
def test_the_first_audit_of_every_framework_is_short_and_runs(name, blobs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = FRAMEWORKS[name].first_audit
    assert 1 + len(code.splitlines()) <= 4
    small = partial(gl.audit, references=2, attacks=["loss"], baseline=False, jobs=1)
    fast = types.SimpleNamespace(
        audit=small, **{part: getattr(gl, part) for part in ("torch_target", "function_target")}
    )
    fast.defences = types.SimpleNamespace(Fit=partial(gl.defences.Fit, epochs=1))
    values = {"gl": fast, "members": blobs[0], "nonmembers": blobs[1], **FIRST[name](*blobs[0])}
    exec(code, values)
    assert values["results"].references.count == 2


def test_every_framework_has_a_first_audit():
    assert set(FIRST) == set(FRAMEWORKS)


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_every_function_of_a_row_exists(name):
    for value in vars(FRAMEWORKS[name]).values():
        if isinstance(value, Lazy):
            module, _, function = value.path.partition(":")
            assert callable(getattr(import_module(module), function))


@pytest.mark.parametrize("name", DEFENCES)
def test_a_defence_trains_models_of_a_framework_or_any(name):
    types_of_models = {row.model_type for row in FRAMEWORKS.values()}
    assert DEFENCES[name].trains in types_of_models | {"any classifier", "any model"}


def test_reading_the_table_imports_nothing_else():
    code = (
        "import sys, guestlist.models.frameworks; "
        "print(sorted(name for name in sys.modules if name.startswith(('guestlist', 'torch', 'keras', 'sklearn', 'numpy'))))"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert output.strip() == "['guestlist', 'guestlist.models', 'guestlist.models.frameworks']"
