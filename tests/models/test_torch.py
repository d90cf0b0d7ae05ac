import subprocess
import sys

import numpy as np
import pytest

import guestlist as gl
from guestlist import InputError
from guestlist.data import as_data

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def network(blobs):
    x, y = blobs[0]
    module = torch.nn.Sequential(torch.nn.Linear(5, 64), torch.nn.ReLU(), torch.nn.Linear(64, 3))
    return gl.defences.Fit(epochs=60, learning_rate=0.02)(module, gl.Data(x, y), np.random.default_rng(0))


@pytest.mark.slow
def test_a_module_with_a_recipe_is_audited(network, blobs):
    target = gl.torch_target(network, train=gl.defences.Fit(epochs=60, learning_rate=0.02))
    results = gl.audit(target, *blobs, references=8, jobs=1, attacks=["loss", "lira"])
    assert results.attack("lira").auc.low > 0.5
    assert results.subject.accuracy_members > results.subject.accuracy_nonmembers


@pytest.mark.slow
@pytest.mark.long
def test_one_and_two_jobs_give_the_same_numbers(network, blobs):
    target = gl.torch_target(network, train=gl.defences.Fit(epochs=2))
    first, second = (gl.audit(target, *blobs, references=4, jobs=jobs) for jobs in (1, 2))
    assert first.document() == second.document()


@pytest.mark.slow
def test_a_function_may_train_and_its_labels_may_be_words(network, blobs):
    words = np.array(["low", "mid", "high"])
    members, nonmembers = ((x, words[y]) for x, y in blobs)

    def train(data, rng):
        assert set(data.y) <= set(words)
        positions = np.array([list(words).index(label) for label in data.y])
        return gl.defences.Fit(epochs=1)(network, gl.Data(data.x, positions), rng)

    target = gl.torch_target(network, classes=words, train=train)
    assert gl.audit(target, members, nonmembers, references=4, jobs=1).references.count == 4


def test_references_start_from_fresh_parameters(network, blobs):
    x, y = blobs[0]
    target = gl.torch_target(network, train=gl.defences.Fit(epochs=1, learning_rate=1e-12))
    untrained = target.can["train"](as_data((x, y), side="members"), np.random.default_rng(0))
    accuracy = (untrained(x).argmax(axis=1) == y).mean()
    assert accuracy < (target.predict(x).argmax(axis=1) == y).mean() - 0.2


@pytest.mark.slow
def test_parameters_that_cannot_be_initialised_are_refused(blobs):
    class Scale(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = torch.nn.Parameter(torch.ones(5))
            self.last = torch.nn.Linear(5, 3)

        def forward(self, x):
            return self.last(x * self.scale)

    target = gl.torch_target(Scale(), train=gl.defences.Fit(epochs=1))
    with pytest.raises(gl.AuditError, match="Scale has parameters but no reset_parameters"):
        gl.audit(target, *blobs, references=4, jobs=1)


def test_errors_name_the_wrapper(network, blobs):
    with pytest.raises(InputError, match=r"gl\.torch_target"):
        gl.audit(network, *blobs)
    with pytest.raises(InputError, match=r"Expected a torch\.nn\.Module"):
        gl.torch_target("network")
    with pytest.raises(gl.AuditError, match="no training recipe"):
        gl.audit(gl.torch_target(network), *blobs, references=4)


@pytest.mark.slow
def test_torch_is_loaded_only_with_a_module():
    code = (
        "import sys, numpy as np, guestlist as gl; from sklearn.linear_model import LogisticRegression as L;"
        "x = np.random.default_rng(0).normal(size=(60, 2)); y = (x[:, 0] > 0).astype(int);"
        "import warnings; warnings.simplefilter('ignore');"
        "gl.audit(L().fit(x[:30], y[:30]), (x[:30], y[:30]), (x[30:], y[30:]), references=4, jobs=1);"
        "gl.torch_target; print([m for m in ('torch', 'matplotlib', 'ray') if m in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_the_users_module_is_left_as_it_was_and_double_precision_is_kept(blobs):
    module = torch.nn.Sequential(torch.nn.Linear(5, 3), torch.nn.Dropout(0.5)).double().train()
    outputs = gl.torch_target(module, classes=[0, 1, 2]).predict(blobs[0][0].astype(int))
    assert module.training
    assert outputs.shape == (240, 3)
