"""Influence functions and TracIn of the members of a torch model, computed by captum.

These are the baselines that SHAPr was compared with (Duddu et al. 2022, section X-A). Both estimate by how much a member lowered
the mean loss of test records; values above 0 mean that it helped. Without test records they refer to the member's own
loss.
"""

import copy
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from guestlist._util import choice, close_matches, extra, integer, number, torch
from guestlist.defences.torch_training import labels_for, loss_of, tensor
from guestlist.errors import InputError

# The Hessian of more parameters is not formed, since its eigenvalues would take minutes.
MAX_PARAMETERS = 5000
# Largest number of values in the gradients of one batch.
BATCH_NUMBERS = 2**24
# The Hessian needs no gradients of single records, so that its batches can be larger.
HESSIAN_BATCH = 4096


def influence_functions(
    module,
    x,
    y,
    x_test=None,
    y_test=None,
    *,
    layers: Sequence[str] | None = None,
    rank: int | None = None,
    damping: float = 0.01,
    loss: str = "cross_entropy",
    seed: int = 0,
) -> np.ndarray:
    """Compute influence functions (Koh & Liang 2017) of members on the loss of test records.

    The value of a member is the increase of that loss if the model were trained without it.

    To first order, it is g_test' H⁻¹ g_i, with gradients of the loss at a test record and at the member, and the Hessian of
    the sum of losses over all members; averaged over test records. Without test records, it is the influence of each
    member on itself. Directions of negative curvature, which a trained network has, are omitted.

    Args:
        module: Module that outputs logits, or one number if the loss is squared; it is not changed.
        x, y: Members: features as the module reads them, and positions of the classes, or numbers.
        x_test, y_test: Records that it was not trained on.
        layers: Names of the submodules with the parameters to use; all by default.
        rank: Number of directions of the largest curvature, from Arnoldi's iteration (Schioppa et al. 2022); None uses all,
            from the full Hessian, which needs few parameters.
        damping: Number added to the Hessian of the mean loss, like a penalty of half this times the squared parameters.
        loss: ``cross_entropy`` or ``squared``, as in ``Fit``.
        seed: Random seed of the direction that Arnoldi's iteration starts from.

    Returns:
        (members,) values.

    Raises:
        ValueError: If a number is out of range.
        InputError: If the full Hessian would have too many parameters, or the extra ``attribution`` is not installed.
    """
    influence = _captum()
    number("damping", damping, 0, ends="[)")
    if rank is not None:
        integer("rank", rank, 1)
    module = copy.deepcopy(module).eval().requires_grad_(True)
    if rank is None:
        module = module.double()  # in float32 a small eigenvalue is mostly rounding
    members = _records(module, x, y, loss, "x")
    tests = _tests(module, x_test, y_test, loss)
    _check_layers(module, layers)
    parameters = _parameters(module, layers)
    chosen = _size(parameters)
    if rank is None and chosen > MAX_PARAMETERS:
        raise InputError(_too_many(module, chosen, layers))
    reg = damping * len(members[1])
    common = {
        **_arguments(module, members, layers, loss),
        "checkpoint": None,
        "checkpoints_load_func": lambda model, checkpoint: 1.0,  # keeps the current parameters
        "batch_size": _batch(module),
        "hessian_dataset": _loader(members, HESSIAN_BATCH),
        "hessian_reg": reg,
        # Eigenvalues below half of the added damping were negative.
        "hessian_inverse_tol": max(reg / 2, 1e-9 * len(members[1])),
    }
    with _quietly():
        if rank is None:
            estimator = influence.NaiveInfluenceFunction(**common, projection_dim=chosen)
        else:
            from captum.influence._core.arnoldi_influence_function import ArnoldiInfluenceFunction

            estimator = ArnoldiInfluenceFunction(
                **common,
                projection_dim=rank,
                arnoldi_dim=min(4 * rank, chosen),  # same proportion as in the paper
                arnoldi_tol=1e-9,
                seed=seed,
            )
        if tests is None:
            # The influence of one record on another is the product of captum's embeddings.
            batches = _loader(members, _batch(module))
            embedded = (estimator.compute_intermediate_quantities(tuple(batch)).cpu().numpy() for batch in batches)
            return np.concatenate([np.square(part.astype(np.float64)).sum(axis=1) for part in embedded])
        return _on_average(estimator.R, module, parameters, members, tests, loss)


