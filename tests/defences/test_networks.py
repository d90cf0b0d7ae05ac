"""The networks have the papers' layers: their parameters are counted by hand."""

import pytest

import guestlist as gl

torch = pytest.importorskip("torch")


def parameters(module):
    return sum(p.numel() for p in module.parameters())


@pytest.mark.parametrize(("features", "classes"), [(600, 100), (446, 30), (3, 2)])
def test_the_perceptron_has_four_hidden_layers_of_halving_width(features, classes):
    module = gl.defences.mlp(features, classes)
    counted = (features + 1) * 512 + 513 * 256 + 257 * 128 + 129 * 64 + 65 * classes
    assert parameters(module) == counted
    linear = [(m.in_features, m.out_features) for m in module if isinstance(m, torch.nn.Linear)]
    assert linear == [(features, 512), (512, 256), (256, 128), (128, 64), (64, classes)]
    assert isinstance(module[-1], torch.nn.Linear)  # logits: no softmax at the end
    assert sum(isinstance(m, torch.nn.ReLU) for m in module) == 4


def test_layers_and_activation_may_be_chosen():
    module = gl.defences.mlp(7, 3, hidden=(5,), activation="Tanh")
    assert parameters(module) == 8 * 5 + 6 * 3
    assert isinstance(module[1], torch.nn.Tanh)
    assert parameters(gl.defences.mlp(7, 3, hidden=())) == 8 * 3  # logistic regression


@pytest.mark.parametrize(("side", "channels", "width"), [(28, 1, 5), (32, 3, 6)])
def test_the_convolutional_network_has_two_layers_of_filters(side, channels, width):
    """3 x 3 filters lose two pixels, and pooling halves: 28 -> 26 -> 13 -> 11 -> 5, and 32 -> 30 -> 15 -> 13 -> 6."""
    module = gl.defences.cnn(side, 10, channels=channels)
    counted = (9 * channels + 1) * 32 + (9 * 32 + 1) * 64 + (64 * width * width + 1) * 10
    assert parameters(module) == counted
    assert module(torch.zeros(2, channels, side, side)).shape == (2, 10)


def test_modules_that_cannot_be_built_are_reported():
    with pytest.raises(ValueError, match="activation='Relu'"):
        gl.defences.mlp(3, 2, activation="Relu")
    with pytest.raises(ValueError, match="side=8 is too small for 2 layers"):
        gl.defences.cnn(8, 10, filters=(4, 4))
    with pytest.raises(ValueError, match=r"filters=\(\)"):
        gl.defences.cnn(28, 10, filters=())


def test_every_part_can_be_initialised_again():
    from guestlist.defences.torch_training import fresh

    for module in (gl.defences.mlp(4, 3), gl.defences.cnn(12, 3)):
        again = fresh(module)
        for before, after in zip(module.parameters(), again.parameters(), strict=True):
            assert before.shape == after.shape
            # Offsets begin at 0 each time.
            assert torch.equal(before, after) == (before.ndim == 1)


def test_parameters_begin_as_glorot_and_bengio_have_it():
    """Uniform within the root of 6 over inputs plus outputs (a filter of 3 x 3 counts ninefold), and no offset."""
    torch.manual_seed(0)
    for module in (gl.defences.mlp(40, 3, hidden=(200,)), gl.defences.cnn(12, 3, filters=(60, 30))):
        for layer in module:
            if not hasattr(layer, "weight"):
                continue
            weight = layer.weight.detach()
            outputs, inputs, *sides = weight.shape
            bound = (6 / ((inputs + outputs) * int(torch.tensor(sides or [1]).prod()))) ** 0.5
            assert 0.97 * bound < weight.abs().max() <= bound
            assert weight.std() == pytest.approx(bound / 3**0.5, rel=0.1)
            assert not layer.bias.any()


def test_layers_stay_those_that_other_libraries_know():
    """Opacus and Captum look a layer's class up, and a subclass is another class."""
    kinds = {
        type(part)
        for module in (gl.defences.mlp(4, 3), gl.defences.cnn(12, 3))
        for part in module
        if hasattr(part, "weight")
    }
    assert kinds == {torch.nn.Linear, torch.nn.Conv2d}


def test_a_module_may_draw_the_parameters_of_its_parts():
    from guestlist.defences.torch_training import fresh

    class Ones(torch.nn.Sequential):
        def reset_parameters(self):
            for part in self:
                torch.nn.init.ones_(part.weight)

    inside = fresh(torch.nn.Sequential(Ones(torch.nn.Linear(2, 3)), torch.nn.Linear(3, 2)))
    assert (inside[0][0].weight == 1).all()
    assert (inside[1].weight != 1).all()
