"""The headline rows are selected by access: attacks on queries, and attacks that take the model file."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

import guestlist as gl
from guestlist._findings import headline
from guestlist._findings.headline import FIXED
from guestlist.attacks import ATTACKS, Attack
from guestlist.evidence import EVIDENCE, access_of
from guestlist.testing import leaking_case


def with_attacks(*names: str, evidence: str = "leaves"):
    """A case with some attacks, and one that takes the model file."""
    attacks = {name: ATTACKS[name] for name in names}
    leaves = Attack(score=lambda signals: -signals.target("loss"), summary="", evidence=evidence)
    return replace(leaking_case(), attacks={"leaf_shares": leaves, **attacks}).scored()


def test_access_is_declared_by_the_evidence():
    file = {name for name, kind in EVIDENCE.items() if kind.access == "model file"}
    assert file == {"leaves", "white_box"}
    # An attacker with more than queries is described, and nothing that needs the file is without a description.
    assert all(EVIDENCE[name].attacker for name in file)
    assert access_of("") == access_of("neighbours") == "queries"


def test_an_attack_on_the_model_file_has_a_row_of_its_own():
    case = with_attacks("loss", "lira")
    assert case.of(headline.find).name in ("loss", "lira")
    second = case.of(headline.find_file_holder)
    assert (second.name, second.measure, second.stand_ins) == ("leaf_shares", FIXED, 0)
    assert headline.headline_rows(case) == (case.of(headline.find).name, "leaf_shares")


def test_there_is_one_row_where_no_attack_takes_the_file_or_none_does_without():
    assert with_attacks("loss", evidence="").of(headline.find_file_holder) is None
    alone = with_attacks()
    assert alone.of(headline.find).name == "leaf_shares"
    assert alone.of(headline.find_file_holder) is None


@pytest.mark.slow
def test_a_forest_has_both_rows_with_separate_metrics():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 4))
    y = (x[:, 0] + rng.normal(size=300) > 0).astype(int)
    model = RandomForestClassifier(10, random_state=0).fit(x[:150], y[:150])
    group = np.tile(["a", "b"], 75)
    sides = [gl.Data(x[part], y[part], groups={"g": group}) for part in (slice(150), slice(150, None))]
    results = gl.audit(model, *sides, references=2, jobs=1, progress=False, baseline=False)
    assert results.file_holder.name == "leaf_shares"
    assert results.headline.name != "leaf_shares"
    assert results.attack("leaf_shares").access == "model file"
    assert results.attack(results.headline.name).access == "queries"
    assert (
        [group.value for group in results.file_holder_groups] == [group.value for group in results.groups] == ["a", "b"]
    )
    assert results.file_holder_groups != results.groups