def tracin(
    checkpoints,
    x,
    y,
    x_test=None,
    y_test=None,
    *,
    learning_rate: float | Sequence[float] = 1.0,
    layers: Sequence[str] | None = None,
    loss: str = "cross_entropy",
) -> np.ndarray:
    """Compute TracIn (Pruthi et al. 2020): the loss of test records that steps on each member removed.

    It is the sum over checkpoints of learning rate × g_test' g_i, averaged over test records. Without test records, it
    is the value of each member for itself: learning rate × ‖g_i‖².

    Args:
        checkpoints: Modules with the parameters at several steps of training, such as
            ``Fit().checkpoints(module, data, rng)`` returns; or one module.
        x, y, x_test, y_test, layers, loss: As in :func:`influence_functions`.
        learning_rate: Learning rate of all checkpoints, or of each.

    Returns:
        (members,) values.

    Raises:
        InputError: If checkpoints and learning rates do not fit together, or the extra ``attribution`` is not installed.
    """
    influence = _captum()
    modules = checkpoints if isinstance(checkpoints, list | tuple) else [checkpoints]
    learning_rates = np.asarray(learning_rate, dtype=np.float64)
    if not modules or learning_rates.shape not in ((), (len(modules),)):
        raise InputError(
            f"Pass at least one checkpoint, and one learning rate for all or one for each; found {len(modules)} "
            f"checkpoints and rates shaped {learning_rates.shape}."
        )
    rates = np.broadcast_to(learning_rates, len(modules)).tolist()
    states = [part.state_dict() for part in modules]
    module = copy.deepcopy(modules[0]).eval().requires_grad_(True)
    members = _records(module, x, y, loss, "x")
    tests = _tests(module, x_test, y_test, loss)
    _check_layers(module, layers)

    def load(model, k: int) -> float:
        model.load_state_dict(states[k])
        return rates[k]

    estimator = influence.TracInCP(
        **_arguments(module, members, layers, loss),
        checkpoints=list(range(len(modules))),
        checkpoints_load_func=load,
        batch_size=_batch(module),
    )
    with _quietly():
        if tests is None:
            return estimator.self_influence(_loader(members, _batch(module))).cpu().numpy().astype(np.float64)
        values = estimator.influence(_loader(tests, _batch(module)), aggregate=True)
    return values.flatten().cpu().numpy().astype(np.float64) / len(tests[1])


def _captum() -> Any:
    return extra("captum.influence", "Attribution by influence functions or TracIn")


def _arguments(module, members, layers: Sequence[str] | None, loss: str) -> dict[str, Any]:
    """Return the arguments that captum's classes have in common."""
    at_once = _at_once(module, layers)
    return {
        "model": module,
        "train_dataset": torch.utils.data.TensorDataset(*members),
        "layers": None if layers is None else list(layers),
        "loss_fn": _Loss(loss, "sum" if at_once else "none"),
        "sample_wise_grads_per_batch": at_once,
    }


@dataclass(frozen=True)
class _Loss:
    """Loss of each record of a batch, or their sum; captum reads ``reduction``."""

    loss: str
    reduction: str

    def __call__(self, outputs, y):
        return loss_of(self.loss, outputs, y, self.reduction)


def _at_once(module, layers: Sequence[str] | None) -> bool:
    """Return True if captum can compute the gradients of all records of a batch in one pass."""
    nn = torch.nn
    parts = module.modules() if layers is None else [module.get_submodule(name) for name in layers]
    return all(
        isinstance(part, nn.Linear)
        or (
            isinstance(part, nn.Conv2d)
            and part.groups == 1
            and part.padding_mode == "zeros"
            and not isinstance(part.padding, str)
        )
        for part in parts
        if next(part.parameters(recurse=False), None) is not None
    )


