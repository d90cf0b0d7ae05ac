"""Full outputs of references: every reference is trained once, and the saved outputs agree with its signals."""

import warnings

import numpy as np
import pytest
from sklearn.neural_network import MLPClassifier

import guestlist as gl
from guestlist import InputError
from guestlist._findings.case_io import rotation_from_store
from guestlist._store import open_store
from guestlist._views import FullOutputsView
from guestlist.errors import NotCollectedError
from guestlist.evidence import FullOutputs, parse_plan

NAMES = ["loss", "nn_nasr"]


@pytest.fixture(scope="module")
def network(blobs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return MLPClassifier((64,), max_iter=150, learning_rate_init=0.01, random_state=0).fit(*blobs[0])


def run(model, blobs, folder, **options):
    options = {"references": 3, "jobs": 1, "evidence": [gl.evidence.FullOutputs()], "attacks": NAMES, **options}
    return gl.audit(model, *blobs, folder=folder, **options)


def model_files(folder, kind):
    return {path.name: path.read_bytes() for path in sorted((folder / kind).glob("model-*.npz"))}


class Counting:
    """A target of which it is known how often a reference was trained."""

    def __init__(self, model):
        self.trained, self.model = 0, model

    def target(self):
        def train(data, rng):
            self.trained += 1
            return (
                MLPClassifier((4,), max_iter=5, random_state=int(rng.integers(2**31))).fit(data.x, data.y).predict_proba
            )

        return gl.function_target(self.model.predict_proba, classes=[0, 1, 2], train=train, recipe="counted")


@pytest.mark.slow
def test_each_reference_is_trained_once_and_signals_are_those_of_an_audit_without_full_outputs(
    network, blobs, tmp_path
):
    counting = Counting(network)
    run(counting.target(), blobs, tmp_path / "a")
    assert counting.trained == 3
    run(counting.target(), blobs, tmp_path / "b", evidence=(), attacks=["loss"])
    assert counting.trained == 6
    assert model_files(tmp_path / "a", "signals") == model_files(tmp_path / "b", "signals")


@pytest.mark.slow
def test_existing_references_give_identical_outputs_and_keep_their_signals(network, blobs, tmp_path):
    run(network, blobs, tmp_path / "a")
    run(network, blobs, tmp_path / "b", evidence=(), attacks=["loss"])
    before = model_files(tmp_path / "b", "signals")
    run(network, blobs, tmp_path / "b")
    assert model_files(tmp_path / "b", "signals") == before
    assert model_files(tmp_path / "b", "evidence/full_outputs") == model_files(tmp_path / "a", "evidence/full_outputs")


@pytest.mark.slow
def test_full_outputs_agree_with_the_signals_in_the_order_of_the_references(network, blobs, tmp_path):
    run(network, blobs, tmp_path / "a")
    store = open_store(tmp_path / "a")
    view, signals = FullOutputs.read(store), rotation_from_store(store).facing(0)
    log_p_of_label = np.stack([signals.outputs, *view.log_p])[:, np.arange(len(signals.labels)), signals.labels]
    np.testing.assert_allclose(-log_p_of_label, signals.values["loss"], rtol=1e-6, atol=1e-7)
    np.testing.assert_array_equal(view.member, signals.reference_member)


@pytest.mark.slow
def test_references_added_later_have_full_outputs_too(network, blobs, tmp_path):
    counting = Counting(network)
    first = run(counting.target(), blobs, tmp_path / "a")
    run(counting.target(), blobs, tmp_path / "a", references=5, evidence=())  # begun before, so it goes on
    assert counting.trained == 5
    assert FullOutputs.read(open_store(tmp_path / "a")).log_p.shape == (5, 440, 3)
    # With fewer references only the first ones count, in the full outputs as in the signals.
    again = run(counting.target(), blobs, tmp_path / "a", references=3)
    assert counting.trained == 5
    assert again.document()["outcomes"] == first.document()["outcomes"]


@pytest.mark.slow
def test_full_outputs_are_added_with_more_references(network, blobs, tmp_path):
    counting = Counting(network)
    result = run(counting.target(), blobs, tmp_path / "a", references=gl.UntilWidth(0.01, start=8, at_most=12))
    assert result.references.count == counting.trained == 12
    assert len(FullOutputs.read(open_store(tmp_path / "a")).member) == 12


@pytest.mark.slow
@pytest.mark.long
def test_one_and_two_jobs_give_the_same_bytes(tree, blobs, tmp_path):
    for jobs in (1, 2):
        run(tree, blobs, tmp_path / str(jobs), jobs=jobs, attacks=["loss"])
    assert model_files(tmp_path / "1", "evidence/full_outputs") == model_files(tmp_path / "2", "evidence/full_outputs")


def test_a_view_of_some_records_and_some_references():
    log_p = np.arange(18.0).reshape(3, 3, 2)
    view = FullOutputsView(log_p, np.arange(9).reshape(3, 3) % 2 == 0)
    records, references = np.array([2, 0]), np.array([2, 0])
    part = view.take(records).take_references(references)
    np.testing.assert_array_equal(part.log_p, log_p[[2, 0]][:, records])
    np.testing.assert_array_equal(part.member, view.member[references][:, records])
    np.testing.assert_array_equal(view.take_references(slice(None)).log_p, log_p)
    assert len(view.take_references(slice(1)).member) == 1


@pytest.mark.parametrize(
    ("scale", "outputs", "smallest"),
    [(gl.models.Logits(), [900.0, 0.0], -900.0), (gl.models.Probabilities(0.005), [1.0, 0.0], np.log(0.005))],
)
def test_logarithms_of_probabilities(scale, outputs, smallest):
    np.testing.assert_allclose(scale.log_probabilities(np.array([outputs])), [[0.0, smallest]], rtol=1e-6)


def test_missing_outputs_are_reported(network, blobs):
    with pytest.raises(NotCollectedError, match=r"evidence=\[gl\.evidence\.FullOutputs\(\)\]"):
        gl.audit(network, *blobs, references=2, attacks=["nn_shokri"])
    target = gl.function_target(network.predict_proba, classes=[0, 1, 2])
    with pytest.raises(InputError, match="has no training recipe"):
        gl.audit(target, *blobs, references=0, evidence=[gl.evidence.FullOutputs()])
    assert parse_plan("full_outputs") == gl.evidence.FullOutputs()
