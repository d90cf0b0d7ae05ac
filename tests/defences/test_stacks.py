"""Stacks: networks that are trained together do not depend on each other, and match single training up to rounding."""

import json

import numpy as np
import pytest

import guestlist as gl

torch = pytest.importorskip("torch")
nn = torch.nn

FEATURES, CLASSES, RECORDS = 11, 3, 120
FIT = gl.defences.Fit(epochs=2, batch_size=16)
SGD = gl.defences.Fit(epochs=2, batch_size=16, learning_rate=0.05, optimizer="sgd", momentum=0.9, weight_decay=1e-3)


def two_logits(module):
    from guestlist.defences.torch_layers import two_logits

    return two_logits(module)


NETWORKS = {
    "mlp": lambda: gl.defences.mlp(FEATURES, CLASSES, hidden=(13, 7)),
    "tanh": lambda: gl.defences.mlp(FEATURES, CLASSES, hidden=(20,), activation="Tanh"),
    "batch norm": lambda: nn.Sequential(
        nn.Linear(FEATURES, 13), nn.BatchNorm1d(13), nn.GELU(), nn.Linear(13, CLASSES, bias=False)
    ),
    "one logit": lambda: two_logits(nn.Sequential(nn.Linear(FEATURES, 5), nn.ELU(), nn.Linear(5, 1))),
    "linear": lambda: nn.Linear(FEATURES, CLASSES),
    "nested": lambda: nn.Sequential(
        nn.Flatten(), nn.Sequential(nn.Linear(FEATURES, 16), nn.SiLU()), nn.Linear(16, CLASSES)
    ),
}
DROPOUT = {"dropout": lambda: nn.Sequential(nn.Linear(FEATURES, 13), nn.ReLU(), nn.Dropout(0.4), nn.Linear(13, 3))}


def records(count: int = RECORDS) -> gl.Data:
    rng = np.random.default_rng(0)
    return gl.Data(rng.normal(size=(count, FEATURES)), rng.integers(2, size=count))


def members(networks: int = 20) -> np.ndarray:
    return np.random.default_rng(1).random((networks, RECORDS)) < 0.5


def train(fit, module, numbers) -> dict[int, list]:
    streams = [np.random.default_rng(k) for k in numbers]
    trained = fit.train_together(module, records(), [members()[k] for k in numbers], streams)
    return {k: list(network.state_dict().values()) for k, network in zip(numbers, trained, strict=True)}


@pytest.mark.parametrize(("name", "fit"), [*((name, FIT) for name in (*NETWORKS, *DROPOUT)), ("mlp", SGD)])
def test_a_network_does_not_depend_on_its_stack(name, fit):
    module = {**NETWORKS, **DROPOUT}[name]()
    assert fit.can_stack(module, records())
    full = train(fit, module, range(16))
    for numbers in ([3], [9, 17, 3, 18, 0], [15, *range(15)], [19, 18, *range(2, 9)]):
        for k, state in train(fit, module, numbers).items():
            if k in full:
                assert all(torch.equal(first, second) for first, second in zip(state, full[k], strict=True))


@pytest.mark.parametrize(("name", "fit"), [*((name, FIT) for name in NETWORKS), ("mlp", SGD), ("batch norm", SGD)])
def test_a_stack_matches_single_training_up_to_rounding(name, fit):
    module = NETWORKS[name]().double()
    for k, state in train(fit, module, range(4)).items():
        single = fit(module, records().take(members()[k]), np.random.default_rng(k)).state_dict()
        for (parameter, expected), value in zip(single.items(), state, strict=True):
            if name == "batch norm" and parameter == "0.bias" and fit is FIT:
                continue  # Its gradient is 0 except for rounding, which AdamW enlarges.
            assert torch.allclose(value, expected, rtol=1e-6, atol=1e-8), parameter


def test_numbers_are_fitted_together():
    data = records()
    data = gl.Data(data.x, data.x[:, 0] * 2)
    fit = gl.defences.Fit(epochs=2, batch_size=16, loss="squared")
    module = gl.defences.mlp(FEATURES, 1, hidden=(8,)).double()
    assert fit.can_stack(module, data)
    (stacked,) = fit.train_together(module, data, members()[:1], [np.random.default_rng(0)])
    single = fit(module, data.take(members()[0]), np.random.default_rng(0))
    assert all(torch.allclose(p, q, atol=1e-8) for p, q in zip(stacked.parameters(), single.parameters(), strict=True))


def test_every_network_draws_its_own_dropout():
    """Equal networks with equal batches differ by their dropout only if their streams differ."""
    module = DROPOUT["dropout"]()
    rows = members()[0]
    first, second, third = FIT.train_together(
        module, records(), [rows] * 3, [np.random.default_rng(seed) for seed in (1, 1, 2)]
    )
    assert torch.equal(first[0].weight, second[0].weight)
    assert not torch.equal(first[0].weight, third[0].weight)
    without = nn.Sequential(module[0], module[1], module[3])
    (plain,) = FIT.train_together(without, records(), [rows], [np.random.default_rng(1)])
    assert not torch.equal(first[0].weight, plain[0].weight)