def _on_average(root, module, parameters: dict[str, Any], members, tests, loss: str) -> np.ndarray:
    """Compute (members,) g_i' R R' g, with g the mean gradient of test records and R R' captum's inverse Hessian.

    One direction serves all members, so the slope of their losses along it replaces their gradients.
    """
    functional_call = torch.func.functional_call
    losses = _Loss(loss, "none")
    chosen = {name: parameter.detach() for name, parameter in parameters.items()}
    mean = [torch.zeros_like(part) for part in chosen.values()]
    for x, y in _loader(tests, HESSIAN_BATCH):
        parts = torch.autograd.grad(losses(module(x), y).sum(), list(parameters.values()))
        mean = [total + part / len(tests[1]) for total, part in zip(mean, parts, strict=True)]
    if isinstance(root, torch.Tensor):  # (parameters, directions), all parameters in one row
        flat = root @ (root.T @ torch.cat([part.flatten() for part in mean]))
        parts = flat.split([part.numel() for part in mean])
        along = [part.reshape(like.shape) for part, like in zip(parts, mean, strict=True)]
    else:  # one tuple of tensors for each direction
        shares = [sum((a * b).sum() for a, b in zip(way, mean, strict=True)) for way in root]
        along = [
            sum(share * part for share, part in zip(shares, parts, strict=True)) for parts in zip(*root, strict=True)
        ]
    ways = dict(zip(parameters, along, strict=True))
    slopes = []
    for x, y in _loader(members, HESSIAN_BATCH):
        slope = torch.func.jvp(
            lambda values, x=x, y=y: losses(functional_call(module, values, (x,)), y), (chosen,), (ways,)
        )[1]
        slopes.append(slope.detach().cpu().numpy())
    return np.concatenate(slopes).astype(np.float64)


def _parameters(module, layers: Sequence[str] | None = None) -> dict[str, Any]:
    """Return the chosen parameters by name, in captum's order."""
    if layers is None:
        return dict(module.named_parameters())
    return {
        f"{layer}.{name}": part for layer in layers for name, part in module.get_submodule(layer).named_parameters()
    }


def _size(parameters: dict[str, Any]) -> int:
    return sum(parameter.numel() for parameter in parameters.values())


def _loader(records, size: int):
    data = torch.utils.data
    return data.DataLoader(data.TensorDataset(*records), batch_size=size, shuffle=False)


def _batch(module) -> int:
    return int(np.clip(BATCH_NUMBERS // max(_size(_parameters(module)), 1), 1, 1024))


def _records(module, x, y, loss: str, name: str):
    choice("loss", loss, ("cross_entropy", "squared"))
    if len(x) != len(y) or not len(x):
        raise InputError(
            f"{name} and its labels must have the same number of records, at least one; found {len(x)} and {len(y)}."
        )
    return tensor(x, module), labels_for(loss, y, module)


def _tests(module, x_test, y_test, loss: str):
    if (x_test is None) != (y_test is None):
        raise InputError("x_test and y_test must be passed together. Pass both, or neither.")
    if x_test is None:
        return None
    return _records(module, x_test, y_test, loss, "x_test")


def _check_layers(module, layers: Sequence[str] | None) -> None:
    available = _layer_names(module)
    unknown = [name for name in layers or () if name not in available]
    if unknown or (layers is not None and not len(layers)):
        raise InputError(
            f"layers={list(layers or ())} must be layers with parameters. Available names: "
            f"{close_matches(next(iter(layers or ()), ''), available)}."
        )


def _layer_names(module) -> list[str]:
    return [name for name, part in module.named_modules() if name and next(part.parameters(), None) is not None]


def _too_many(module, chosen: int, layers: Sequence[str] | None) -> str:
    names = _layer_names(module)
    last = ""
    if names and not layers:
        last = f" layers=[{names[-1]!r}] for the last layer ({_size(_parameters(module, names[-1:])):,} parameters) or"
    return (
        f"The Hessian of {chosen:,} parameters is too large to be inverted: the limit is {MAX_PARAMETERS:,}. Pass"
        f"{last} rank=50 for the directions of the largest curvature."
    )


@contextmanager
def _quietly() -> Iterator[None]:
    """Restore torch's random state, which captum sets, and silence the warnings of both."""
    with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
