"""Devices of torch: where modules are queried and trained, full memory, and what the manifest records."""

import types

import numpy as np
import pytest

import guestlist as gl
from guestlist import AuditWarning
from guestlist._collect.engines.on_ray import _check_gpus
from guestlist._store.folder import read_manifest
from guestlist._util import DEVICE, collect_notes
from guestlist.defences import Batches, Fit, device_of, labels_tensor, prefer_device, tensor, torch_device

torch = pytest.importorskip("torch")

CPU = torch.device("cpu")
ACCELERATORS = gl.defences.accelerators()


def network():
    return torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))


@pytest.fixture
def fake_cuda(monkeypatch):
    """Two CUDA devices, of which the second has more free memory."""
    free = {"cuda:0": 1, "cuda:1": 2}
    fake = types.SimpleNamespace(
        is_available=lambda: True,
        device_count=lambda: 2,
        mem_get_info=lambda name: (free[name], 3),
        is_initialized=lambda: False,
        OutOfMemoryError=torch.cuda.OutOfMemoryError,
    )
    monkeypatch.setattr(torch, "cuda", fake)
    monkeypatch.delenv(DEVICE, raising=False)


def test_auto_is_the_accelerator_with_the_most_free_memory(fake_cuda, monkeypatch):
    assert gl.defences.accelerators() == ["cuda:0", "cuda:1"]
    assert torch_device() == torch.device("cuda:1")
    assert torch_device("cpu") == CPU
    monkeypatch.setenv(DEVICE, "cuda:0")
    assert torch_device() == torch.device("cuda:0")
    assert torch_device("cuda") == torch.device("cuda:0")
    assert torch_device("cuda:1") == torch.device("cuda:1")
    assert torch_device("cpu") == CPU


def test_auto_is_the_cpu_without_accelerators(monkeypatch):
    monkeypatch.setattr(torch, "cuda", types.SimpleNamespace(is_available=lambda: False))
    monkeypatch.setattr(torch, "xpu", types.SimpleNamespace(is_available=lambda: False))
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    monkeypatch.delenv(DEVICE, raising=False)
    assert torch_device() == CPU


def test_a_preferred_device_replaces_auto_only():
    with prefer_device("meta"):
        assert torch_device() == torch.device("meta")
        assert torch_device("cpu") == CPU
    with prefer_device("meta"), prefer_device("auto"):
        assert torch_device() == torch.device("meta")


def test_an_accelerator_that_is_missing_is_refused(fake_cuda, monkeypatch):
    with pytest.raises(ValueError, match=r"no torch device 'cuda:2' here. Available devices: cuda:0, cuda:1, cpu"):
        torch_device("cuda:2")
    with pytest.raises(ValueError, match="no torch device 'mps'"):
        gl.torch_target(network(), device="mps")
    monkeypatch.setenv(DEVICE, "xpu:0")
    with pytest.raises(ValueError, match="no torch device 'xpu:0'"):
        torch_device()


@pytest.mark.parametrize("device", ["gpu", 1.5, "cuda:x"])
def test_an_unknown_device_is_refused(device):
    with pytest.raises(ValueError, match="name of a torch device"):
        torch_device(device)


def test_inputs_and_labels_go_to_the_device_of_the_module():
    module = network().to("meta")
    assert device_of(module).type == "meta"
    assert tensor(np.zeros((4, 5)), module).device.type == "meta"
    assert labels_tensor(np.zeros(4), module).device.type == "meta"
    assert labels_tensor(np.zeros((4, 3)), module).device.type == "meta"
    assert device_of(torch.nn.ReLU()) == CPU


RECIPES = {
    "sgd": Fit(epochs=1, optimizer="sgd", device="meta"),
    "adamw": Fit(epochs=1, optimizer="adamw", device="meta"),
    "objective": Fit(epochs=1, device="meta", objective=gl.defences.LabelSmoothing(0.1)),
    "dropout": gl.defences.Dropout(fit=Fit(epochs=1, device="meta")),
}


