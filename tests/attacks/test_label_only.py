"""Label-only attack: by hand, in simulations without a leak, and on models that memorise their records."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.neighbors import KNeighborsClassifier

import guestlist as gl
from guestlist._views import Evidence, PerturbedView, Signals
from guestlist.attacks.metrics import label_only


def labels_only(correct, share) -> Signals:
    values = {"correct": np.array([correct], dtype=float)}
    view = PerturbedView(np.array(share), 4)
    records = len(correct)
    return Signals(values, np.zeros((0, records), bool), np.zeros(records, int), Evidence({"perturbed": view}))


def test_by_hand():
    scores = label_only(labels_only([1, 1, 0, 0, 1, 1], [1.0, 0.25, 0.75, 0.0, np.nan, 0.0]))
    np.testing.assert_array_equal(scores, [1, 0.25, -0.25, -1, np.nan, 0])


def test_labels_are_all_that_it_reads():
    """The view above holds nothing but labels; what confidence says is not even there."""
    assert set(labels_only([1], [1.0]).values) == {"correct"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "model", [RandomForestClassifier(10, random_state=0), KNeighborsClassifier(1, metric="manhattan")]
)
@pytest.mark.filterwarnings("ignore::guestlist.AuditWarning")
def test_models_that_memorise_their_records_are_attacked(model, blobs):
    model = model.fit(*blobs[0])
    results = gl.audit(
        model, *blobs, references=0, attacks=["label_only"], evidence=[gl.evidence.Perturbed(20)], jobs=1
    )
    assert results.attacks["auc_low"].iloc[0] > 0.55
