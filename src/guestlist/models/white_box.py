"""Features from the parameters of a torch module, and feature spaces for neighbours."""

from typing import Any

import numpy as np

from guestlist._util import reason, torch
from guestlist.defences import evaluation_mode, tensor
from guestlist.errors import InputError
from guestlist.models.scales import cross_entropy, margin
from guestlist.models.target import Target, WhiteBoxFeatures, predict_outputs

# Number of principal components of a wide last hidden layer, and of the largest logits.
WIDEST = 32
# Maximum number of values in the gradients of one batch.
BATCH_NUMBERS = 2**24


def white_box_features(module, x, labels: np.ndarray) -> WhiteBoxFeatures:
    """Return each record's gradient norm of every layer, last hidden activations, loss, margin and sorted logits."""
    numbers = sum(parameter.numel() for parameter in module.parameters())
    size = int(np.clip(BATCH_NUMBERS // max(numbers, 1), 1, 1024))
    parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    with evaluation_mode(module):
        for start in range(0, len(labels), size):
            batch = tensor(x[start : start + size], module)
            batch_norms = gradient_norms(module, batch.clone(), labels[start : start + size])
            parts.append((batch_norms, *_hidden_and_logits(module, batch)))
    norms, hidden, logits = (np.concatenate(part) for part in zip(*parts, strict=True))
    components = principal_components(hidden, WIDEST)
    ordered = -np.sort(-logits, axis=1)[:, :WIDEST]
    columns = {
        **{f"gradient of {layer}": norms[:, i] for i, layer in enumerate(layers(module))},
        "norm of hidden": np.linalg.norm(hidden, axis=1),
        **{f"hidden {i + 1}": components[:, i] for i in range(components.shape[1])},
        "loss": cross_entropy(logits, labels),
        "margin": margin(logits, labels),
        **{f"logit {i + 1}": ordered[:, i] for i in range(ordered.shape[1])},
    }
    return WhiteBoxFeatures(np.column_stack(list(columns.values())), tuple(columns))


def layers(module) -> dict[str, list[str]]:
    """Return the names of submodules that own trained parameters, and the names of those parameters."""
    groups: dict[str, list[str]] = {}
    for name, parameter in module.named_parameters():
        if parameter.requires_grad:
            groups.setdefault(name.rpartition(".")[0] or type(module).__name__, []).append(name)
    return groups


def gradient_norms(module, x, labels: np.ndarray) -> np.ndarray:
    """Return (records, layers) the norm of the gradient of each record's loss."""
    groups = layers(module)
    if not groups:
        raise InputError(
            "The module has no trainable parameters, so it has no gradients. Set requires_grad of its parameters to True."
        )
    parameters = {name: parameter.detach() for name, parameter in module.named_parameters()}
    trained = {name: parameters.pop(name) for group in groups.values() for name in group}
    fixed = {**parameters, **{name: buffer.detach() for name, buffer in module.named_buffers()}}

    def own_loss(trained, record, label):
        logits = torch.func.functional_call(module, {**trained, **fixed}, (record[None],))
        return torch.nn.functional.cross_entropy(logits, label[None])

    targets = torch.as_tensor(np.asarray(labels, dtype=np.int64), device=x.device)
    try:
        gradients = torch.func.vmap(torch.func.grad(own_loss), in_dims=(None, 0, 0))(trained, x, targets)
    except RuntimeError as error:
        raise InputError(
            f"Torch cannot compute this module's gradients record by record ({reason(error)}). Omit 'white_box' from "
            "evidence= (--evidence)."
        ) from error
    squares = {name: part.cpu().to(torch.float64).flatten(1).square().sum(1) for name, part in gradients.items()}
    return torch.stack([sum(squares[name] for name in group).sqrt() for group in groups.values()], dim=1).numpy()


def _hidden_and_logits(module, x) -> tuple[np.ndarray, np.ndarray]:
    """Return (records, width) inputs of the last layer with parameters, and (records, classes) logits.

    If the last layer reads the record itself, the width is 0: guestlist stores activations, never features.
    """
    inputs, logits = inputs_of_layers(module, x.clone())
    hidden, raw = (part.flatten(1) for part in (inputs[-1], x))
    if hidden.shape == raw.shape and torch.equal(hidden, raw.to(hidden.dtype)):
        hidden = hidden[:, :0]
    return hidden.cpu().to(torch.float64).numpy(), logits.cpu().to(torch.float64).numpy()


def layer_activations(module, x, batch_size: int = 1024) -> dict[str, np.ndarray]:
    """Return the activations of a module: name of a layer to (records, width).

    ``first`` is the input of the second layer with parameters, ``last_hidden`` that of the last one; a module with one such
    layer has neither.
    """
    parts = []
    with evaluation_mode(module):
        for start in range(0, len(x), batch_size):
            inputs, _ = inputs_of_layers(module, tensor(x[start : start + batch_size], module))
            parts.append([inputs[1].cpu(), inputs[-1].cpu()] if len(inputs) > 1 else [])
    activations = (torch.cat([part.flatten(1) for part in layer]) for layer in zip(*parts, strict=True))
    return {
        name: part.to(torch.float64).numpy() for name, part in zip(("first", "last_hidden"), activations, strict=False)
    }


def inputs_of_layers(module, x) -> tuple[list, Any]:
    """Return the inputs of the layers with parameters, in the order of calls, and the module's outputs."""
    layer_inputs = []
    hooks = [
        part.register_forward_pre_hook(
            lambda _part, inputs, named: layer_inputs.extend([*inputs, *named.values()][:1]), with_kwargs=True
        )
        for part in module.modules()
        if next(part.parameters(recurse=False), None) is not None
    ]
    try:
        with torch.no_grad():
            outputs = module(x)
    finally:
        for hook in hooks:
            hook.remove()
    return layer_inputs, outputs


def principal_components(values: np.ndarray, count: int) -> np.ndarray:
    """Return (records, at most ``count``): the values, or their first principal components if they are more."""
    if values.shape[1] <= count:
        return values
    centred = values - values.mean(axis=0)
    _, directions = np.linalg.eigh(centred.T @ centred)  # smallest first
    chosen = directions[:, : -count - 1 : -1]
    largest = np.abs(chosen).argmax(axis=0)
    return centred @ (chosen * np.sign(chosen[largest, np.arange(count)]))  # the sign of a direction is arbitrary


# Name of a space to the layer of a torch module, if it is one.
SPACES = {"inputs": "", "first_layer": "first", "last_hidden": "last_hidden", "outputs": ""}


def default_space(target: Target) -> str:
    """Return the space of SHAPr: the first layer if the model has layers, otherwise the outputs.

    Args:
        target: Target of the audit.

    Returns:
        ``first_layer`` or ``outputs``.
    """
    if "layers" in target.can:
        return "first_layer"
    return "outputs"


def space_of(target: Target, name: str, x) -> np.ndarray:
    """Return the records in a feature space.

    Args:
        target: Target of the audit.
        name: ``inputs``, ``first_layer``, ``last_hidden`` or ``outputs``: the target's probabilities.
        x: Features as the target reads them.

    Returns:
        (records, dimensions) coordinates.

    Raises:
        InputError: If the space is unknown, or the target does not have it.
    """
    if name not in SPACES:
        raise InputError(f"There is no space {name!r}. Choose one of {', '.join(SPACES)}, or pass an array.")
    if name == "outputs":
        return np.exp(target.scale.log_probabilities(predict_outputs(target.predict, x, target.columns, target.scale)))
    if name == "inputs":
        return _numbers(target, x)
    layers = target.needs("layers", _NO_LAYERS.format(space=name))(x)
    if SPACES[name] not in layers:
        raise InputError(f"{target.name} has only one layer, so it has no {name!r}. Use 'inputs' or 'outputs'.")
    return layers[SPACES[name]]


_NO_LAYERS = "The space {space!r} needs a torch target, and {{name}} is not one{{why}}. Use 'inputs' or 'outputs'."


def _numbers(target: Target, x) -> np.ndarray:
    try:
        dense = np.asarray(x, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"Some features of {target.name} are not numbers ({reason(error)}), so distances are undefined. Use "
            "'outputs', or pass an array to gl.risks.shapr."
        ) from error
    return dense.reshape(len(dense), -1)