@pytest.mark.parametrize("name", RECIPES)
def test_recipes_train_on_their_device(name, blobs):
    module = network()
    trained = RECIPES[name](module, gl.Data(*blobs[0]), np.random.default_rng(0))
    assert {value.device.type for value in trained.parameters()} == {"meta"}
    assert device_of(module) == CPU


def test_the_device_of_a_target_trains_its_references(blobs):
    target = gl.torch_target(network(), train=Fit(epochs=1), device="meta")
    assert device_of(target.predict.module).type == "meta"
    predict = target.can["train"](gl.Data(*blobs[0]), np.random.default_rng(0))
    assert device_of(predict.module).type == "meta"
    assert device_of(target.can["retrain"].model) == CPU


def test_the_device_is_no_part_of_a_recipes_identity():
    assert Fit(device="cuda:0").describe() == Fit().describe()
    assert gl.defences.DpSgd(device="cuda:0").describe() == gl.defences.DpSgd().describe()
    assert Fit(epochs=3).describe() != Fit().describe()


class Full(torch.nn.Module):
    """A module that runs out of memory with more than ``most`` records at once."""

    def __init__(self, most):
        super().__init__()
        self.inside = network()
        self.most = most
        self.sizes = []

    def forward(self, x):
        if len(x) > self.most:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory.")
        self.sizes.append(len(x))
        return self.inside(x)


def test_full_memory_halves_the_batches_of_queries_and_is_reported(blobs):
    x = blobs[0][0]
    module = Full(most=30)
    with collect_notes() as notes, pytest.warns(AuditWarning, match="(100|50) records at once"):
        outputs = gl.torch_target(module, classes=range(3), batch_size=100).predict(x)
    assert np.allclose(outputs, module.inside(torch.as_tensor(x, dtype=torch.float32)).detach().numpy(), atol=1e-6)
    assert max(module.sizes) == 25
    assert sum(module.sizes) == len(x)
    assert len(notes["warnings"]) == 2


def test_full_memory_in_training_adds_up_the_gradients_of_halves(blobs):
    fit = Fit(epochs=2, batch_size=60, optimizer="sgd", learning_rate=0.1)
    plain = fit(Full(most=1000), gl.Data(*blobs[0]), np.random.default_rng(0))
    with pytest.warns(AuditWarning, match="60 records at once"):
        halved = fit(Full(most=40), gl.Data(*blobs[0]), np.random.default_rng(0))
    for expected, parameter in zip(plain.parameters(), halved.parameters(), strict=True):
        assert torch.allclose(expected, parameter, atol=1e-6)


def test_full_memory_in_private_training_adds_up_the_sums_of_halves(blobs, monkeypatch):
    recipe = gl.defences.DpSgd(noise=1.0, rate=0.2, epochs=1)
    plain = recipe(network(), gl.Data(*blobs[0]), np.random.default_rng(0))
    from guestlist.defences import dp_sgd

    complete = dp_sgd.clipped_sums

    def limited(module, losses, x, y, clip, *, fast):
        if len(y) > 20:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory.")
        return complete(module, losses, x, y, clip, fast=fast)

    monkeypatch.setattr(dp_sgd, "clipped_sums", limited)
    with pytest.warns(AuditWarning, match="records at once"):
        halved = recipe(network(), gl.Data(*blobs[0]), np.random.default_rng(0))
    for expected, parameter in zip(plain.parameters(), halved.parameters(), strict=True):
        assert torch.allclose(expected, parameter, atol=1e-6)


def test_one_record_that_does_not_fit_and_other_errors_are_raised(blobs):
    with pytest.raises(RuntimeError, match="out of memory"), pytest.warns(AuditWarning):
        gl.torch_target(Full(most=0), classes=range(3)).predict(blobs[0][0])

    def fails():
        raise RuntimeError("shapes differ")

    with pytest.raises(RuntimeError, match="shapes differ"):
        Batches(CPU, 8).fits(fails, 8)


