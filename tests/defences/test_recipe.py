"""A recipe has an identity: recipes that train different models never share a folder."""

import importlib.util
import json
import warnings
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import guestlist as gl
from guestlist import InputError
from guestlist._util import describe, described
from guestlist.cli import main
from guestlist.defences import DEFENCES, as_recipe
from guestlist.errors import FolderError

torch = pytest.importorskip("torch")


@dataclass(frozen=True)
class Smoothed(gl.defences.Fit):
    """Label smoothing, with the fields of plain ``Fit``."""

    def _loss(self, outputs, batch):
        return torch.nn.functional.cross_entropy(outputs, batch.y, label_smoothing=0.2)


@dataclass(frozen=True)
class Softened:
    """Label smoothing as a wrapper of another recipe, with an option; it leaves its description to the helper."""

    share: float = 0.2
    then: gl.defences.Fit = field(default_factory=lambda: gl.defences.Fit(epochs=2))

    def __call__(self, model, data, rng):
        classes = int(data.y.max()) + 1
        soft = (1 - self.share) * np.eye(classes)[data.y] + self.share / classes
        return self.then.distil(model, data, soft, rng)


class Object:
    """A recipe that is not a dataclass."""

    def __init__(self, epochs):
        self.epochs = epochs

    def __call__(self, model, data, rng):
        return gl.defences.Fit(self.epochs)(model, data, rng)


class Delegating:
    """A wrapper that passes on everything it does not have itself, and so the description of what it wraps."""

    def __init__(self, then):
        self.then = then

    def __call__(self, model, data, rng):
        return self.then(model, gl.Data(data.x[::2], data.y[::2]), rng)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.then, name)


def closed_over(share):
    def train(model, data, rng):
        return Softened(share)(model, data, rng)

    return train


def made_in_a_function(share):
    @dataclass(frozen=True)
    class Made(gl.defences.Fit):
        def _loss(self, outputs, batch):
            return torch.nn.functional.cross_entropy(outputs, batch.y, label_smoothing=share)

    return Made(epochs=2)


@pytest.fixture(scope="module")
def module(blobs):
    return gl.defences.Fit(epochs=2)(gl.defences.mlp(5, 3, hidden=(8,)), gl.Data(*blobs[0]), np.random.default_rng(0))


def module_from(path, text):
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_recipes_that_differ_have_different_identities():
    fit = gl.defences.Fit(epochs=2)
    different = [
        fit,
        gl.defences.Fit(epochs=3),
        gl.defences.Fit(epochs=2, loss="squared"),
        Smoothed(epochs=2),
        Softened(),
        Softened(0.1),
        Softened(then=gl.defences.Fit(epochs=3)),
        Object(2),
        Object(3),
        Delegating(fit),
        Delegating(Delegating(fit)),
        closed_over(0.1),
        closed_over(0.2),
        made_in_a_function(0.1),
        made_in_a_function(0.2),
        gl.defences.Refit(),
    ]
    texts = [describe(recipe) for recipe in different]
    assert len(set(texts)) == len(texts)
    assert texts == [describe(recipe) for recipe in different]
    assert describe(gl.defences.Fit(epochs=2)) == describe(fit)
    assert describe(Softened()) == described(Softened())


def test_an_identity_names_class_module_version_and_every_option():
    text = gl.defences.Fit(epochs=7, optimizer="sgd", momentum=0.5).describe()
    assert text.startswith(f"guestlist.defences.torch_training.Fit=={gl.__version__}(epochs=7, batch_size=64,")
    assert "optimizer='sgd', momentum=0.5, loss='cross_entropy'" in text


