"""Training with differential privacy: clipping against a loop over records, distributions of batches and noise, known epsilon."""

import copy
import math
from functools import partial

import numpy as np
import pytest
from scipy.stats import binom, chisquare, kstest

import guestlist as gl
from guestlist import InputError
from guestlist.defences.dp_sgd import by_layers, by_records, clipped_sums, knows, poisson_batches, trusted
from guestlist.privacy import gaussian_mu

torch = pytest.importorskip("torch")
nn = torch.nn


def losses(outputs, y):
    return nn.functional.cross_entropy(outputs, y, reduction="none")


class Twice(nn.Module):
    """One layer that is used two times."""

    def __init__(self):
        super().__init__()
        self.inner, self.last = nn.Linear(6, 6), nn.Linear(6, 3)

    def forward(self, x):
        return self.last(torch.tanh(self.inner(torch.tanh(self.inner(x)))))


class Folded(nn.Module):
    """Records are split into rows, and the output of a record is the mean over its rows."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(6, 4), nn.Linear(4, 3)

    def forward(self, x):
        return self.b(torch.tanh(self.a(x.reshape(-1, 6)))).reshape(len(x), -1, 3).mean(1)


class Turned(nn.Module):
    """Places come first, as recurrent layers have them."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(6, 4), nn.Linear(4, 3)

    def forward(self, x):
        return self.b(torch.tanh(self.a(x.transpose(0, 1))).mean(0))


class Behind(nn.Module):
    """A layer's weight is used behind its back."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(6, 6), nn.Linear(6, 3)

    def forward(self, x):
        return self.b(torch.tanh(self.a(x)) + nn.functional.linear(x, self.a.weight))


class Aside(nn.Module):
    """A layer is evaluated, and its output is not used."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(6, 3), nn.Linear(6, 3)

    def forward(self, x):
        self.b(x)
        return self.a(x)


