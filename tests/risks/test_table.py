"""The table of risks: rows that have what they need give one value per record."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import guestlist as gl
from guestlist import Case
from guestlist.risks import RISKS, Risk, risks_of

pytestmark = pytest.mark.usefixtures("in_the_order_given")


def case_of(model, blobs, folder) -> Case:
    return gl.collect(model.fit(*blobs[0]), *blobs, references=3, folder=folder, jobs=1)


@pytest.mark.slow
def test_what_a_case_lacks_is_left_out(blobs, tmp_path):
    assert "alone_in_leaves" not in risks_of(case_of(LogisticRegression(), blobs, tmp_path))


@pytest.mark.slow
def test_members_alone_in_leaves(tree, blobs, tmp_path):
    case = case_of(tree, blobs, tmp_path)
    alone = risks_of(case)["alone_in_leaves"]
    direct = gl.risks.leaf_risk(tree, blobs[0])["alone"]
    np.testing.assert_array_equal(alone[:240], direct)
    assert (alone >= 0).all()
    assert (alone <= 1).all()


@pytest.mark.slow
@pytest.mark.parametrize("references", [3, 4])
def test_a_risk_reports_the_references_it_needs(references, tree, blobs, tmp_path, monkeypatch):
    row = Risk(risk=lambda case: case.view.target("loss"), summary="", paper="", cost="", references=references)
    monkeypatch.setitem(RISKS, "toy", row)
    assert ("toy" in risks_of(case_of(tree, blobs, tmp_path))) == (references <= 3)
