"""No number depends on how many threads the libraries of linear algebra may use."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

# In a new process, where the libraries may start two threads.
AUDITS = """
import sys, warnings
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier
from threadpoolctl import threadpool_info, threadpool_limits
import guestlist as gl

warnings.simplefilter("ignore")
x, y = load_digits(return_X_y=True)
with threadpool_limits(1):  # the training of the target itself may depend on threads
    model = MLPClassifier((256,), batch_size=250, max_iter=10, random_state=0).fit(x[:500], y[:500])
for threads in (1, 2):
    with threadpool_limits(threads):
        assert {library["num_threads"] for library in threadpool_info()} == {threads}
        gl.audit(
            model, (x[:500], y[:500]), (x[500:1000], y[500:1000]),
            references=4, jobs=1, progress=False, folder=f"{sys.argv[1]}/{threads}",
        )
"""


@pytest.mark.slow
def test_an_audit_has_the_same_bytes_with_one_thread_and_with_several(tmp_path):
    if (os.cpu_count() or 1) < 2:
        pytest.skip("this machine has one core, so libraries use one thread")
    two_threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "2")
    subprocess.run([sys.executable, "-c", AUDITS, str(tmp_path)], check=True, env={**os.environ, **two_threads})
    single, double = content(tmp_path / "1"), content(tmp_path / "2")
    assert single.keys() == double.keys()
    assert [name for name in single if single[name] != double[name]] == []
    assert {"results.json", "records.parquet", "signals/model-0004.npz"} <= single.keys()


def content(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