def test_a_class_is_distinguished_from_its_namesake_and_its_former_self(tmp_path, monkeypatch):
    text = (
        "from dataclasses import dataclass\nimport guestlist as gl\n"
        "@dataclass(frozen=True)\nclass Mine(gl.defences.Fit):\n    def extra(self):\n        return 1\n"
    )
    first, other = (module_from(tmp_path / f"{name}.py", text) for name in ("one", "other"))
    for loaded in (first, other):
        monkeypatch.setitem(__import__("sys").modules, loaded.__name__, loaded)
    renamed = module_from(tmp_path / "renamed.py", text.replace("Mine", "Yours"))
    monkeypatch.setitem(__import__("sys").modules, "renamed", renamed)
    changed = module_from(tmp_path / "changed.py", text.replace("return 1", "return 2"))
    changed.Mine.__module__ = "one"
    changed_text = describe(changed.Mine())
    texts = [describe(recipe) for recipe in (first.Mine(), other.Mine(), renamed.Yours())]
    assert len({*texts, changed_text}) == 4
    assert "return 1" in texts[0]  # the source of a class that no version speaks for


@pytest.mark.slow
def test_a_subclass_of_fit_is_refused_in_the_folder_of_plain_fit(module, blobs, tmp_path):
    def run(train, references=4):
        return gl.audit(
            gl.torch_target(module, train=train),
            *blobs,
            references=references,
            attacks=["loss", "reference"],
            folder=tmp_path,
            jobs=1,
        )

    first = run(gl.defences.Fit(epochs=2))
    for other in (Smoothed(epochs=2), Softened(), Object(2), Delegating(gl.defences.Fit(epochs=2)), closed_over(0.2)):
        with pytest.raises(FolderError, match="a different model"):
            run(other)
    assert run(gl.defences.Fit(epochs=2)).document()["outcomes"] == first.document()["outcomes"]
    assert run(gl.defences.Fit(epochs=2), references=5).references.count == 5


@pytest.mark.slow
@pytest.mark.parametrize("recipe", [Smoothed(epochs=2), Softened(), Object(2), closed_over(0.2)])
def test_any_recipe_trains_references(recipe, module, blobs, tmp_path):
    target = gl.torch_target(module, train=recipe)
    results = gl.audit(target, *blobs, references=4, attacks=["loss", "reference"], folder=tmp_path, jobs=1)
    assert results.references.count == 4
    # The recipe trained them, not plain training: the same stream, the same records, other outputs.
    plain = gl.torch_target(module, train=gl.defences.Fit(epochs=2)).can["train"]
    custom, data = target.can["train"], gl.Data(*blobs[0])
    first, two = (train(data, np.random.default_rng(0))(data.x) for train in (custom, plain))
    assert np.array_equal(first, two) == isinstance(recipe, Object)


def test_training_on_soft_labels_belongs_to_the_recipe(module, blobs):
    soft = np.full((len(blobs[0][1]), 3), 1 / 3)
    assert "distil" in gl.torch_target(module, train=Smoothed(epochs=2)).can
    with pytest.raises(InputError, match=r"cannot be trained on soft labels: its recipe has no method distil\(\)"):
        gl.torch_target(module, train=Softened()).needs("distil")
    distilled = gl.torch_target(module, train=gl.defences.Fit(1)).needs("distil")(
        gl.Data(*blobs[0]), soft, np.random.default_rng(0)
    )
    assert distilled(blobs[0][0]).shape == soft.shape


@pytest.mark.parametrize(
    ("train", "message"),
    [
        (gl.defences.Fit, "is a class"),
        ("fit", "found str 'fit'"),
        ({"epochs": 3}, "found dict"),
        (lambda x: x, "accepts neither"),
        (lambda module, x, y, rng: module, "accepts neither"),
        (lambda: None, "accepts neither"),
    ],
)
def test_what_is_no_training_is_refused_before_anything_is_trained(train, message, module):
    with pytest.raises(InputError, match=message):
        gl.torch_target(module, train=train)
    with pytest.raises(InputError, match=message):
        gl.estimator_target(DecisionTreeClassifier().fit([[0], [1]], [0, 1]), train=train)
    with pytest.raises(InputError, match=message):
        gl.function_target(lambda x: x, classes=[0, 1], train=train)


def test_a_function_has_no_model_to_hand_to_a_recipe():
    with pytest.raises(InputError, match=r"Fit is called with \(model, data, rng\)"):
        gl.function_target(lambda x: x, classes=[0, 1], train=gl.defences.Fit())


