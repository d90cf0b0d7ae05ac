"""The models of a small world, trained once for all tests of the SHAPr paper."""

import pytest


@pytest.fixture(scope="session")
def pool():
    pytest.importorskip("torch")
    from shapr_simulation import clusters

    return clusters()


@pytest.fixture(scope="session")
def world(pool, tmp_path_factory):
    from papers.shapr import models

    from shapr_simulation import SMALL, SOURCE

    return models.world(pool, SOURCE, SMALL, tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="session")
def repeats(world):
    from papers.shapr import measures

    from shapr_simulation import SMALL

    return [measures.repeat(world, k) for k in range(SMALL.repeats)]
