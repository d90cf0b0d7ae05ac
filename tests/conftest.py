"""Shared fixtures: real data where available, and small models."""

import gc
import os
import sys
from collections import Counter
from functools import wraps
from pathlib import Path

import reproducible_cpu  # noqa: F401  libraries read its variables on import

# isort: split
import joblib
import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from guestlist._baseline import baseline
from guestlist._collect import inputs

# The same examples every time, and no verdict that depends on how busy the machine is: a red run means a fault.
settings.register_profile("repeatable", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("repeatable")

# One per core is one: tests run side by side already. Those that are about processes say how many they want.
os.environ["LOKY_MAX_CPU_COUNT"] = "1"

# The default backend of Keras, TensorFlow, is not among the test dependencies.
os.environ.setdefault("KERAS_BACKEND", "torch")

# Audits of one test may run on two days, and must not differ by that.
os.environ.setdefault("SOURCE_DATE_EPOCH", "1795000000")

DATA = Path(os.environ.get("GUESTLIST_DATA") or Path(__file__).parents[2] / "shared" / "data")


@pytest.fixture(autouse=True)
def one_thread():
    """Torch uses one thread: more would add in any order, where results are compared exactly; and tests run in parallel."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.get_num_threads() > 1:
        torch.set_num_threads(1)


@pytest.fixture(scope="session", autouse=True)
def baseline_once_per_dataset():
    """Fit the model-free baseline of audits once for the same arguments: it takes half the time of a small audit.

    ``tests/baseline`` fits it from scratch.
    """
    fit = baseline.cross_fit_baseline
    fitted: dict[str, baseline.BaselineFit | None] = {}

    @wraps(fit)
    def memoised(*arguments, rng, **options):
        key = joblib.hash((arguments, options, rng.bit_generator.state))
        if key not in fitted:
            fitted[key] = fit(*arguments, rng=rng, **options)
        return fitted[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(baseline, "cross_fit_baseline", memoised)
        yield


@pytest.fixture(scope="session", autouse=True)
def no_waiting_for_the_disk():
    """Leave flushing to the operating system: an audit waits for the disk 30 times or more, and no test cuts the power.

    ``tests/store/test_writing.py`` counts the calls, and processes that tests start flush.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


@pytest.fixture(scope="session")
def real_data():
    """The path of a real dataset by file name; the test is skipped where it is not there."""

    def find(name: str) -> Path:
        if not (DATA / name).exists():
            pytest.skip(f"needs {name}; set GUESTLIST_DATA to the folder that holds it")
        return DATA / name

    return find


@pytest.fixture(scope="session")
def blobs():
    """``(x, y)`` of 240 members and of 200 non-members: three overlapping classes, five features."""

    def draw(records, rng):
        y = rng.integers(3, size=records)
        return rng.normal(size=(records, 5)) + 1.2 * np.eye(5)[y], y

    rng = np.random.default_rng(0)
    return draw(240, rng), draw(200, rng)


@pytest.fixture(scope="session")
def tree(blobs):
    """An overfitted model of the members: it leaks, and trains in a millisecond."""
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(10, random_state=0).fit(*blobs[0])


@pytest.fixture(scope="session")
def expected(tmp_path_factory):
    """Results of the task of ``engine_tasks.py``, run in this process: name to bytes."""
    from engine_tasks import contents, make_task, run
    from guestlist import Here

    folder = tmp_path_factory.mktemp("here")
    run(make_task(folder), folder, Here())
    return contents(folder)


@pytest.fixture(scope="module")
def in_the_order_given():
    """Records are not shuffled: for tests that look at arrays inside a folder by where a record stood."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inputs, "shuffle_rows", lambda rows, seed: rows)
        yield


@pytest.fixture
def snapshot(request):
    """Compare a text with the one in ``tests/report/snapshots/sentences``; see ``tests/report/snapshots.py``."""
    from tests.report.snapshots import Snapshot, sentence_file

    return Snapshot(sentence_file(request.path), request.node.name)


def pytest_collection_finish():
    """Exclude modules and tests, which stay until the end, from garbage collections."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)  # before -m selects
def pytest_collection_modifyitems(items):
    """Leave two of three cases of long statistical tests to ``make long``, and start with the longest tests.

    If they came last, one process would run them while the other had nothing left to do.
    """
    items.sort(key=lambda item: item.path.name not in {"test_packaging.py", "test_site.py"})
    cases = Counter()
    for item in items:
        if item.get_closest_marker("every_third"):
            if cases[item.path, item.originalname] % 3:
                item.add_marker(pytest.mark.long)
            cases[item.path, item.originalname] += 1