def test_training_sets_of_unusual_size_are_trained_separately():
    few = np.arange(RECORDS) < 23  # 23 records in one batch of 16 on average: longer than those of usual training sets
    module = NETWORKS["mlp"]()
    (trained,) = FIT.train_together(module, records(), [few], [np.random.default_rng(0)])
    single = FIT(module, records().take(few), np.random.default_rng(0))
    assert all(torch.equal(p, q) for p, q in zip(trained.parameters(), single.parameters(), strict=True))


class Doubled(nn.Linear):
    def forward(self, x):
        return 2 * super().forward(x)


def frozen():
    module = NETWORKS["mlp"]()
    module[0].weight.requires_grad_(False)
    return module


def hooked():
    module = NETWORKS["mlp"]()
    module[0].register_forward_hook(lambda part, inputs, output: output)
    return module


def repeated():
    layer = nn.Linear(FEATURES, FEATURES)
    return nn.Sequential(layer, nn.ReLU(), layer)


@pytest.mark.parametrize(
    "make",
    [
        *(frozen, hooked, repeated),
        lambda: Doubled(FEATURES, CLASSES),
        lambda: nn.Sequential(nn.Linear(FEATURES, 8), nn.Sigmoid(), nn.Linear(8, CLASSES)),
        lambda: nn.Sequential(nn.Linear(FEATURES, CLASSES), nn.ReLU()),
        lambda: gl.defences.mlp(FEATURES, CLASSES, hidden=(300, 300)),
        lambda: gl.defences.mlp(FEATURES + 1, CLASSES, hidden=(8,)),
    ],
)
def test_other_networks_are_trained_one_by_one(make):
    assert not FIT.can_stack(make(), records())


def test_a_training_that_fails_is_not_stacked():
    """Training one by one then names the reference in its error."""
    data = gl.Data(records().x, np.full(RECORDS, CLASSES))
    assert not FIT.can_stack(NETWORKS["mlp"](), data)


def test_the_trial_leaves_the_random_state_of_torch():
    module = NETWORKS["mlp"]()
    state = torch.get_rng_state()
    assert FIT.can_stack(module, records())
    assert torch.equal(torch.get_rng_state(), state)


def test_objectives_and_images_are_trained_one_by_one():
    smoothed = gl.defences.Fit(objective=gl.defences.LabelSmoothing(0.1))
    assert not smoothed.can_stack(NETWORKS["mlp"](), records())
    images = gl.Data(np.zeros((20, 1, 12, 12), dtype=np.float32), np.arange(20) % 3)
    assert not FIT.can_stack(gl.defences.cnn(12, 3, filters=(2,)), images)


def collected(folder, references: int, **options) -> dict[str, bytes]:
    """Train references and return their files by name."""
    data = records()
    torch.manual_seed(0)
    target = gl.torch_target(NETWORKS["mlp"](), train=FIT)
    halves = data.take(np.arange(60)), data.take(np.arange(60, 120))
    gl.collect(target, *halves, folder=folder, references=references, baseline=False, **options)
    return {path.name: path.read_bytes() for path in (folder / "signals").iterdir() if "0000" not in path.name}


def is_stacked(folder) -> bool:
    return json.loads((folder / "manifest.json").read_text("utf-8"))["stacked"]


def test_a_resumed_collection_has_identical_references(tmp_path):
    counted = []

    def progress(items, *, total):
        counted.append(total)
        for item in items:
            counted.append(1)
            yield item

    files = collected(tmp_path / "a", 18, engine=gl.Here(), progress=progress)
    assert is_stacked(tmp_path / "a")
    assert counted == [18, *[1] * 18]
    for k in (2, 5, 17, 18):
        (tmp_path / "a" / "signals" / f"model-{k:04d}.npz").unlink()
    assert collected(tmp_path / "a", 18, engine=gl.Here(), progress=progress) == files
    assert counted[19:] == [4, 1, 1, 1, 1]
    assert collected(tmp_path / "a", 20, engine=gl.Here()).items() > files.items()


@pytest.mark.slow
def test_stacks_are_identical_in_other_processes(tmp_path):
    assert collected(tmp_path / "a", 18, engine=gl.Here()) == collected(tmp_path / "b", 18, jobs=2)


def test_a_collection_that_began_without_stacks_continues_without(tmp_path):
    files = collected(tmp_path / "a", 4, engine=gl.Here())
    assert collected(tmp_path / "a", 16, engine=gl.Here()).items() > files.items()
    assert not is_stacked(tmp_path / "a")


def test_full_outputs_of_a_stack_are_those_of_its_signals(tmp_path):
    files = collected(tmp_path / "a", 16, engine=gl.Here())
    assert collected(tmp_path / "b", 16, engine=gl.Here(), evidence=[gl.evidence.FullOutputs()]) == files
