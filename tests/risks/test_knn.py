"""SHAPr and other K-NN risks: from a case as by hand, and the text on the page."""

import numpy as np
import pytest

import guestlist as gl
from guestlist import InputError
from guestlist.knn import Knn, self_shapley, self_waka
from guestlist.risks import RISKS, risks_of
from oracles_neighbours import in_row_order, knn_shapley_recursion


@pytest.fixture(scope="module")
def predictions():
    """120 records of 3 classes; the target is surer of its 70 members."""
    rng = np.random.default_rng(0)
    labels, member = rng.integers(3, size=120), np.arange(120) < 70
    logits = rng.normal(size=(120, 3))
    logits[np.arange(120), labels] += 1 + member
    outputs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return gl.Predictions(outputs, labels, member)


@pytest.fixture(scope="module")
def case(predictions, tmp_path_factory):
    """The case also has a shadow model with separate records, on which the target is not queried."""
    folder = tmp_path_factory.mktemp("audits") / "a"
    shadow = gl.Predictions(predictions.outputs[::-1], predictions.labels[::-1], predictions.member)
    gl.audit_predictions(predictions, shadow=shadow, attacks=["loss"], folder=folder, baseline=False)
    return gl.read_case(folder)


def placed(case, values, predictions):
    """Values of the members in the rows of the case; NaN elsewhere."""
    of_members = np.full(len(predictions.member), np.nan)
    of_members[predictions.member] = values
    rows, evaluated = case.records["row"].to_numpy(), case.truth.evaluated
    return np.where(evaluated, of_members[np.minimum(rows, len(of_members) - 1)], np.nan)


def test_shapr_by_the_published_recursion(case, predictions):
    x, y, member = predictions.outputs, predictions.labels, predictions.member
    sides = x[member], y[member], x[~member], y[~member]
    expected = in_row_order(*sides, lambda match: knn_shapley_recursion(match, 5)).mean(axis=0)
    np.testing.assert_allclose(gl.risks.shapr(*sides), expected, atol=1e-12)
    np.testing.assert_allclose(risks_of(case, ["shapr"])["shapr"], placed(case, expected, predictions), atol=1e-9)


def test_shapr_adds_up_to_the_accuracy_of_a_knn_model(case, predictions):
    x, y, member = predictions.outputs, predictions.labels, predictions.member
    right = []
    for i in np.flatnonzero(~member):
        near = np.argsort(np.square(x[member] - x[i]).sum(axis=1))[:5]
        right.append((y[member][near] == y[i]).mean())
    assert np.nansum(risks_of(case, ["shapr"])["shapr"]) == pytest.approx(np.mean(right))


def test_a_lone_outlier_has_a_low_value():
    """Its neighbours are all of another class, so that its own label helps no other record."""
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(60, 2)), np.zeros(60, int)
    x[30:], y[30:], y[0] = x[30:] + 8, 1, 1
    values = gl.risks.shapr(x, y, rng.normal(size=(40, 2)), np.zeros(40, int))
    assert values[0] < 0 < values[1:30].min()


@pytest.mark.parametrize(("name", "value"), [("self_waka", self_waka), ("self_shapley", self_shapley)])
def test_values_of_a_record_for_itself(name, value, case, predictions):
    member = predictions.member
    expected = value(predictions.outputs[member], predictions.labels[member], Knn(5))
    np.testing.assert_allclose(risks_of(case, [name])[name], placed(case, expected, predictions), atol=1e-9)


def test_they_are_computed_only_on_request(case):
    by_name = {name for name, row in RISKS.items() if not row.default}
    assert by_name == {"shapr", "self_waka", "self_shapley"}
    assert not by_name & set(risks_of(case))
    with pytest.raises(InputError, match=r"no risk 'shaper'.* shapr"):
        risks_of(case, ["shaper"])
