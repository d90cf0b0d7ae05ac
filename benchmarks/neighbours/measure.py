"""One method on one size of data: prints seconds, memory and versions. Runs in any peer's environment.

It needs only numpy and the library that it measures. Warm-up (imports, compilation, first calls) is a
small run of the same kind before the clock starts.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import json
import resource
import sys
import time
import types

import numpy as np

LIBRARIES = {
    "pydvl": ("pyDVL", "scikit-learn"),
    "art": ("adversarial-robustness-toolbox", "scikit-learn"),
    "opendataval": ("opendataval", "torch"),
}
OURS = ("numba", "scipy")


def data(n, tests, features, classes, seed=0):
    """Return overlapping clouds, one per class; identical in every environment."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(classes, features))
    y, y_test = rng.integers(0, classes, n), rng.integers(0, classes, tests)
    x, x_test = rng.normal(size=(n, features)), rng.normal(size=(tests, features))
    return x + centres[y], y, x_test + centres[y_test], y_test


def ours(x, y, x_test, y_test, k, threads):
    from guestlist.knn import Knn, knn_shapley

    return knn_shapley(x, y, x_test, y_test, Knn(k), n_jobs=threads)


def ours_fast(x, y, x_test, y_test, k, threads):
    from guestlist.knn import Knn, knn_shapley

    return knn_shapley(x, y, x_test, y_test, Knn(k, precision="fast"), n_jobs=threads)


def ours_fast_overlapping(x, y, x_test, y_test, k, threads):
    """Permute the labels, so that the classes overlap and no record is beyond the farthest of a class."""
    rng = np.random.default_rng(0)
    return ours_fast(x, rng.permutation(y), x_test, rng.permutation(y_test), k, threads)


def ours_index(x, y, x_test, y_test, k, threads):
    from guestlist.knn import Knn, knn_shapley

    return knn_shapley(x, y, x_test, y_test, Knn(k, ties="index"), n_jobs=threads)


def ours_waka(x, y, x_test, y_test, k, threads):
    from guestlist.knn import Knn, waka

    return waka(x, y, x_test, y_test, Knn(k), n_jobs=threads)


def ours_self_waka(x, y, x_test, y_test, k, threads):
    from guestlist.knn import Knn, self_waka

    return self_waka(x, y, Knn(k), n_jobs=threads)


def ours_likelihood_ratio(x, y, x_test, y_test, k, threads):
    from guestlist.knn import Knn, knn_likelihood_ratio

    return knn_likelihood_ratio(x, y, np.zeros(len(x)), Knn(k), n_jobs=threads)


def ours_improbable(x, y, x_test, y_test, k, threads):
    """Score random losses on separated classes: most have a probability near the smallest number."""
    from guestlist.knn import Knn, knn_likelihood_ratio

    separated = x + 100 * np.eye(x.shape[1])[y % x.shape[1]]
    losses = np.random.default_rng(0).integers(0, k + 1, len(x_test)) / k
    return knn_likelihood_ratio(separated, y, losses, Knn(k), evaluated=np.arange(len(x_test)), n_jobs=threads)


def product(x, y, x_test, y_test, k, threads):
    """Multiply the records as ``ours_fast`` does: a float32 matrix product in the same blocks, and nothing else."""
    from guestlist.knn.distances import split_blocks

    columns = np.ascontiguousarray(x.T, dtype=np.float32)
    rows = x_test.astype(np.float32)
    blocks = split_blocks(len(rows), len(x))
    out = np.empty((blocks[0].stop, len(x)), dtype=np.float32)
    for block in blocks:
        np.matmul(rows[block], columns, out=out[: block.stop - block.start])
    return np.zeros(len(x))


def sorted_distances(x, y, x_test, y_test, k, threads):
    """Compute what ``ours_fast`` needs before its kernel: distances, and those of each test record's class sorted."""
    from guestlist.knn import Knn
    from guestlist.knn.distances import Buffers, label_runs, split_blocks
    from guestlist.knn.pool import make_pool

    pool = make_pool(x, y, Knn(k, precision="fast"))
    codes = pool.label_codes(y_test)
    buffers = Buffers()
    for block in split_blocks(len(x_test), len(x)):
        by_label = np.argsort(codes[block], kind="stable")
        out = buffers.matrix(len(by_label), len(x), pool.distances.dtype)
        pool.distances.fill(x_test[block][by_label], out)
        for code, run in label_runs(codes[block][by_label]):
            np.sort(out[run, slice(*pool.slice_of(code))], axis=1)
    return np.zeros(len(x))


def distances(x, y, x_test, y_test, k, threads):
    """Compute only the distances that ``ours`` computes, in the same blocks."""
    from guestlist.knn.distances import Buffers, map_in_order, split_blocks, squared_distances

    fill, dtype, _ = squared_distances(x)
    buffers = Buffers()

    def work(block):
        fill(x_test[block], buffers.matrix(block.stop - block.start, len(x), dtype))

    list(map_in_order(work, split_blocks(len(x_test), len(x)), threads, None))
    return np.zeros(len(x))


