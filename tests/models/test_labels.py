"""Models that output only labels: correctness and ``label_only`` run, and the others explain why they do not."""

import numpy as np
import pandas as pd
import pytest

import guestlist as gl
from guestlist import InputError
from guestlist.models import Labels, as_target, predict_outputs
from guestlist.risks import leave_one_out


@pytest.fixture(scope="module")
def voting(blobs):
    from sklearn.ensemble import VotingClassifier
    from sklearn.tree import DecisionTreeClassifier

    trees = [(f"tree {k}", DecisionTreeClassifier(random_state=k, max_features=2)) for k in range(3)]
    return VotingClassifier(trees, voting="hard").fit(blobs[0][0], np.array(["a", "b", "c"])[blobs[0][1]])


@pytest.fixture(scope="module")
def sides(blobs):
    return [(x, np.array(["a", "b", "c"])[y]) for x, y in blobs]


@pytest.mark.slow
def test_a_hard_vote_is_audited_by_its_labels(voting, sides):
    results = gl.audit(
        voting, *sides, references=4, evidence=[gl.evidence.Perturbed(8)], jobs=1, baseline=False, progress=False
    )
    assert set(results.attacks["attack"]) == {"correctness", "label_only"}
    assert results.headline.name in ("correctness", "label_only")
    assert (results.attacks["auc"] > 0.6).all()
    issues = {check.code for check in results.checks if check.state == "issue"}
    assert "GL127" in issues
    assert "GL104" not in issues
    assert "predicts a class without a probability" in " ".join(results.summary(verbose=True).split())
    assert "confidence" not in results.records


@pytest.mark.slow
def test_perturbed_copies_are_queried_by_default(voting, sides):
    results = gl.audit(voting, *[(x[:40], y[:40]) for x, y in sides], references=0, baseline=False)
    assert set(results.attacks["attack"]) == {"correctness", "label_only"}


def test_other_attacks_explain_why_they_do_not_run(voting, sides):
    with pytest.raises(InputError, match="'lira' reads 'margin', and the target gives only 'correct'"):
        gl.audit(voting, *sides, references=4, attacks=["lira"])
    with pytest.raises(InputError, match="labels"):
        gl.audit(voting, *sides, references=0, evidence=[gl.evidence.Quantiles(level=0.5)])
    with pytest.raises(InputError, match="labels"):
        leave_one_out(voting, sides[0], rows=[0])


def test_outputs_have_one_column_per_class(voting, sides):
    target = as_target(voting)
    outputs = predict_outputs(target.predict, sides[1][0], 3, target.scale)
    assert target.scale == Labels()
    assert (target.classes[outputs.argmax(axis=1)] == voting.predict(sides[1][0])).all()
    with pytest.raises(InputError, match="1 of 2 outputs are not exactly one class"):
        Labels().check(np.array([[1.0, 0.0], [0.7, 0.3]]))
    with pytest.raises(InputError, match="only labels"):
        Labels().hinge(outputs, np.zeros(len(outputs), dtype=int))


def test_a_reference_without_a_class_predicts_the_others(sides):
    from sklearn.svm import LinearSVC

    class Silent(LinearSVC):
        """Outputs only labels."""

        decision_function = property()

        def predict(self, x):
            return self.classes_[np.argmax(x @ self.coef_.T + self.intercept_, axis=1)]

    (x, y), _ = sides
    target = as_target(Silent().fit(x, y))
    assert target.scale == Labels()
    selected = y != "b"
    outputs = target.can["train"](gl.Data(x[selected], y[selected]), np.random.default_rng(0))(x)
    assert not outputs[:, 1].any()


def test_a_function_may_return_labels(voting, sides):
    def train(data, rng):
        return type(voting)(voting.estimators).fit(data.x, data.y).predict

    target = gl.function_target(voting.predict, classes=["a", "b", "c"], train=train, scale="labels")
    x, y = sides[0]
    assert predict_outputs(target.predict, x, 3, target.scale).sum() == len(x)
    assert target.can["train"](gl.Data(x, y), np.random.default_rng(0))(x).shape == (len(x), 3)
    wrong = gl.function_target(lambda x: np.repeat("d", len(x)), classes=["a", "b"], scale="labels")
    with pytest.raises(InputError, match="predicts 'd'"):
        wrong.predict(x)


def test_copies_that_cannot_be_read_are_reported_before_the_long_work(sides):
    """A label-only model of integers that encode categories: evidence that was not requested does not stop the audit."""

    class Strict:
        classes_ = np.array([0, 1])

        def get_params(self, deep=True):
            return {}

        def set_params(self, **options):
            return self

        def fit(self, x, y):
            return self

        def predict(self, x):
            if not set(np.unique(x)) <= {1, 5, 9}:
                raise ValueError("unknown category")
            return (np.asarray(x)[:, 0] > 5).astype(int)

    rng = np.random.default_rng(0)
    x = pd.DataFrame({name: rng.choice([1, 5, 9], 60) for name in "abcdefgh"})
    halves = [(part, (part["a"] > 5).astype(int).to_numpy()) for part in (x[:30], x[30:])]
    results = gl.audit(Strict(), *halves, references=0, baseline=False)
    assert list(results.attacks["attack"]) == ["correctness"]
    with pytest.raises(InputError, match="cannot read perturbed records"):
        gl.audit(Strict(), *halves, references=0, evidence=[gl.evidence.Perturbed()])