class Frozen(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(6, 5), nn.Linear(5, 3)
        self.first.weight.requires_grad_(False)

    def forward(self, x):
        return self.last(torch.relu(self.first(x)))


class InPlace(nn.Module):
    """A function works in place on a layer's output; no part of the module says so."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(6, 5), nn.Linear(5, 3)

    def forward(self, x):
        return self.b(torch.relu_(self.a(x)))


MODULES = {
    "perceptron": (lambda: gl.defences.mlp(6, 3, hidden=(8, 5)), (6,), True),
    "no bias": (lambda: nn.Sequential(nn.Linear(6, 4, bias=False), nn.Tanh(), nn.Linear(4, 3)), (6,), True),
    "sequence": (lambda: nn.Sequential(nn.Linear(6, 4), nn.ReLU(), nn.Flatten(), nn.Linear(20, 3)), (5, 6), True),
    "convolution": (lambda: gl.defences.cnn(10, 3, channels=2, filters=(4, 5)), (2, 10, 10), True),
    "more filters than inputs": (
        lambda: nn.Sequential(nn.Conv2d(1, 16, 3), nn.ReLU(), nn.Flatten(), nn.LazyLinear(3)),
        (1, 6, 6),
        True,
    ),
    "strides": (
        lambda: nn.Sequential(
            nn.Conv2d(2, 3, (3, 2), stride=2, padding=1, dilation=2), nn.ReLU(), nn.Flatten(), nn.LazyLinear(3)
        ),
        (2, 10, 10),
        True,
    ),
    "layer norm": (lambda: nn.Sequential(nn.Linear(6, 4), nn.LayerNorm(4), nn.ReLU(), nn.Linear(4, 3)), (6,), False),
    "groups": (
        lambda: nn.Sequential(nn.Conv2d(2, 4, 3, groups=2), nn.Flatten(), nn.Linear(256, 3)),
        (2, 10, 10),
        False,
    ),
    "used twice": (Twice, (6,), True),
    "in place": (lambda: nn.Sequential(nn.Linear(6, 5), nn.ReLU(inplace=True), nn.Linear(5, 3)), (6,), True),
    "in place, by a function": (InPlace, (6,), True),
    "asked aside": (Aside, (6,), True),
    "partly frozen": (Frozen, (6,), False),
}


def made(name):
    torch.manual_seed(0)
    make, shape, known = MODULES[name]
    module, x = make().double(), torch.randn(7, *shape, dtype=torch.float64)
    module(x)  # lazy layers
    return module, 3 * x, torch.tensor([0, 1, 2, 2, 1, 0, 0]), known


def one_by_one(module, x, y, clip):
    """Each record by itself: its gradient, its norm, and the sum of what is left of it."""
    parameters = [p for p in module.parameters() if p.requires_grad]
    total, norms = [torch.zeros_like(p) for p in parameters], []
    for i in range(len(y)):
        loss = losses(module(x[i : i + 1]), y[i : i + 1]).sum()
        gradient = torch.autograd.grad(loss, parameters, allow_unused=True)
        gradient = [torch.zeros_like(p) if g is None else g for p, g in zip(parameters, gradient, strict=True)]
        norms.append(math.sqrt(sum(float(g.square().sum()) for g in gradient)))
        for k, g in enumerate(gradient):
            total[k] += g * min(1.0, clip / norms[-1])
    return total, norms


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.parametrize("share", [0.3, 1.0, 2.0])
@pytest.mark.parametrize("max_kept", [0, 2**25], ids=["computed twice", "kept"])
def test_clipping_equals_a_loop_over_records(name, share, max_kept, monkeypatch):
    monkeypatch.setattr("guestlist.defences.dp_sgd.MAX_KEPT", max_kept)
    monkeypatch.setattr("guestlist.defences.dp_sgd.RECORDS_PER_PART", 2)
    monkeypatch.setattr("guestlist.defences.dp_sgd.RECORDS_PER_SUM", 3)
    module, x, y, known = made(name)
    _, norms = one_by_one(module, x, y, 1.0)
    clip = share * float(np.median(norms))  # some are cut, all, or hardly any
    total, _ = one_by_one(module, x, y, clip)
    assert knows(module) == known
    short = known and name != "used twice"
    assert trusted(module, losses, x, y) == short
    ways = [partial(clipped_sums, fast=known), by_records] + ([by_layers] if short else [])
    for way in ways:
        result = way(module, losses, x, y, clip)
        assert result.norms.numpy() == pytest.approx(norms, rel=1e-6)
        for ours, theirs in zip(result.sums, total, strict=True):
            assert ours.numpy() == pytest.approx(theirs.detach().numpy(), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("kind", [Folded, Turned, Behind])
@pytest.mark.parametrize("places", [2, 3, 7])
def test_where_the_short_way_is_wrong_the_long_one_is_taken(kind, places):
    torch.manual_seed(0)
    module, x = kind().double(), 3 * torch.randn(*((7, 6) if kind is Behind else (7, places, 6)), dtype=torch.float64)
    y = torch.tensor([0, 1, 2, 2, 1, 0, 0])
    assert not trusted(module, losses, x, y)
    total, norms = one_by_one(module, x, y, 0.1)
    sums = clipped_sums(module, losses, x, y, 0.1, fast=trusted(module, losses, x, y))
    assert sums.norms.numpy() == pytest.approx(norms, rel=1e-6)
    for ours, theirs in zip(sums.sums, total, strict=True):
        assert ours.numpy() == pytest.approx(theirs.detach().numpy(), rel=1e-6, abs=1e-9)


def test_parameters_that_are_made_of_others_take_the_long_way():
    module = nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Linear(6, 4)), nn.Tanh(), nn.Linear(4, 3))
    assert not knows(module)


def test_an_empty_batch_has_no_gradient():
    module, x, y, _ = made("perceptron")
    sums = clipped_sums(module, losses, x[:0], y[:0], 1.0, fast=True)
    assert [tuple(s.shape) for s in sums.sums] == [tuple(p.shape) for p in module.parameters()]
    assert all((s == 0).all() for s in sums.sums)


def test_what_mixes_records_is_refused():
    module = nn.Sequential(nn.Linear(6, 4), nn.BatchNorm1d(4), nn.Linear(4, 3))
    with pytest.raises(InputError, match="'1' normalises over the batch"):
        gl.defences.DpSgd()(module, gl.Data(np.ones((8, 6)), np.zeros(8, int)), np.random.default_rng(0))


def test_what_keeps_statistics_of_records_is_refused():
    """They would be estimated from private batches without noise."""
    module = nn.Sequential(
        nn.Conv2d(1, 2, 3), nn.InstanceNorm2d(2, track_running_stats=True), nn.Flatten(), nn.Linear(32, 2)
    )
    with pytest.raises(InputError, match="'1' keeps statistics"):
        gl.defences.DpSgd()(module, gl.Data(np.ones((8, 1, 6, 6)), np.zeros(8, int)), np.random.default_rng(0))


def test_a_record_without_a_gradient_is_refused(data):
    x = data.x.copy()
    x[3, 2] = np.inf
    with pytest.raises(InputError, match="not finite"):
        gl.defences.DpSgd()(gl.defences.mlp(6, 3, hidden=(4,)), gl.Data(x, data.y), np.random.default_rng(0))


# -- batches -----------------------------------------------------------------------------------------------------------


def test_sizes_of_batches_have_the_distribution_of_poisson_sampling():
    rng = np.random.default_rng(0)
    batches = list(poisson_batches(40, 0.1, 4000, rng))
    sizes = np.bincount([len(rows) for rows in batches], minlength=41)
    expected = 4000 * binom.pmf(np.arange(41), 40, 0.1)
    frequent = expected >= 5
    counts, laws = (
        np.append(sizes[frequent], sizes[~frequent].sum()),
        np.append(expected[frequent], expected[~frequent].sum()),
    )
    assert chisquare(counts, laws).pvalue > 0.001
    assert sizes[0] > 20  # batches may be empty


def test_records_come_by_themselves():
    """Were batches cut from a shuffled list, two records would be together less often, and each would come once an epoch."""
    rng = np.random.default_rng(1)
    inside = np.zeros((4000, 10))
    for step, rows in enumerate(poisson_batches(10, 0.3, 4000, rng)):
        inside[step, rows] = 1
    correlations = np.corrcoef(inside.T)[np.triu_indices(10, 1)]
    assert np.abs(correlations).max() < 4.5 / math.sqrt(4000)
    assert inside.mean(axis=0) == pytest.approx(np.full(10, 0.3), abs=4.5 * math.sqrt(0.21 / 4000))


# -- noise and training ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    y = rng.integers(3, size=60)
    return gl.Data(rng.normal(size=(60, 6)) + y[:, None], y)


def start_and_end(recipe, data, seed=0):
    """The parameters that training began with and ended with."""
    begun = gl.defences.DpSgd(noise=0.0, clip=1e-30, rate=1.0, epochs=1)(
        gl.defences.mlp(6, 3, hidden=(40,)), data, np.random.default_rng(seed)
    )
    ended = recipe(gl.defences.mlp(6, 3, hidden=(40,)), data, np.random.default_rng(seed))
    return (torch.cat([p.detach().flatten() for p in module.parameters()]).numpy() for module in (begun, ended))


def test_noise_has_the_size_that_the_accountant_counts(data):
    """If nothing else moves a parameter, one step is normal with deviation noise x clip / expected size of a batch."""
    recipe = gl.defences.DpSgd(noise=2.0, clip=0.5, rate=1e-9, epochs=1e-9, learning_rate=1.0)
    assert recipe.steps == 1
    begun, ended = start_and_end(recipe, data)
    expected = 2.0 * 0.5 / (1e-9 * 60)
    assert kstest((ended - begun) / expected, "norm").pvalue > 0.001


def test_without_noise_and_clipping_it_is_the_gradient_of_the_mean(data):
    recipe = gl.defences.DpSgd(noise=0.0, clip=1e9, rate=1.0, epochs=5, learning_rate=0.1)
    begun, ended = start_and_end(recipe, data)
    plain = gl.defences.Fit(epochs=5, batch_size=60, learning_rate=0.1, optimizer="sgd")
    module = plain(gl.defences.mlp(6, 3, hidden=(40,)), data, np.random.default_rng(0))
    expected = torch.cat([p.detach().flatten() for p in module.parameters()]).numpy()
    assert ended == pytest.approx(expected, abs=1e-5)
    assert np.abs(ended - begun).max() > 0.01


class Even(torch.nn.Sequential):
    """Begins with the same numbers however it lies in memory."""

    def reset_parameters(self):
        with torch.no_grad():
            for p in self.parameters():
                p.copy_(torch.linspace(-0.3, 0.3, p.numel()).reshape(p.shape))


def test_the_memory_layout_of_a_module_does_not_change_training():
    rng = np.random.default_rng(0)
    images = gl.Data(rng.normal(size=(30, 2, 10, 10)), rng.integers(3, size=30))
    recipe = gl.defences.DpSgd(noise=0.0, rate=0.5, epochs=3, optimizer="adam")
    module = Even(torch.nn.Conv2d(2, 4, 3), torch.nn.Tanh(), torch.nn.Flatten(), torch.nn.Linear(256, 3))
    together = copy.deepcopy(module).to(memory_format=torch.channels_last)
    first, other = (recipe(m, images, np.random.default_rng(0)) for m in (module, together))
    assert not next(other.parameters()).is_contiguous()
    for p, q in zip(first.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(p, q, rtol=1e-3, atol=1e-4)


class Views(Even):
    """Views its input as rows, which needs the usual memory layout."""

    def forward(self, x):
        return super().forward(x.view(len(x), -1))


def test_a_module_that_needs_the_usual_memory_layout_is_trained_in_it():
    rng = np.random.default_rng(0)
    images = gl.Data(rng.normal(size=(30, 2, 4, 4)), rng.integers(3, size=30))
    rows = gl.Data(images.x.reshape(30, -1), images.y)
    recipe = gl.defences.DpSgd(noise=1.0, rate=0.5, epochs=2)
    of_images = recipe(Views(torch.nn.Linear(32, 3)), images, np.random.default_rng(0))
    of_rows = recipe(Even(torch.nn.Linear(32, 3)), rows, np.random.default_rng(0))
    for p, q in zip(of_images.parameters(), of_rows.parameters(), strict=True):
        torch.testing.assert_close(p, q)


def test_one_record_moves_a_step_by_no_more_than_the_clip(data):
    others = data.take(np.arange(1, 60))
    loud = gl.Data(np.r_[1e3 * data.x[:1], others.x], data.y)
    torch.manual_seed(0)
    module = gl.defences.mlp(6, 3, hidden=(40,))
    x, y = torch.tensor(loud.x, dtype=torch.float32), torch.tensor(loud.y)
    with_it, without = (clipped_sums(module, losses, *part, 0.1, fast=True).sums for part in ((x, y), (x[1:], y[1:])))
    distance = math.sqrt(sum(float((a - b).square().sum()) for a, b in zip(with_it, without, strict=True)))
    assert distance <= 0.1 + 1e-5
    assert distance == pytest.approx(
        min(0.1, float(clipped_sums(module, losses, x[:1], y[:1], 0.1, fast=True).norms[0])), abs=1e-5
    )


@pytest.mark.slow
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_it_trains_and_its_randomness_is_that_of_its_generator(optimizer, data):
    recipe = gl.defences.DpSgd(
        noise=0.5, rate=0.2, epochs=30, learning_rate=0.5 if optimizer == "sgd" else 0.02, optimizer=optimizer
    )
    once, again = (recipe(gl.defences.mlp(6, 3, hidden=(16,)), data, np.random.default_rng(5)) for _ in range(2))
    assert all(torch.equal(p, q) for p, q in zip(once.parameters(), again.parameters(), strict=True))
    right = (once(torch.tensor(data.x, dtype=torch.float32)).argmax(1).numpy() == data.y).mean()
    assert right > 0.7


def test_soft_labels_and_values_are_fitted(data):
    soft = gl.defences.DpSgd(noise=0.0, rate=0.5, epochs=4).distil(
        gl.defences.mlp(6, 3, hidden=(8,)), data, np.eye(3)[data.y], np.random.default_rng(0)
    )
    hard = gl.defences.DpSgd(noise=0.0, rate=0.5, epochs=4)(
        gl.defences.mlp(6, 3, hidden=(8,)), data, np.random.default_rng(0)
    )
    for p, q in zip(soft.parameters(), hard.parameters(), strict=True):
        assert p.detach().numpy() == pytest.approx(q.detach().numpy(), abs=1e-6)
    values = gl.Data(data.x, data.x[:, 0])
    recipe = gl.defences.DpSgd(noise=0.1, rate=0.5, epochs=40, learning_rate=0.1, loss="squared")
    module = recipe(gl.defences.mlp(6, 1, hidden=(8,)), values, np.random.default_rng(0))
    error = (module(torch.tensor(data.x, dtype=torch.float32)).flatten().detach().numpy() - values.y).std()
    assert error < 0.8 * values.y.std()


@pytest.mark.parametrize(
    "options",
    [
        {"noise": -1},
        {"noise": float("nan")},
        {"clip": 0},
        {"rate": 0},
        {"rate": 1.5},
        {"epochs": 0},
        {"optimizer": "lbfgs"},
        {"loss": "hinge"},
        {"momentum": 0.9, "optimizer": "adam"},
        {"weight_decay": -1},
    ],
)
def test_options_are_checked(options):
    with pytest.raises(ValueError, match="Expected"):
        gl.defences.DpSgd(**options)


# -- what it adds up to ------------------------------------------------------------------------------------------------


def test_known_values_of_the_score():
    pytest.importorskip("opacus")
    assert gl.privacy.epsilon_of(1.0, rate=0.1, steps=50) == pytest.approx(5.159, abs=5e-4)
    assert gl.privacy.epsilon_of(1.0, rate=0.1, steps=50, accountant="rdp") == pytest.approx(5.881, abs=5e-4)
    assert gl.privacy.epsilon_of(0.0, rate=0.1, steps=50) == math.inf
    with pytest.raises(ValueError, match="central limit"):
        gl.privacy.epsilon_of(1.0, rate=0.1, steps=50, accountant="gdp")
    for noise, rate in ((1.0, 2), (float("nan"), 0.1)):
        with pytest.raises(ValueError, match="Expected noise"):
            gl.privacy.epsilon_of(noise, rate=rate, steps=50)


def test_one_step_on_all_records_is_the_gaussian_mechanism():
    """Closed form (Balle & Wang 2018): delta = Phi(1 / 2s - e s) - exp(e) Phi(-1 / 2s - e s)."""
    pytest.importorskip("opacus")
    from scipy.stats import norm

    for noise in (0.8, 2.0):
        epsilon = gl.privacy.epsilon_of(noise, rate=1.0, steps=1, delta=1e-5)
        half, far = 1 / (2 * noise), epsilon * noise
        delta = norm.cdf(half - far) - math.exp(epsilon) * norm.cdf(-half - far)
        assert delta <= 1e-5
        assert delta == pytest.approx(1e-5, rel=0.15)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.1, 30.0])
def test_the_noise_for_an_epsilon_meets_it(epsilon):
    pytest.importorskip("opacus")
    recipe = gl.defences.dp_sgd_for(epsilon, rate=0.05, epochs=10)
    promise = recipe.privacy()
    assert 0.99 * epsilon <= promise.epsilon <= epsilon
    assert (promise.rate, promise.steps, promise.delta) == (0.05, 200, 1e-5)


@pytest.mark.parametrize(
    ("noise", "rate", "steps", "delta"), [(22.0, 0.05, 20, 1e-5), (0.8, 0.02, 30, 1e-6), (3.0, 0.5, 5, 1e-3)]
)
@pytest.mark.filterwarnings("ignore:Optimal order")
def test_a_narrow_grid_gives_the_result_of_a_wide_one(noise, rate, steps, delta):
    accountants = pytest.importorskip("opacus.accountants")
    from guestlist.privacy.accounting import _on_a_narrow_grid

    epsilons = []
    for accountant in (_on_a_narrow_grid(), accountants.PRVAccountant()):
        accountant.history = [(noise, rate, steps)]
        epsilons.append(accountant.get_epsilon(delta, eps_error=0.005))
    assert epsilons[0] == pytest.approx(epsilons[1], abs=1e-5)


def test_the_noise_for_a_tiny_epsilon():
    pytest.importorskip("opacus")
    noise = gl.privacy.noise_for(0.01, rate=0.02, steps=20)
    # The central limit of Gaussian noise, which is near the truth where so much of it is added.
    assert noise == pytest.approx(0.02 * 20**0.5 / gaussian_mu(0.01, 1e-5), rel=0.02)


def test_epsilon_zero_is_refused():
    with pytest.raises(ValueError, match="Expected epsilon"):
        gl.defences.dp_sgd_for(0.0)


def test_where_delta_allows_for_everything_there_is_no_noise_to_find():
    pytest.importorskip("opacus")
    with pytest.raises(gl.InputError, match="no noise is needed"):
        gl.defences.dp_sgd_for(1.0, delta=0.01, rate=1e-4, epochs=1e-4)
