"""Test which defences are compatible with which targets, and with which options."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier

import guestlist as gl
from guestlist._audit.defence_candidates import AGAIN, TRIALS, Situation, candidates
from guestlist.defences import DEFENCES
from guestlist.models import as_target


def plan(target, *names, members=400, **options):
    return candidates(Situation(as_target(target), members, **options), names or None)


def test_every_row_of_the_table_is_tried_in_some_way():
    assert set(TRIALS) == set(DEFENCES) - {"fit", "refit"}


def test_a_k_nn_model_is_tried_with_more_neighbours(blobs):
    candidates = plan(KNeighborsClassifier().fit(*blobs[0]))
    names = [candidate.name for candidate in candidates]
    assert names[:3] == [AGAIN, "regularised n_neighbors=15", "regularised n_neighbors=45"]
    assert {"removal share=0.2", "rounded digits=1", "top_k k=1", "label_only", "temperature temperature=2"} <= set(
        names
    )
    (unfit,) = [candidate for candidate in candidates if candidate.unfit]
    assert unfit.name == "memguard"
    assert "held_out" in unfit.unfit
    assert len({candidate.folder for candidate in candidates}) == len(candidates)
    assert len({candidate.describe() for candidate in candidates}) == len(candidates)


def test_a_regression_has_no_output_defences():
    x = np.random.default_rng(0).normal(size=(50, 3))
    names = [candidate.name for candidate in plan(Ridge().fit(x, x[:, 0]), risks=("leverage",))]
    assert names == [
        AGAIN,
        *(f"regularised alpha={a}" for a in (10, 100, 1000)),
        "removal share=0.05",
        "removal share=0.2",
    ]
    candidates = plan(LinearRegression().fit(x, x[:, 0]), "regularised", "rounded", "l2", "removal", risks=())
    reasons = {candidate.name: candidate.unfit for candidate in candidates}
    assert "LinearRegression" in reasons["regularised"]
    assert "predicts values" in reasons["rounded"]
    assert "torch module" in reasons["l2"]
    assert "mu, risk_score" in reasons["removal"]


def test_two_classes_leave_nothing_to_hide_behind_the_first():
    y = np.arange(20) % 2
    (_, unfit) = plan(KNeighborsClassifier().fit(np.arange(20.0)[:, None], y), "top_k")
    assert "the model has two" in unfit.unfit


def test_a_function_is_unchanged_and_output_defences_train_nothing(blobs):
    model = KNeighborsClassifier().fit(*blobs[0])

    def train(data, rng):
        return KNeighborsClassifier().fit(data.x, data.y).predict_proba

    names = {
        candidate.name for candidate in plan(gl.function_target(model.predict_proba, classes=[0, 1, 2], train=train))
    }
    assert {AGAIN, "removal share=0.05", "label_only"} <= names
    assert not any("regularised" in name for name in names)
    outputs = [candidate.name for candidate in plan(gl.models.with_output_defence(model, gl.defences.Rounded(1)))]
    assert AGAIN not in outputs
    assert "label_only" in outputs


class TestTorch:
    @pytest.fixture(autouse=True)
    def torch(self):
        pytest.importorskip("torch")

    def target(self, fit):
        return gl.torch_target(gl.defences.mlp(5, 3, hidden=(8,)), train=fit)

    def test_options_are_those_of_the_training_it_has(self, blobs):
        fit = gl.defences.Fit(epochs=7, batch_size=40, learning_rate=0.02)
        held_out = gl.Data(*blobs[1])
        candidates = {candidate.name: candidate for candidate in plan(self.target(fit), held_out=held_out)}
        assert candidates["l2 weight=0.001"].method == gl.defences.Fit(7, 40, 0.02, objective=gl.defences.L2(0.001))
        assert candidates["dropout rate=0.5"].method.fit == fit
        assert candidates["early_stopping"].method.fit == fit
        private = candidates["dp_sgd noise=1"].method
        assert (private.rate, private.epochs, private.learning_rate, private.optimizer) == (0.1, 7, 0.02, "adam")
        assert candidates["adv_reg"].method.objective.held_out.y.dtype.kind == "i"
        assert not any(value.unfit for value in candidates.values())
        assert not {"selena", "fgsm_noise", "distillation"} & set(
            candidates
        )  # by name: they take long, or only add noise
        assert len(plan(self.target(fit), "selena")) == 2

    def test_what_has_an_objective_or_another_recipe_keeps_it(self):
        def train(data, rng):
            return gl.defences.Fit()(gl.defences.mlp(5, 3), data, rng)

        smooth = self.target(gl.defences.Fit(objective=gl.defences.LabelSmoothing(0.1)))
        assert "LabelSmoothing" in plan(smooth, "l2")[1].unfit
        assert not plan(smooth, "early_stopping")[1].unfit
        assert "Function" in plan(self.target(train), "dropout")[1].unfit

    def test_a_target_is_retrained_by_its_own_recipe_or_another(self, blobs):
        target = self.target(gl.defences.Fit(epochs=2))
        members = gl.Data(blobs[0][0].astype(np.float32), blobs[0][1])
        retrain = target.can["retrain"]
        again = retrain(None, members, np.random.default_rng(0))
        other = retrain(gl.defences.Fit(epochs=1), members, np.random.default_rng(0))
        assert again.recipe == target.recipe != other.recipe
        expected = gl.defences.Fit(epochs=2)(gl.defences.mlp(5, 3, hidden=(8,)), members, np.random.default_rng(0))
        reference = target.can["train"](members, np.random.default_rng(0))
        np.testing.assert_array_equal(again.predict(members.x), reference(members.x))
        np.testing.assert_allclose(
            again.predict(members.x), gl.torch_target(expected).predict(members.x), rtol=1e-5, atol=1e-6
        )
