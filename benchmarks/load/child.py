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
    y, easy, asking = rng.integers(0, classes, records), rng.normal(size=records), [0.0]

    def answers(member: np.ndarray, x: np.ndarray, seed: int) -> np.ndarray:
        start, who = time.process_time(), x[:, 0].astype(int)
        margin = easy + LEAK * member + np.random.default_rng(seed).normal(size=records)
        true = (1 / (1 + np.exp(-margin)))[who]
        outputs = np.repeat(((1 - true) / (classes - 1))[:, None], classes, axis=1)
        outputs[np.arange(len(who)), y[who]] = true
        asking[0] += time.process_time() - start
        return outputs

    def train(data, rng):
        member, seed = np.zeros(records, dtype=bool), int(rng.integers(2**32))
        member[data.x[:, 0].astype(int)] = True
        return lambda x: answers(member, x, seed)

    order, member = rng.permutation(records), np.zeros(records, dtype=bool)
    sides = order[: records // 2], order[records // 2 :]
    member[sides[0]] = True
    target = gl.function_target(lambda x: answers(member, x, 1), classes=range(classes), train=train, recipe="free")
    before = time.process_time()
    gl.audit(target, *((x[side], y[side]) for side in sides), references=references, jobs=1, progress=False)
    results = {
        "CPU seconds": round(time.process_time() - before, 1),
        "of that asking": round(asking[0], 1),
        "most memory, GiB": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2),
    }
    print(json.dumps(results))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
