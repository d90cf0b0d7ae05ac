"""Outputs, labels and names in forms that are rare but sound: the same audit, or a sentence."""

import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import guestlist as gl
from guestlist import InputError
from guestlist._store import row_hashes
from guestlist.data import as_data, encode
from guestlist.models import as_target
from guestlist.models.target import by_class

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3))
Y = (X[:, 0] + RNG.normal(size=120) > 0).astype(int)
NAMES = np.array(["no", "yes"])[Y]
HALF = 60


class Tree(DecisionTreeClassifier):
    """``form`` says how classes or probabilities come back."""

    def __init__(self, form="", max_depth=4, random_state=0):
        super().__init__(max_depth=max_depth, random_state=random_state)
        self.form = form

    def fit(self, x, y):
        super().fit(x, y)
        if self.form == "list":
            self.classes_ = self.classes_.tolist()
        return self

    def predict_proba(self, x):
        classes, self.classes_ = self.classes_, np.asarray(self.classes_)
        probabilities = super().predict_proba(x)
        self.classes_ = classes
        if self.form == "frame":
            return pd.DataFrame(probabilities[:, ::-1], columns=classes[::-1])
        return probabilities


@pytest.fixture
def losses(tmp_path):
    """A function from labels to (models, records) losses of the target and a reference."""
    numbers = itertools.count()

    def collected(y, form="", x=X, fitted_on=None):
        model = Tree(form).fit(X[:HALF], (y if fitted_on is None else fitted_on)[:HALF])
        sides = (x[:HALF], y[:HALF]), (x[HALF:], y[HALF:])
        folder = tmp_path / str(next(numbers))
        case = gl.collect(model, *sides, folder=folder, references=1, jobs=1, progress=False, baseline=False)
        return np.stack([case.view.target("loss"), *case.view.reference("loss")])

    return collected


def test_columns_of_a_table_of_probabilities_are_matched_by_name(losses):
    assert np.array_equal(losses(NAMES, "frame"), losses(NAMES))
    assert np.array_equal(losses(Y, "frame"), losses(Y))


def test_tables_of_outputs():
    p, classes = np.array([[0.1, 0.9], [0.7, 0.3]]), np.array(["no", "yes"])
    for columns in (["yes", "no"], ["p_yes", "p_no"], ["P(yes", "P(no"]):
        assert np.array_equal(by_class(pd.DataFrame(p, columns=columns), classes), p[:, ::-1])
    for columns in (None, ["no", "yes"], ["is not_no", "is_yes"]):
        assert np.array_equal(by_class(pd.DataFrame(p, columns=columns), classes), p)
    # A name that ends as another does belongs to the class that it is equal to.
    assert np.array_equal(
        by_class(pd.DataFrame(p, columns=["yes", "not yes"]), np.array(["not yes", "yes"])), p[:, ::-1]
    )
    assert np.array_equal(by_class(pd.DataFrame(p), np.array([1, 2])), p)  # counted, not named
    assert np.array_equal(by_class(pd.DataFrame(p, columns=[1, 0]), np.array([0, 1])), p[:, ::-1])
    for columns in (["a", "b"], ["no", "no"]):
        with pytest.raises(InputError, match=r"cannot match them\. Name the columns after the classes"):
            by_class(pd.DataFrame(p, columns=columns), classes)


def test_a_function_may_return_a_table_and_so_may_its_references():
    def table(x):
        return pd.DataFrame({"yes": np.linspace(0.1, 0.8, len(x)), "no": np.linspace(0.9, 0.2, len(x))})

    target = gl.function_target(table, classes=["no", "yes"], train=lambda data, rng: table)
    for predict in (target.predict, target.can["train"](None, None)):
        assert predict(X)[0].tolist() == [0.9, 0.1]


def test_classes_as_a_plain_list(losses):
    assert np.array_equal(losses(NAMES, "list"), losses(NAMES))
    several = Tree()
    several.classes_ = [np.array([0, 1]), np.array([0, 1])]
    with pytest.raises(InputError, match="several outputs"):
        as_target(several)