def numpy_loop(x, y, x_test, y_test, k, threads):
    """A simple implementation: a sort and a cumulative sum per test record."""
    n = len(x)
    squares = (x * x).sum(axis=1)
    ranks = np.arange(1, n)
    total = np.zeros(n)
    for at, label in zip(x_test, y_test, strict=True):
        order = np.argsort(squares - 2 * (x @ at), kind="stable")
        match = (y[order] == label).astype(np.float64)
        steps = np.diff(match) / np.maximum(ranks, k)
        values = np.append(-np.cumsum(steps[::-1])[::-1], 0.0) + match[-1] / max(n, k)
        total[order] += values
    return total / len(x_test)


def waka_algorithm(x, y, x_test, y_test, k, threads):
    from oracles_neighbours import waka_algorithm as algorithm

    return algorithm(x, y, x_test, y_test, k, neighbours=100)


def pydvl(x, y, x_test, y_test, k, threads):
    from pydvl.valuation import Dataset, KNNShapleyValuation
    from sklearn.neighbors import KNeighborsClassifier

    model = KNeighborsClassifier(n_neighbors=k)
    valuation = KNNShapleyValuation(model, Dataset(x_test, y_test), progress=False)
    return valuation.fit(Dataset(x, y)).result.values


def art(x, y, x_test, y_test, k, threads):
    """SHAPr of the identity "model"; k is not an option there. Scaled back from its n / tests sums."""
    from art.metrics.privacy.membership_leakage import SHAPr

    identity = types.SimpleNamespace(
        input_shape=(x.shape[1],), nb_classes=int(max(y.max(), y_test.max())) + 1, predict=lambda rows: rows
    )
    return SHAPr(identity, x, y, x_test, y_test) / len(x)


def opendataval(x, y, x_test, y_test, k, threads):
    """Its KNNShapley class, unchanged. Packages that it imports but does not use are stubs."""
    import torch

    torch.set_num_threads(1)
    _stub_opendataval()
    module = importlib.import_module("opendataval.dataval.knnshap.knnshap")
    module.tqdm.tqdm = lambda steps: steps
    one_hot = torch.eye(int(max(y.max(), y_test.max())) + 1)
    evaluator = module.KNNShapley(k_neighbors=k, batch_size=1024)
    evaluator.x_train, evaluator.x_valid = torch.tensor(x).float(), torch.tensor(x_test).float()
    evaluator.y_train, evaluator.y_valid = one_hot[y], one_hot[y_test]
    return evaluator.train_data_values().evaluate_data_values()


def _stub_opendataval():
    if "opendataval" in sys.modules:
        return
    home = importlib.metadata.distribution("opendataval").locate_file("opendataval")
    names = {"dataloader": ["DataFetcher"], "metrics": ["accuracy", "neg_mse"], "model": ["Model"]}
    for name in ("", ".dataval", ".dataval.knnshap", *(f".{name}" for name in names)):
        module = types.ModuleType(f"opendataval{name}")
        module.__path__ = [str(home.joinpath(*name.split(".")[1:]))]
        sys.modules[module.__name__] = module
        for attribute in names.get(name[1:], []):
            setattr(module, attribute, type(attribute, (), {}))


METHODS = [
    ours,
    ours_fast,
    ours_fast_overlapping,
    ours_index,
    ours_waka,
    ours_self_waka,
    ours_likelihood_ratio,
    ours_improbable,
    product,
    sorted_distances,
    distances,
    numpy_loop,
    waka_algorithm,
    pydvl,
    art,
    opendataval,
]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("method", choices=[method.__name__ for method in METHODS])
    for name, default in [
        ("n", 1000),
        ("tests", 1000),
        ("features", 10),
        ("classes", 10),
        ("k", 5),
        ("threads", 1),
    ]:
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--out")
    options = parser.parse_args()
    method = {method.__name__: method for method in METHODS}[options.method]
    method(*data(200, 20, options.features, options.classes), options.k, options.threads)
    arrays = data(options.n, options.tests, options.features, options.classes)
    wall, cpu = time.perf_counter(), time.process_time()
    values = method(*arrays, options.k, options.threads)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    np.save(options.out, values)
    libraries = LIBRARIES.get(options.method, OURS)
    versions = {name: importlib.metadata.version(name) for name in ("numpy", *libraries)}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        json.dumps(
            {
                "cpu_s": round(cpu, 3),
                "wall_s": round(wall, 3),
                "peak_gib": round(peak, 3),
                "versions": versions,
            }
        )
    )


if __name__ == "__main__":
    main()
