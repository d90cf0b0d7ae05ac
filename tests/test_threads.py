"""No figure depends on how many threads the libraries of linear algebra may use."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

AUDIT = """
import sys, warnings
import numpy as np
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier
from threadpoolctl import threadpool_limits
import guestlist as gl

warnings.simplefilter("ignore")
x, y = load_digits(return_X_y=True)
with threadpool_limits(1):  # the model is given: how it was trained is not in question
    model = MLPClassifier((256,), batch_size=250, max_iter=10, random_state=0).fit(x[:500], y[:500])
gl.audit(model, (x[:500], y[:500]), (x[500:1000], y[500:1000]), references=4, jobs=1, progress=False, folder=sys.argv[1])
"""


@pytest.mark.slow
def test_an_audit_has_the_same_bytes_with_one_thread_and_with_several(tmp_path):
    if (os.cpu_count() or 1) < 2:
        pytest.skip("this machine has one core, so that one thread is all there is")
    found = []
    for threads in ("1", "2"):
        folder = tmp_path / threads
        of_libraries = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), threads)
        subprocess.run([sys.executable, "-c", AUDIT, str(folder)], check=True, env={**os.environ, **of_libraries})
        found.append(content(folder))
    assert found[0].keys() == found[1].keys()
    assert [name for name in found[0] if found[0][name] != found[1][name]] == []
    assert {"results.json", "records.parquet", "signals/model-0004.npz"} <= found[0].keys()


def content(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