@pytest.mark.parametrize("kind", [bool, int])
def test_labels_in_an_array_of_objects(kind, losses):
    y = Y.astype(kind)
    labels = as_data((X, y.astype(object)), side="members").y
    assert labels.dtype == y.dtype
    assert np.array_equal(labels, y)
    assert np.array_equal(losses(y.astype(object), fitted_on=y), losses(y))
    column = pd.DataFrame(X).rename(columns=str).assign(y=y.astype(object))
    assert as_data(column, side="members", label="y").y.dtype == y.dtype


def test_labels_that_are_no_numbers_stay_objects():
    for y in (np.array([1, "a"] * 60, dtype=object), np.array([10**30, 1] * 60, dtype=object)):
        assert as_data((X, y), side="members").y.dtype == object
    assert as_data(gl.Data(X, Y.astype(bool).astype(object)), side="members").y.dtype == bool


@pytest.mark.parametrize("kind", [">i8", ">f4", ">U3"])
def test_values_in_another_byte_order(kind, losses):
    y = NAMES.astype(kind) if "U" in kind else Y.astype(kind)
    native = y.astype(y.dtype.newbyteorder("="))
    for fitted_on in (y, native):
        computed = losses(y, x=X.astype(">f8"), fitted_on=fitted_on)
        assert np.array_equal(computed, losses(native, fitted_on=native))
    assert np.array_equal(encode(y, np.unique(y)), encode(native, np.unique(native)))


def test_a_table_in_another_byte_order():
    table = pd.DataFrame({"a": X[:, 0].astype(">f8"), "b": X[:, 1]}).assign(y=pd.Series(Y.astype(">i4")))
    data = as_data(table, side="members", label="y")
    assert data.y.dtype.isnative
    assert all(kind.isnative for kind in data.x.dtypes)
    assert np.array_equal(data.x["a"], X[:, 0])


def test_half_of_a_surrogate_pair_is_reported():
    table = pd.DataFrame(X).rename(columns=str).assign(y=Y)
    table["who"] = pd.Series([f"r\udc80{k}" for k in range(120)], dtype=object)
    table["sex"] = pd.Series(["u", "v\ud800"] * 60, dtype=object)
    for options in ({"id": "who"}, {"person": "who"}):
        with pytest.raises(InputError, match="'who' has text that is not valid Unicode"):
            as_data(table, side="members", label="y", **options)
    with pytest.raises(InputError, match="'sex' has text that is not valid Unicode"):
        as_data(table, side="members", label="y", group=["sex"])
    with pytest.raises(InputError, match="'id' of members has text that is not valid Unicode"):
        as_data(table.set_index("who")[["0", "y"]], side="members", label="y")
    with pytest.raises(InputError, match="'g' of members has text that is not valid Unicode"):
        as_data(gl.Data(X, Y, groups={"g": table["sex"].to_numpy()}), side="members")
    with pytest.raises(InputError, match="'ids' has text that is not valid Unicode"):
        gl.Predictions(np.full((2, 2), 0.5), [0, 1], [True, False], ids=np.array(["a\ud800", "b"], dtype=object))
    y = np.array(["a", "b\ud800"], dtype=object)[Y]
    for labels in (y, y.astype(str)):
        with pytest.raises(InputError, match="'label' of members has text that is not valid Unicode"):
            as_data((X, labels), side="members")
    with pytest.raises(InputError, match="records hold text that is not valid Unicode"):
        row_hashes(gl.Data(y, Y))


@pytest.mark.slow
def test_numpy_that_raises_changes_nothing():
    sides = (X[:HALF], Y[:HALF]), (X[HALF:], Y[HALF:])
    model = Tree().fit(*sides[0])
    options = {"references": 2, "jobs": 1, "progress": False}
    plain = gl.audit(model, *sides, **options)
    before = np.seterr(all="raise")
    try:
        raising = gl.audit(model, *sides, **options)
        assert np.geterr()["under"] == "raise"  # it is the user's own again
        raising.summary()
        gl.compare({"first": plain, "second": raising})
        played = gl.play(gl.games.Sides(50, 50), Tree(), (X, Y), **options)
    finally:
        np.seterr(**before)
    pd.testing.assert_frame_equal(raising.attacks, plain.attacks)
    pd.testing.assert_frame_equal(played.attacks, gl.play(gl.games.Sides(50, 50), Tree(), (X, Y), **options).attacks)
