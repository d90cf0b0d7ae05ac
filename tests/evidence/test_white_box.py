"""White-box evidence: exact gradients of each record, and only the membership that the attacker knows."""

import numpy as np
import pytest

import guestlist as gl
from guestlist import InputError
from guestlist._store import open_store
from guestlist._views import WhiteBoxView
from guestlist.errors import FolderError
from guestlist.evidence import WhiteBox, parse_plan
from guestlist.models.scales import cross_entropy, margin
from guestlist.models.white_box import gradient_norms, layers, principal_components

pytestmark = pytest.mark.usefixtures("in_the_order_given")

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def network(blobs):
    return gl.defences.Fit(epochs=40, learning_rate=0.02)(
        gl.defences.mlp(5, 3, hidden=(64,)), gl.Data(*blobs[0]), np.random.default_rng(0)
    )


def norms_one_by_one(module, x, labels):
    """Slow and obvious: one backward pass per record."""
    norms = np.zeros((len(labels), len(layers(module))))
    parameters = dict(module.named_parameters())
    for i, label in enumerate(labels):
        module.zero_grad()
        torch.nn.functional.cross_entropy(module(x[i : i + 1]), torch.tensor([int(label)])).backward()
        for j, names in enumerate(layers(module).values()):
            norms[i, j] = np.sqrt(sum(float(parameters[name].grad.double().square().sum()) for name in names))
    return norms


class Scaled(torch.nn.Module):
    """Has its own parameters next to those of a layer, and one that is not trained."""

    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.tensor([1.0, 2.0, 3.0]))
        self.fixed = torch.nn.Parameter(torch.ones(3), requires_grad=False)
        self.normal, self.last = torch.nn.BatchNorm1d(3), torch.nn.Linear(3, 2)

    def forward(self, x):
        return self.last(torch.relu(self.normal(x * self.scale) + self.fixed))


@pytest.mark.parametrize("kind", ["mlp", "cnn", "own"])
def test_gradient_norms_equal_those_of_one_backward_pass_per_record(kind):
    torch.manual_seed(0)
    module, shape = {
        "mlp": (gl.defences.mlp(4, 2, hidden=(8, 6)), (4,)),
        "cnn": (gl.defences.cnn(8, 2, filters=(3,)), (1, 8, 8)),
        "own": (Scaled(), (3,)),
    }[kind]
    module, x = module.double().eval(), torch.randn(7, *shape, dtype=torch.float64)
    labels = np.arange(7) % 2
    np.testing.assert_allclose(gradient_norms(module, x, labels), norms_one_by_one(module, x, labels), rtol=1e-9)
    assert len(layers(module)) == {"mlp": 3, "cnn": 2, "own": 3}[kind]


def test_features_match_their_names(network, blobs):
    x, y = blobs[0]
    target = gl.torch_target(network.train())
    norms = target.can["white_box"](x, y)
    assert network.training  # left as it was
    column = {name: norms.features[:, i] for i, name in enumerate(norms.names)}
    logits = target.predict(x)
    np.testing.assert_allclose(column["loss"], cross_entropy(logits, y), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(column["margin"], margin(logits, y), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(column["logit 1"], logits.max(axis=1), rtol=1e-6)
    with torch.no_grad():
        hidden = network[:2](torch.as_tensor(x, dtype=torch.float32)).numpy()
    np.testing.assert_allclose(column["norm of hidden"], np.linalg.norm(hidden, axis=1), rtol=1e-5)
    expected = norms_one_by_one(network.eval(), torch.as_tensor(x[:20], dtype=torch.float32), y[:20])
    np.testing.assert_allclose(column["gradient of 0"][:20], expected[:, 0], rtol=1e-3, atol=1e-6)
    assert sum(name.startswith("hidden ") for name in norms.names) == 32  # of 64: principal components


def test_principal_components_keep_the_most_variance():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(200, 40)) * np.geomspace(10, 0.01, 40)
    components = principal_components(values, 5)
    expected = np.linalg.svd(values - values.mean(axis=0), full_matrices=False)[1][:5]
    np.testing.assert_allclose(np.linalg.norm(components, axis=0), expected, rtol=1e-9)
    np.testing.assert_array_equal(principal_components(values[:, :5], 5), values[:, :5])


@pytest.mark.slow
def test_the_same_share_of_both_sets_is_known_and_other_membership_is_hidden(network, blobs, tmp_path):
    rng = np.random.default_rng(1)
    population = rng.normal(size=(50, 5)), rng.integers(3, size=50)
    target = gl.torch_target(network)
    gl.audit(
        target, *blobs, population, references=0, evidence=[gl.evidence.WhiteBox(known=0.25)], folder=tmp_path / "a"
    )
    view = WhiteBox.read(open_store(tmp_path / "a"))
    assert view.known[:240].sum() == 60
    assert view.known[240:440].sum() == 50
    assert not view.known[440:].any()
    np.testing.assert_array_equal(view.member, view.known & (np.arange(490) < 240))
    np.testing.assert_array_equal(np.isnan(view.features).any(axis=1), np.arange(490) >= 440)
    part = view.take(np.array([3, 1]))
    np.testing.assert_array_equal(part.features, view.features[[3, 1]])
    with pytest.raises(FolderError, match=r"known=0\.25"):
        gl.audit(target, *blobs, population, references=0, evidence=[gl.evidence.WhiteBox()], folder=tmp_path / "a")
    with pytest.raises(ValueError, match="known records only"):
        WhiteBoxView(view.features, view.names, view.known, np.ones(490, dtype=bool))


@pytest.mark.slow
def test_models_without_accessible_parameters_are_refused(tree, network, blobs):
    with pytest.raises(InputError, match="is not a torch target"):
        gl.audit(tree, *blobs, references=0, evidence=[gl.evidence.WhiteBox()])
    with pytest.raises(InputError, match="of 200 nonmembers leaves none"):
        gl.audit(gl.torch_target(network), *blobs, references=0, evidence=[gl.evidence.WhiteBox(known=0.0024)])
    frozen = torch.nn.Sequential(torch.nn.Linear(5, 3).requires_grad_(False))
    with pytest.raises(InputError, match="no trainable parameters"):
        gl.audit(gl.torch_target(frozen), *blobs, references=0, evidence=[gl.evidence.WhiteBox()])
    with pytest.raises(ValueError, match="known=1"):
        gl.evidence.WhiteBox(known=1)
    assert parse_plan("white_box:known=0.3") == gl.evidence.WhiteBox(known=0.3)
