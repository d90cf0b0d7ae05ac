"""``python -m benchmarks.training``: CPU time of training torch modules with one thread, as ratios in one run.

* An epoch with differential privacy compared with plain training, and with Opacus in its two modes.
* The same for a convolutional network, compared with Opacus in its faster mode.
* Many references of one network, trained one by one and in stacks of 16, compared with a plain loop.
"""

from __future__ import annotations

import argparse
import copy
import json
import statistics
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn.functional import cross_entropy

import guestlist as gl
from guestlist.defences.torch_training import SLOTS

HERE = Path(__file__).parent
FEATURES, CLASSES = 446, 30  # features and classes of Location30
BATCH, BATCHES = 64, (64, 256)  # batch sizes of references, and of private training
PRIVATE, REFERENCE = (256, 256), (256, 128)
SMALL = (64, 10, (64,))  # features, classes and hidden units of a network that is mostly overhead
RATE = 1e-3  # learning rate of AdamW; 0.1 for SGD
LONG = 10  # epochs of a training in which the copies of the networks take little of the time
SIDE = 28  # height and width of the images of a convolutional network
PARTS = ("private", "convolutions", "references")


def records(count: int, features: int = FEATURES, classes: int = CLASSES) -> gl.Data:
    """Return binary records, 20 % ones, with random labels."""
    rng = np.random.default_rng(0)
    return gl.Data((rng.random((count, features)) < 0.2).astype(np.float32), rng.integers(classes, size=count))


