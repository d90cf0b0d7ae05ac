"""The baseline is under test here: it is fitted from scratch each time."""

from inspect import unwrap

import pytest

from guestlist._baseline import baseline


@pytest.fixture(scope="module", autouse=True)
def fitted_from_scratch():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(baseline, "cross_fit_baseline", unwrap(baseline.cross_fit_baseline))
        yield