def test_the_manifest_records_the_devices(blobs, tmp_path):
    target = gl.torch_target(network(), train=Fit(epochs=1))
    with prefer_device("cpu"):
        gl.audit(target, *blobs, references=4, attacks=["loss"], jobs=1, folder=tmp_path, baseline=False)
    devices = read_manifest(tmp_path / "manifest.json").about["devices"]
    assert devices == {"references": ["cpu"], "target": ["cpu"]}


def test_full_memory_of_a_reference_is_reported_by_the_audit(blobs):
    def train(data, rng):
        return Full(most=200)

    target = gl.torch_target(network(), train=train, recipe="full")
    with pytest.warns(AuditWarning, match=r"too small for (440|220) records at once"):
        gl.audit(target, *blobs, references=4, attacks=["loss"], jobs=1, baseline=False)


def test_processes_share_accelerators_in_turn(fake_cuda):
    task = types.SimpleNamespace(train=gl.torch_target(network(), train=Fit()).can["train"])
    devices, count = gl.Local()._devices_and_count(task)
    assert list(devices) == ["cuda:0", "cuda:1"]
    assert count <= 8
    assert gl.Local(3)._devices_and_count(task)[1] == 3
    assert gl.Local(devices=["cuda:1"])._devices_and_count(task) == (("cuda:1",), 1)
    assert gl.Local(jobs=5, devices=["cuda:1"])._devices_and_count(task) == (("cuda:1",), 5)
    on_cpu = types.SimpleNamespace(train=gl.torch_target(network(), train=Fit(), device="cpu").can["train"])
    assert gl.Local()._devices_and_count(on_cpu)[0] == ()


@pytest.mark.parametrize("devices", ["cuda:0", [0, 1]])
def test_devices_of_processes_are_names(devices):
    with pytest.raises(ValueError, match="list of names"):
        gl.Local(devices=devices)


def test_gpus_of_a_ray_task_are_a_positive_number():
    assert gl.Ray(num_gpus=0.25).num_gpus == 0.25
    with pytest.raises(ValueError, match="num_gpus"):
        gl.Ray(num_gpus=-1)


def test_gpus_that_no_ray_node_has_are_refused():
    node = {"Alive": True, "Resources": {"CPU": 4.0, "GPU": 1.0}}
    gone = {"Alive": False, "Resources": {"GPU": 8.0}}
    cluster = types.SimpleNamespace(nodes=lambda: [node, gone])
    _check_gpus(cluster, 0.5)
    with pytest.raises(gl.AuditError, match=r"needs 2 GPUs .* has 1\."):
        _check_gpus(cluster, 2)


@pytest.mark.accelerator
@pytest.mark.skipif(not ACCELERATORS, reason="this machine has no CUDA, XPU or MPS device")
def test_an_audit_on_an_accelerator(blobs, tmp_path):
    recipe = Fit(epochs=20, learning_rate=0.02)
    target = gl.models.train_target(gl.torch_target(network(), train=recipe), blobs[0])
    assert device_of(target.predict.module).type == torch.device(ACCELERATORS[0]).type
    options = {"references": 4, "attacks": ["loss", "lira"], "evidence": [gl.evidence.WhiteBox()], "baseline": False}
    first = gl.audit(target, *blobs, **options, folder=tmp_path / "1", jobs=1)
    second = gl.audit(target, *blobs, **options, folder=tmp_path / "2", jobs=2)
    for attack in ("loss", "lira"):
        assert first.attack(attack).auc.value == pytest.approx(second.attack(attack).auc.value, abs=0.02)
    devices = read_manifest(tmp_path / "1" / "manifest.json").about["devices"]
    assert not any(name.startswith("cpu") for name in (*devices["target"], *devices["references"]))