def cpu_seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def median_seconds(ways: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Return the median CPU seconds of each method, run alternately, after a warm-up round."""
    rounds = [{name: cpu_seconds(way) for name, way in ways.items()} for _ in range(1 + repeats)][1:]
    return {name: statistics.median(seconds_by_way[name] for seconds_by_way in rounds) for name in ways}


def private_ways(count: int, batch: int, epochs: int) -> dict[str, Callable[[], object]]:
    """Return methods that train one network by SGD, on batches with (an expected number of) ``batch`` records."""
    data, module = records(count), gl.defences.mlp(FEATURES, CLASSES, hidden=PRIVATE)
    plain = gl.defences.Fit(epochs, batch, 0.1, optimizer="sgd")
    private = gl.defences.DpSgd(noise=1.0, rate=batch / count, epochs=epochs, learning_rate=0.1)
    return {
        "plain": lambda: plain(module, data, np.random.default_rng(0)),
        "DP-SGD": lambda: private(module, data, np.random.default_rng(0)),
        "Opacus, ghost": lambda: opacus(module, data, batch, epochs, "ghost"),
        "Opacus, default": lambda: opacus(module, data, batch, epochs, "hooks"),
    }


def convolution_ways(count: int, batch: int, epochs: int) -> dict[str, Callable[[], object]]:
    """Train one convolutional network on images by SGD, on batches of ``batch`` records or of that number on average."""
    rng = np.random.default_rng(0)
    images = rng.random((count, 1, SIDE, SIDE)).astype(np.float32)
    data = gl.Data(images, rng.integers(10, size=count))
    module = gl.defences.cnn(SIDE, 10)
    plain = gl.defences.Fit(epochs, batch, 0.1, optimizer="sgd")
    private = gl.defences.DpSgd(noise=1.0, rate=batch / count, epochs=epochs, learning_rate=0.1)
    return {
        "plain": lambda: plain(module, data, np.random.default_rng(0)),
        "DP-SGD": lambda: private(module, data, np.random.default_rng(0)),
        "Opacus, ghost": lambda: opacus(module, data, batch, epochs, "ghost"),
    }


def opacus(module, data: gl.Data, batch: int, epochs: int, mode: str) -> None:
    """Run the same private training as in the examples of Opacus."""
    from opacus import PrivacyEngine
    from torch.utils.data import DataLoader, TensorDataset

    module = copy.deepcopy(module).train()
    loader = DataLoader(TensorDataset(torch.as_tensor(data.x), torch.as_tensor(data.y)), batch_size=batch)
    private_training = PrivacyEngine().make_private(
        module=module,
        optimizer=torch.optim.SGD(module.parameters(), lr=0.1),
        criterion=torch.nn.CrossEntropyLoss(),
        data_loader=loader,
        noise_multiplier=1.0,
        max_grad_norm=1.0,
        poisson_sampling=True,
        grad_sample_mode=mode,
    )
    private, optimizer, *criteria, batches = private_training
    criterion = criteria[0] if criteria else torch.nn.CrossEntropyLoss()
    for _ in range(epochs):
        for x, y in batches:
            optimizer.zero_grad()
            criterion(private(x), y).backward()
            optimizer.step()


def reference_ways(models: int, count: int, epochs: int, shape=(FEATURES, CLASSES, REFERENCE)) -> dict:
    """Return methods that train ``models`` networks from random parameters, each on all records."""
    features, classes, hidden = shape
    data, module = records(count, features, classes), gl.defences.mlp(features, classes, hidden=hidden)
    fit = gl.defences.Fit(epochs, BATCH, RATE)
    x, y = torch.as_tensor(data.x), torch.as_tensor(data.y)
    started = [started_with(module, k) for k in range(models)]
    return {
        "plain loop": lambda: [plain_loop(network, x, y, epochs, k) for k, network in enumerate(started)],
        "guestlist, one by one": lambda: [fit(module, data, np.random.default_rng(k)) for k in range(models)],
        "guestlist, stacks": lambda: [
            trained
            for first in range(0, models, SLOTS)
            for trained in together(fit, module, data, range(first, min(first + SLOTS, models)))
        ],
    }


def together(fit: gl.defences.Fit, module, data: gl.Data, numbers: Sequence[int]) -> list:
    """Train networks with these seeds in one stack."""
    everything = np.ones(len(data), dtype=bool)
    return fit.train_together(module, data, [everything] * len(numbers), [np.random.default_rng(k) for k in numbers])


def started_with(module, seed: int):
    torch.manual_seed(seed)
    module = copy.deepcopy(module)
    module.reset_parameters()
    return module


def orders(count: int, epochs: int, seed: int):
    """Yield the rows of each batch."""
    rng = np.random.default_rng(seed)
    for _ in range(epochs):
        yield from torch.as_tensor(rng.permutation(count)).tensor_split(round(count / BATCH))


def plain_loop(module, x, y, epochs: int, seed: int) -> None:
    """Train in a plain loop: data in memory, no loader, torch's default optimiser."""
    module = copy.deepcopy(module)
    optimizer = torch.optim.AdamW(module.parameters(), lr=RATE, weight_decay=0.0)
    for rows in orders(len(y), epochs, seed):
        optimizer.zero_grad()
        cross_entropy(module(x[rows]), y[rows]).backward()
        optimizer.step()


def shares(seconds: dict[str, float], of: str) -> dict[str, float]:
    return {name: round(value / seconds[of], 3) for name, value in seconds.items()}


def is_identical_in_any_stack(shape, count: int) -> bool:
    """Return whether networks are identical in a full stack and in stacks of different order, companions and copies."""
    features, classes, hidden = shape
    data, module = records(count, features, classes), gl.defences.mlp(features, classes, hidden=hidden)
    fit = gl.defences.Fit(1, BATCH, RATE)
    full = together(fit, module, data, range(SLOTS))
    for numbers in ([3], [7, 20, 3, 30, 0], [15, *range(15)]):
        for k, network in zip(numbers, together(fit, module, data, numbers), strict=True):
            pairs = zip(network.parameters(), full[k].parameters(), strict=True) if k < SLOTS else ()
            if not all(torch.equal(first, second) for first, second in pairs):
                return False
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=1000)
    parser.add_argument("--private-records", type=int, default=4096)
    parser.add_argument("--models", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--images", type=int, default=1024, help="records of the convolutional network")
    parser.add_argument("--repeats", type=int, default=3, help="number of runs, of which the median counts")
    parser.add_argument(
        "--parts", nargs="*", choices=PARTS, default=PARTS, help="parts to run; the others keep their results"
    )
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    results: dict[str, Any] = {}
    for batch in BATCHES:
        if "private" in options.parts:
            ways = private_ways(options.private_records, batch, options.epochs)
            results[f"private, batches of {batch}"] = shares(median_seconds(ways, options.repeats), "plain")
        if "convolutions" in options.parts:
            ways = convolution_ways(options.images, batch, 1)
            results[f"convolutions, batches of {batch}"] = shares(median_seconds(ways, options.repeats), "plain")
    trainings = {
        "references": ((FEATURES, CLASSES, REFERENCE), options.epochs),
        "small references": (SMALL, options.epochs),
        "small references, long training": (SMALL, LONG),
    }
    for name, (shape, epochs) in trainings.items() if "references" in options.parts else ():
        ways = reference_ways(options.models, options.records, epochs, shape)
        results[name] = shares(median_seconds(ways, options.repeats), "plain loop")
        results[f"{name}, identical in any stack"] = is_identical_in_any_stack(shape, options.records)
    print(json.dumps(results, indent=1))
    sizes = {name: value for name, value in vars(options).items() if name != "parts"}
    document = {"command": "python -m benchmarks.training", **sizes, "torch": torch.__version__, **results}
    path = HERE / "results.json"
    if set(options.parts) != set(PARTS):
        repeats = {f"repeats of {part}": options.repeats for part in options.parts}
        document = {**json.loads(path.read_text("utf-8")), "images": options.images, **results, **repeats}
    path.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
