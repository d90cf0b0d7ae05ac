"""Audit a free model, and print total CPU seconds, CPU seconds of queries, and peak memory."""

import json
import resource
import sys
import time
import warnings

import numpy as np

import guestlist as gl

LEAK = 1.0  # effect of training on a record's margin; models differ by the same amount


def main(records: int, references: int, classes: int) -> None:
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    x = np.column_stack([np.arange(records), rng.normal(size=records)])  # the first column is the number of the record
    y, easy, querying = rng.integers(0, classes, records), rng.normal(size=records), [0.0]

    def query(member: np.ndarray, x: np.ndarray, seed: int) -> np.ndarray:
        start = time.process_time()
        rows = x[:, 0].astype(int)
        margin = easy + LEAK * member + np.random.default_rng(seed).normal(size=records)
        true = (1 / (1 + np.exp(-margin)))[rows]
        outputs = np.repeat(((1 - true) / (classes - 1))[:, None], classes, axis=1)
        outputs[np.arange(len(rows)), y[rows]] = true
        querying[0] += time.process_time() - start
        return outputs

    def train(data, rng):
        member, seed = np.zeros(records, dtype=bool), int(rng.integers(2**32))
        member[data.x[:, 0].astype(int)] = True
        return lambda x: query(member, x, seed)

    order, member = rng.permutation(records), np.zeros(records, dtype=bool)
    both_sets = order[: records // 2], order[records // 2 :]
    member[both_sets[0]] = True
    target = gl.function_target(lambda x: query(member, x, 1), classes=range(classes), train=train, recipe="free")
    before = time.process_time()
    gl.audit(target, *((x[rows], y[rows]) for rows in both_sets), references=references, jobs=1, progress=False)
    results = {
        "CPU seconds": round(time.process_time() - before, 1),
        "CPU seconds of queries": round(querying[0], 1),
        "peak memory, GiB": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2),
    }
    print(json.dumps(results))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
