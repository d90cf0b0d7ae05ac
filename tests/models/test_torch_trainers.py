"""Recipes that call the trainers of Lightning and of Hugging Face; the models are made here, and nothing is downloaded."""

import numpy as np
import pytest

import guestlist as gl
from guestlist import InputError
from guestlist.data import as_data
from guestlist.defences import device_of

torch = pytest.importorskip("torch")

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # importing the libraries takes seconds and warns


@pytest.fixture(scope="module")
def lightning_module():
    lightning = pytest.importorskip("lightning")

    class Own(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(5, 3)
            self.steps = 0

        def forward(self, x):
            return self.layer(x)

        def training_step(self, batch, number):
            x, y = batch
            self.steps += 1
            return torch.nn.functional.cross_entropy(self(x), y)

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    return Own()


def parameters(module):
    return np.concatenate([value.detach().numpy().ravel() for value in module.parameters()])


def test_lightning_trains_by_the_modules_own_step(lightning_module, blobs, capfd):
    recipe = gl.models.LightningFit(epochs=3, batch_size=60)
    data = gl.Data(blobs[0][0].astype(np.float32), blobs[0][1])
    before = parameters(lightning_module)
    first, second = (recipe(lightning_module, data, np.random.default_rng(1)) for _ in range(2))
    assert first.steps == 3 * 4
    assert np.array_equal(parameters(first), parameters(second))
    assert np.array_equal(parameters(lightning_module), before)
    assert not np.array_equal(parameters(recipe(lightning_module, data, np.random.default_rng(2))), parameters(first))
    accuracy = (gl.torch_target(first).predict(data.x).argmax(axis=1) == data.y).mean()
    assert accuracy > 0.4
    assert not first.training
    assert first._trainer is None
    assert capfd.readouterr().out == ""


def test_a_lightning_module_is_audited(lightning_module, blobs):
    target = gl.torch_target(lightning_module, train=gl.models.LightningFit(epochs=1, device="cpu"))
    results = gl.audit(target, *blobs, references=4, attacks=["loss"], baseline=False, jobs=1)
    assert results.references.count == 4
    assert results.subject.name == "Own"


def test_lightning_batches_may_have_another_form(lightning_module, blobs):
    class Named(type(lightning_module)):
        def training_step(self, batch, number):
            return super().training_step((batch["x"], batch["label"]), number)

    recipe = gl.models.LightningFit(epochs=1, batch=lambda inputs, labels: {"x": inputs, "label": labels})
    data = as_data(blobs[0], side="members")
    plain = gl.models.LightningFit(epochs=1)(lightning_module, data, np.random.default_rng(1))
    assert np.array_equal(parameters(recipe(Named(), data, np.random.default_rng(1))), parameters(plain))


def test_lightning_refuses_other_modules(blobs):
    pytest.importorskip("lightning")
    with pytest.raises(InputError, match="training_step"):
        gl.models.LightningFit()(torch.nn.Linear(5, 3), gl.Data(*blobs[0]), np.random.default_rng(0))


class Sentences(torch.utils.data.Dataset):
    def __init__(self, count=40, seed=0):
        rng = np.random.default_rng(seed)
        self.tokens = rng.integers(0, 20, size=(count, 6))
        self.label = (self.tokens[:, 0] < 10).astype(int)

    def __len__(self):
        return len(self.label)

    def __getitem__(self, row):
        return {"input_ids": self.tokens[row], "attention_mask": np.ones(6, dtype=int), "labels": self.label[row]}


@pytest.fixture(scope="module")
def bert():
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("accelerate")
    config = transformers.BertConfig(
        vocab_size=20, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8
    )
    return transformers.BertForSequenceClassification(config)


def test_transformers_train_a_new_model_of_the_configuration(bert, capfd):
    sentences = Sentences()
    recipe = gl.models.HuggingFaceFit(epochs=8, batch_size=8, learning_rate=0.02, device="cpu")
    target = gl.torch_target(bert, example=sentences[0], train=recipe)
    before = parameters(bert)
    data = as_data(sentences, side="members")
    first, second = (target.can["train"](data, np.random.default_rng(1)) for _ in range(2))
    assert np.array_equal(parameters(first.module), parameters(second.module))
    assert np.array_equal(parameters(bert), before)
    assert device_of(first.module).type == "cpu"
    assert (first(data.x).argmax(axis=1) == data.y).mean() > 0.8
    assert "train_runtime" not in capfd.readouterr().out


def test_a_transformer_is_audited(bert):
    members, nonmembers = Sentences(seed=0), Sentences(seed=1)
    recipe = gl.models.HuggingFaceFit(epochs=1, device="cpu")
    target = gl.torch_target(bert, example=members[0], train=recipe)
    results = gl.audit(target, members, nonmembers, references=4, attacks=["loss"], baseline=False, jobs=1)
    assert results.references.count == 4


def test_transformers_need_a_configuration_and_names(bert):
    recipe = gl.models.HuggingFaceFit(epochs=1, device="cpu")
    rng = np.random.default_rng(0)
    with pytest.raises(InputError, match="config"):
        recipe(torch.nn.Linear(6, 2), gl.Data(np.zeros((4, 6)), np.zeros(4, dtype=int)), rng)
    with pytest.raises(InputError, match="example="):
        recipe(bert, gl.Data(np.zeros((4, 6)), np.zeros(4, dtype=int)), rng)


@pytest.mark.parametrize("recipe", [gl.models.LightningFit, gl.models.HuggingFaceFit])
def test_options_are_checked_and_identify_the_recipe(recipe):
    with pytest.raises(ValueError, match="epochs"):
        recipe(epochs=0)
    assert recipe(epochs=2).describe() != recipe(epochs=3).describe()
    assert recipe(arguments={"a": 1}).describe() != recipe().describe()
    assert recipe(device="cpu").describe() == recipe().describe()
