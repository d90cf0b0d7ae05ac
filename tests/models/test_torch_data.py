"""Datasets and loaders in place of arrays, modules with several inputs, weights in files, evaluation mode."""

import numpy as np
import pytest

import guestlist as gl
from guestlist import InputError
from guestlist.data import as_data
from guestlist.models.torch_data import READ_AT_ONCE, read_dataset

torch = pytest.importorskip("torch")
from torch.utils.data import (  # noqa: E402
    DataLoader,
    Dataset,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
)

FIT = gl.defences.Fit(epochs=2)


class Counted(Dataset):
    """An indexable dataset that counts how often each item is read."""

    def __init__(self, x, y):
        self.x = x
        self.y = y
        self.reads = np.zeros(len(y), dtype=int)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, row):
        self.reads[row] += 1
        return torch.as_tensor(self.x[row], dtype=torch.float32), int(self.y[row])


class Named(Dataset):
    """Items of a sequence of integers and a number, with a label."""

    def __init__(self, rows=60, seed=0):
        rng = np.random.default_rng(seed)
        self.ids = rng.integers(0, 7, size=(rows, 4))
        self.age = rng.normal(size=rows).astype(np.float32)
        self.label = (self.age > 0).astype(int)

    def __len__(self):
        return len(self.label)

    def __getitem__(self, row):
        return {"ids": torch.as_tensor(self.ids[row]), "age": self.age[row], "label": self.label[row]}


class Reader(torch.nn.Module):
    """A module with two named inputs, which returns an object with logits."""

    def __init__(self, classes=2):
        super().__init__()
        self.words = torch.nn.Embedding(7, 3)
        self.last = torch.nn.Linear(4, classes)

    def forward(self, ids, age):
        assert ids.dtype == torch.int64
        logits = self.last(torch.cat([self.words(ids).mean(dim=1), age[:, None]], dim=1))
        return {"logits": logits, "hidden": ids}


def network():
    return torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))


def test_a_tensor_dataset_is_not_copied():
    x, y = torch.randn(6, 2), torch.arange(6)
    features, labels = read_dataset(TensorDataset(x, y))
    assert np.shares_memory(features, x.numpy())
    assert labels.tolist() == y.tolist()


def test_an_indexable_dataset_is_read_once_and_in_order():
    rows = READ_AT_ONCE + 10
    dataset = Counted(np.arange(2 * rows).reshape(rows, 2), np.arange(rows) % 3)
    data = as_data(dataset, side="members")
    assert (dataset.reads == 1).all()
    assert np.array_equal(data.x, dataset.x)
    assert data.x.dtype == np.float32
    assert np.array_equal(data.y, dataset.y)
    assert data.ids[0] == "members:0"


def test_a_loader_gives_every_record_of_its_dataset_in_order():
    dataset = Counted(np.arange(20).reshape(10, 2), np.arange(10))
    loader = DataLoader(dataset, batch_size=4, shuffle=True, drop_last=True)
    assert as_data(loader, side="members").y.tolist() == list(range(10))
    some = DataLoader(dataset, batch_size=4, sampler=SubsetRandomSampler([7, 2, 5]))
    assert as_data(some, side="members").y.tolist() == [2, 5, 7]
    assert as_data(Subset(dataset, [3, 1]), side="members").y.tolist() == [3, 1]


def test_a_loader_with_its_own_way_to_form_batches():
    dataset = Counted(np.ones((5, 2)), np.arange(5))

    def collate(items):
        return {"x": torch.stack([2 * x for x, _ in items]), "label": torch.tensor([y for _, y in items])}

    data = as_data(DataLoader(dataset, collate_fn=collate), side="members")
    assert (data.x == 2).all()
    assert data.y.tolist() == list(range(5))


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (DataLoader(TensorDataset(torch.ones(4, 1)), sampler=WeightedRandomSampler([1.0] * 4, 4)), "training records"),
        (Counted(np.ones((0, 2)), np.ones(0)), "0 records"),
        (TensorDataset(torch.ones(3, 1)), "must be"),
        (torch.nn.Linear(1, 1), "Cannot read records from a Linear"),
        ([torch.ones(2), torch.ones(3)], "Cannot read members"),
    ],
)
def test_what_cannot_be_read_is_refused(source, message):
    with pytest.raises(InputError, match=message):
        as_data(source, side="members")


def test_items_of_different_lengths_are_refused():
    class Ragged(Counted):
        def __getitem__(self, row):
            return torch.ones(1 + row), 0

    with pytest.raises(InputError, match="one shape"):
        as_data(Ragged(np.ones((3, 1)), np.ones(3)), side="members")


def test_an_unknown_label_and_large_integers_are_refused():
    with pytest.raises(InputError, match="label="):
        as_data(_Items([{"a": 1, "b": 2}]), side="members")
    assert as_data(_Items([{"a": [1.5], "b": 2}] * 2), side="members", label="b").y.tolist() == [2, 2]
    with pytest.raises(InputError, match="16,777,216"):
        as_data(_Items([{"a": 2**24, "b": 2, "label": 1}]), side="members")


class _Items(Dataset):
    def __init__(self, items):
        self.items = items

    def __len__(self):
        return len(self.items)

    def __getitem__(self, row):
        return self.items[row]


def test_lists_in_items_are_arrays():
    items = _Items([{"ids": [k, 2, 3], "mask": [1, 1, 0], "label": k} for k in range(4)])
    data = as_data(items, side="members")
    assert data.x.tolist() == [[k, 2, 3, 1, 1, 0] for k in range(4)]
    assert as_data(_Items([[[1.0, 2.0], 0]] * 3), side="members").x.tolist() == [[1, 2]] * 3