@dataclass(frozen=True)
class Noisy:
    """A defence of estimators: some of the labels are drawn again."""

    share: float = 0.5

    def __call__(self, model, data, rng):
        drawn = np.where(rng.random(len(data)) < self.share, rng.permutation(data.y), data.y)
        return gl.defences.Refit()(model, gl.Data(data.x, drawn), rng)

    def describe(self):
        return described(self)


@pytest.mark.slow
def test_an_estimator_may_have_another_recipe(blobs, tmp_path):
    tree = DecisionTreeClassifier(random_state=0).fit(*blobs[0])
    gl.audit(gl.estimator_target(tree, train=Noisy()), *blobs, references=4, folder=tmp_path, jobs=1)
    for other in (tree, gl.estimator_target(tree, train=Noisy(0.4))):
        with pytest.raises(FolderError, match="a different model"):
            gl.audit(other, *blobs, references=4, folder=tmp_path, jobs=1)
    with pytest.raises(InputError, match="its recipe, Noisy, takes no weights"):
        gl.estimator_target(tree, train=Noisy()).needs("distil")


def test_a_function_may_train_an_estimator(blobs):
    def train(data, rng):
        return LogisticRegression().fit(data.x, data.y)

    model = LogisticRegression().fit(*blobs[0])
    target = gl.estimator_target(model, train=train)
    trained = target.can["train"](gl.Data(*blobs[0]), np.random.default_rng(0))
    np.testing.assert_allclose(trained(blobs[1][0]), model.predict_proba(blobs[1][0]))


def test_a_user_defined_estimator_is_identified_by_its_source(tmp_path, monkeypatch):
    text = (
        "from sklearn.tree import DecisionTreeClassifier\n"
        "class Own(DecisionTreeClassifier):\n    def fit(self, x, y):\n        return super().fit(x, y)\n"
    )
    before, after = (
        module_from(tmp_path / f"{name}.py", body)
        for name, body in (("before", text), ("after", text.replace("super().fit(x, y)", "super().fit(x[:9], y[:9])")))
    )
    for parameters in (before, after):
        monkeypatch.setitem(__import__("sys").modules, parameters.__name__, parameters)
    after.Own.__module__ = "before"
    assert describe(before.Own()) != describe(after.Own())


# -- the table ---------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_defence_is_a_file_and_a_row(monkeypatch, blobs):
    """A recipe and its row: it is listed, and it trains a target and its references."""
    row = gl.defences.Defence(Softened, "torch module", "soft labels", "Szegedy et al. 2016", "none")
    monkeypatch.setitem(DEFENCES, "softened", row)
    document = json.loads(CliRunner().invoke(main, ["show", "defences", "--json"]).output)
    assert {"defence": "softened", "trains": "torch module"}.items() <= document[-1].items()
    recipe = DEFENCES["softened"].recipe(share=0.9)
    trained = as_recipe(recipe)(gl.defences.mlp(5, 3, hidden=(8,)), gl.Data(*blobs[0]), np.random.default_rng(0))
    results = gl.audit(
        gl.torch_target(trained, train=recipe), *blobs, references=4, attacks=["loss", "reference"], jobs=1
    )
    assert results.references.count == 4


@pytest.mark.parametrize("name", DEFENCES)
def test_every_row_makes_a_recipe(name):
    row, some = DEFENCES[name], gl.Data(np.ones((3, 2)), np.zeros(3, int))
    recipe = row.recipe(*([some] if name in ("adv_reg", "memguard") else []))
    if row.kind == "objective":
        recipe = gl.defences.Fit(objective=recipe)
    forms = {"output": gl.defences.OutputDefence, "members": gl.defences.Removal}
    assert isinstance(recipe, forms.get(row.kind, gl.defences.Recipe))
    assert describe(recipe) == recipe.describe()
    assert DEFENCES[name].summary
    assert name in CliRunner().invoke(main, ["show", "defences"]).output


# -- what decides how a model is trained is in its identity -------------------------------------------------------------


def test_options_that_are_no_fields_count():
    class Smooth(gl.defences.Fit):
        def __init__(self, smoothing):
            super().__init__()
            object.__setattr__(self, "smoothing", smoothing)

    assert describe(Smooth(0.0)) != describe(Smooth(0.4))


