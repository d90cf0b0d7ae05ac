"""Models of a small dataset, trained once for all tests of the SHAPr paper."""

import pytest


@pytest.fixture(scope="session")
def pool():
    pytest.importorskip("torch")
    from shapr_simulation import clusters

    return clusters()


@pytest.fixture(scope="session")
def trained_models(pool, tmp_path_factory):
    from papers.shapr import models

    from shapr_simulation import SMALL, SOURCE

    return models.train_models(pool, SOURCE, SMALL, tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="session")
def repeats(trained_models):
    from papers.shapr import measures

    from shapr_simulation import SMALL

    return [measures.repeat(trained_models, k) for k in range(SMALL.repeats)]