def test_tensors_that_need_gradients_are_read(blobs):
    x = torch.ones(3, 2, requires_grad=True)
    assert as_data((x, torch.zeros(3)), side="members").x.tolist() == [[1, 1]] * 3


def test_an_audit_of_datasets_equals_that_of_arrays(blobs):
    arrays = [(x.astype(np.float32), y) for x, y in blobs]
    datasets = [Counted(x, y) for x, y in arrays]
    target = gl.torch_target(network(), train=FIT)
    options = {"references": 4, "attacks": ["loss"], "baseline": False, "jobs": 1}
    assert gl.audit(target, *datasets, **options).document() == gl.audit(target, *arrays, **options).document()


@pytest.mark.parametrize("classes", [2, 1])
def test_a_module_with_named_inputs_is_audited(classes):
    members, nonmembers = Named(seed=0), Named(seed=1)
    module = Reader(classes)
    target = gl.torch_target(module, example=members[0], train=FIT)
    assert target.name == "Reader"
    packed = as_data(members, side="members")
    assert packed.x.shape == (60, 5)
    with torch.no_grad():
        logits = module(torch.as_tensor(members.ids), torch.as_tensor(members.age))["logits"].double().numpy()
    assert np.allclose(target.predict(packed.x)[:, -classes:], logits, atol=1e-6)
    results = gl.audit(target, members, nonmembers, references=4, attacks=["loss"], baseline=False, jobs=1)
    assert results.references.count == 4


class DictionaryReader(Reader):
    """A module that reads the whole dictionary."""

    def forward(self, batch):
        return super().forward(**batch)


def test_a_module_may_read_the_dictionary_itself():
    dataset = Named()
    target = gl.torch_target(DictionaryReader(), example=dataset[0], train=FIT)
    x, _ = read_dataset(dataset)
    assert target.predict(x).shape == (60, 2)


@pytest.mark.parametrize("module", [Reader(), DictionaryReader()])
def test_a_module_without_an_example_is_told_to_pass_one(module):
    dataset = Named()
    with pytest.raises(InputError, match=r"example=dataset\[0\]"):
        gl.audit(gl.torch_target(module, train=FIT), dataset, Named(seed=1))


def test_a_module_with_several_positional_inputs():
    class Two(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.last = torch.nn.Linear(3, 2)

        def forward(self, a, b):
            return self.last(torch.cat([a, b], dim=1)), a

    items = _Items([(torch.ones(1), torch.zeros(2), k % 2) for k in range(8)])
    target = gl.torch_target(Two(), example=items[0], train=FIT)
    data = as_data(items, side="members")
    assert target.predict(data.x).shape == (8, 2)
    with pytest.raises(InputError, match="reads 3 numbers per record"):
        target.predict(data.x[:, :2])


def test_your_own_function_unpacks_the_inputs():
    members = Named()

    def train(data, rng):
        inputs = gl.models.unpack_inputs(data.x, members[0])
        assert set(inputs) == {"ids", "age"}
        assert inputs["ids"].shape == (len(data), 4)
        return Reader()

    target = gl.torch_target(Reader(), example=members[0], train=train, recipe="own")
    predict = target.can["train"](as_data(members, side="members"), np.random.default_rng(0))
    assert predict(as_data(members, side="members").x).shape == (60, 2)


def test_weights_are_read_from_files(tmp_path, blobs):
    trained = network()
    torch.save(trained.state_dict(), tmp_path / "weights.pt")
    torch.save({"epoch": 3, "state_dict": trained.state_dict()}, tmp_path / "loop.ckpt")
    x = blobs[0][0]
    expected = gl.torch_target(trained).predict(x)
    structure = network()
    before = [value.clone() for value in structure.parameters()]
    for name in ("weights.pt", "loop.ckpt"):
        assert np.array_equal(gl.torch_target(structure, weights=tmp_path / name).predict(x), expected)
    assert all(torch.equal(a, b) for a, b in zip(before, structure.parameters(), strict=True))
    paths = [tmp_path / "weights.pt", tmp_path / "loop.ckpt"]
    outputs = list(gl.torch_target(structure, checkpoints=paths).can["checkpoints"](x))
    assert all(np.array_equal(part, expected) for part in outputs)


class Harm:
    """An object whose unpickling would run code."""

    def __reduce__(self):
        return (exec, ("raise SystemExit",))


def test_files_with_code_or_other_weights_are_refused(tmp_path):
    torch.save({"state_dict": Harm()}, tmp_path / "harm.pt")
    with pytest.raises(InputError, match="weights_only=True") as refused:
        gl.torch_target(network(), weights=tmp_path / "harm.pt")
    assert "[1m" not in str(refused.value)  # torch writes bold text
    torch.save(torch.nn.Linear(2, 2).state_dict(), tmp_path / "other.pt")
    with pytest.raises(InputError, match=r"do not fit Sequential .*Missing key"):
        gl.torch_target(network(), weights=tmp_path / "other.pt")
    with pytest.raises(InputError, match="There is no file"):
        gl.torch_target(network(), weights=tmp_path / "none.pt")


def test_the_mode_of_every_part_is_restored(blobs):
    module = torch.nn.Sequential(torch.nn.Linear(5, 5), torch.nn.BatchNorm1d(5), torch.nn.Linear(5, 3)).train()
    module[1].eval()
    target = gl.torch_target(module)
    x, y = blobs[0]
    target.predict(x)
    target.can["layers"](x)
    target.can["white_box"](x[:4], y[:4])
    assert [part.training for part in module] == [True, False, True]