def test_cached_properties_do_not_change_the_identity():
    records = gl.Data(np.zeros((4, 1)), np.array([0, 1, 0, 1]))
    recipe = gl.defences.AdvReg(records, 2.0)
    before = describe(recipe)
    assert records.kinds.tolist() == [0, 1, 0, 1]
    assert "kinds" in vars(records)
    assert describe(recipe) == before
    assert describe(gl.defences.AdvReg(records.take(np.arange(4)), 2.0)) == before


def test_a_value_set_in_a_cached_property_counts():
    @dataclass(frozen=True)
    class Scheduled:
        rate: float = 0.1

        @cached_property
        def schedule(self):
            return [self.rate]

        def __call__(self, model, data, rng):
            return model

    first, other = Scheduled(), Scheduled()
    object.__setattr__(other, "schedule", [0.9])
    assert describe(first) != describe(other)


def test_functions_inside_a_function_count():
    first, other = (lambda x: (lambda: x + 1)()), (lambda x: (lambda: x + 2)())
    assert describe(first) != describe(other)
    texts = [f"def train(data, rng):\n    def step(x):\n        return x + {k}\n    return step" for k in (1, 2)]
    made = [{}, {}]
    for text, names in zip(texts, made, strict=True):
        exec(text, names)
    assert describe(made[0]["train"]) != describe(made[1]["train"])


def test_a_class_that_a_function_closes_over_counts_by_what_it_does():
    def factory(depth):
        if depth == 1:

            class Model:
                def fit(self):
                    return 1
        else:

            class Model:
                def fit(self):
                    return 2

        return lambda data, rng: Model()

    assert describe(factory(1)) != describe(factory(2))
    assert describe(factory(1)) == describe(factory(1))


def test_what_holds_itself_comes_to_an_end():
    def factory():
        class Chain:
            def next(self):
                return Chain()

        def again(k):
            return again(k - 1) if k else Chain()

        return again

    assert describe(factory()) == describe(factory())


def test_a_package_that_is_worked_on_counts_by_its_source(tmp_path, monkeypatch):
    import importlib
    import sys

    package = tmp_path / "mylib_of_mine"
    package.mkdir()
    (package / "__init__.py").write_text("__version__ = '0.1'\n")
    monkeypatch.syspath_prepend(tmp_path)
    descriptions = []
    for k in (1, 2):
        (package / "r.py").write_text(f"class Recipe:\n    def train(self):\n        return {k}{'0' * k}\n")
        for name in [name for name in sys.modules if name.startswith("mylib_of_mine")]:
            del sys.modules[name]
        importlib.invalidate_caches()
        import linecache

        linecache.clearcache()
        descriptions.append(describe(importlib.import_module("mylib_of_mine.r").Recipe))
    assert descriptions[0] != descriptions[1]


def test_plain_attributes_of_a_module_count():
    torch = pytest.importorskip("torch")

    class Net(torch.nn.Module):
        def __init__(self, scale):
            super().__init__()
            self.last, self.scale = torch.nn.Linear(2, 2), scale

        def forward(self, x):
            return self.scale * self.last(x)

    first, other, same = (gl.torch_target(Net(scale), train=gl.defences.Fit()).recipe for scale in (1.0, 50.0, 1.0))
    assert first != other
    assert first == same


def test_a_number_of_threads_that_means_nothing_is_left_alone():
    """Scikit-learn warns where one is set that it does not use, and a warning may be an error; others are set to one."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    rng = np.random.default_rng(0)
    data = gl.Data(rng.normal(size=(30, 2)), np.arange(30) % 2)
    for model in (LogisticRegression(), make_pipeline(StandardScaler(), LogisticRegression())):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            fitted = gl.defences.Refit()(model, data, rng)
        assert {value for name, value in fitted.get_params().items() if name.endswith("n_jobs")} == {None}
    assert gl.defences.Refit()(RandomForestClassifier(3, n_jobs=2), data, rng).n_jobs == 1
