"""The page of a comparison: a function of its facts, escaped, and without anything from elsewhere."""

import json
from dataclasses import replace

import numpy as np
import pytest
from benchmarks.error_rates.compare import ATTACK, two_audits

import guestlist as gl
from example_results import HOSTILE
from guestlist._audit.comparison import RiskChanges
from guestlist._report import comparison, prose
from guestlist._report.comparison import comparison_page
from guestlist.defences import Training
from pages import Reader

DP = Training("DpSgd(noise=0.3)", "adaptive", 8, 0.3, 0.05, 400, 142.9, 1e-5)


def audits(seed=0, records=400, **changes):
    plain, other = two_audits("smooth", records, np.random.default_rng(seed), fall=0.9, gain=0.1, **changes).values()
    naive = replace(other, training=Training("Fit()", "naive"))
    return {"plain": plain, "noise": replace(other, training=DP), "noise, naive": naive}


@pytest.fixture(scope="module")
def compared():
    return gl.compare(audits(records=2000), pairs={"noise": ["noise, naive"]})


@pytest.fixture(scope="module")
def read(compared):
    return Reader(comparison_page(compared))


def test_it_shows_every_audit_and_every_pair(read, compared):
    for words in (
        "noise against plain",
        "noise, naive against plain",
        "noise against noise, naive",
        "adaptive",
        "naive",
    ):
        assert words in read.visible_text
    assert "ε of one run; the search for it was not counted (8 trainings)" in read.visible_text
    for pair in compared:
        for row in pair.differences:
            assert comparison.metric_name(pair, row) in read.visible_text
    charts = json.loads(next(script for script in read.scripts if script.startswith("{")))
    assert {"trade-auc", "trade-tpr", "risk-0"} == set(charts)
    assert set(charts) <= set(read.ids)
    points = charts["trade-auc"]["series"]
    assert [point["name"] for point in points] == ["plain", "noise", "noise, naive"]
    for point, audit in zip(points, compared.audits, strict=True):
        assert point["x"] == [pytest.approx(audit.accuracy.value, rel=1e-5)]
        assert point["y"] == [pytest.approx(audit.auc.value, rel=1e-5)]
        assert point["x_ends"] == [[pytest.approx(end, rel=1e-5) for end in (audit.accuracy.low, audit.accuracy.high)]]
        assert point["y_ends"] == [[pytest.approx(end, rel=1e-5) for end in (audit.auc.low, audit.auc.high)]]
    assert [line["name"] for line in charts["risk-0"]["series"]] == ["plain", "noise", "noise, naive"]


def test_is_small_enough_to_mail(compared):
    assert len(comparison_page(compared).encode()) < 400_000


def test_words_follow_from_intervals(compared, snapshot):
    first, _, same = compared
    snapshot(comparison.difference_sentence(first), f"{ATTACK}")
    snapshot(comparison.difference_sentence(same))
    for row in first.differences:
        assert comparison.verdict(row) == (
            "no evidence" if not row.differs else "higher" if row.difference.low > 0 else "lower"
        )
    snapshot(prose("comparison.exposed", first), "1%", "1,000", "10")
    few = replace(first, most_exposed=replace(first.most_exposed, members=3, seen_from=None))
    snapshot(prose("comparison.exposed", few))
    old = replace(first, most_exposed=None, risk_changes=None)
    snapshot(prose("comparison.exposed", old))
    snapshot(prose("comparison.risk_changes", old.risk_changes))


def test_what_users_wrote_is_text(tmp_path):
    """Names, recipes, attacks and ids; and the same facts give the same bytes."""
    audited = audits(records=200)
    hostile = {HOSTILE + name: audit for name, audit in audited.items()}
    base = gl.compare(hostile)
    pairs = tuple(replace(pair, risk_changes=RiskChanges(0.1, 100, (HOSTILE, "r1"), ())) for pair in base.pairs)
    hostile_audits = tuple(replace(audit, attack=HOSTILE, training=Training(HOSTILE, HOSTILE)) for audit in base.audits)
    base = replace(base, pairs=pairs, audits=hostile_audits)
    source = comparison_page(base)
    assert source == comparison_page(base)
    read = Reader(source)
    assert "<script>alert" not in source
    assert read.elements.count("script") == 2
    assert "img" not in read.elements
    assert not any(name.startswith("on") for _, name, _ in read.attributes)
    assert "\u202e" not in source
    assert "names members of the training set" in read.visible_text
    assert "Risen" in read.visible_text
    path = base.to_html(tmp_path / "page.html")
    assert path.read_text("utf-8") == source
    assert json.loads(base.to_json(tmp_path / "facts.json").read_text("utf-8"))["fpr"] == 0.05


def test_only_matched_records_are_named():
    read = Reader(comparison_page(gl.compare(audits(records=200))))
    assert "names members" not in read.visible_text
    assert "Risen" not in read.visible_text
