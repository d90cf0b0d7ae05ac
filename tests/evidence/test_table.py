"""Types of evidence: the contract of every row, and a toy type that is one file and one row."""

import json
import re
from dataclasses import fields, is_dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import guestlist as gl
from guestlist import InputError
from guestlist._store import open_store
from guestlist._views import Evidence
from guestlist.attacks import ATTACKS
from guestlist.cli import main
from guestlist.errors import NotCollectedError
from guestlist.evidence import EVIDENCE, missing_evidence, parse_plan, read_evidence, with_perfect_fit
from guestlist.evidence.plan import FromTarget, Plan
from guestlist.selfcheck.contract import selftest, should_be_scored
from guestlist.testing import gaussian_simulation

PAGE = Path(__file__).parents[2] / "docs" / "how_to_add" / "evidence.md"


@pytest.mark.parametrize("name", EVIDENCE)
def test_every_row_is_complete(name):
    kind = EVIDENCE[name]
    assert kind.plan.name == name
    assert is_dataclass(kind.plan)
    assert kind.plan() == kind.plan(**{field.name: field.default for field in fields(kind.plan)})
    assert kind.view.__name__.endswith("View")
    assert hasattr(kind.view, "take")
    assert (isinstance(kind.plan(), Plan), isinstance(kind.plan(), FromTarget)) == (kind.stored, not kind.stored)
    assert getattr(gl.evidence, kind.plan.__name__) is kind.plan
    if kind.simulate:
        made = gaussian_simulation(1.0, records=20, models=5).evidence(0).need(name)
        assert isinstance(made, kind.view)
        assert not any(getattr(made, f.name).flags.writeable for f in fields(made) if f.type == "np.ndarray")


@pytest.mark.parametrize("name", [name for name, attack in ATTACKS.items() if attack.evidence])
def test_attacks_and_evidence_agree_on_stand_in_targets(name):
    assert ATTACKS[name].stand_in_evidence == EVIDENCE[ATTACKS[name].evidence].on_stand_ins


def test_evidence_is_an_open_mapping():
    evidence = gaussian_simulation(1.0, records=20, models=5).evidence(0)
    some = evidence.take(np.array([3, 1]))
    np.testing.assert_array_equal(some.need("quantiles").ceiling, evidence.need("quantiles").ceiling[[3, 1]])
    few = evidence.take_references(np.array([2, 0]))
    np.testing.assert_array_equal(few.need("full_outputs").log_p, evidence.need("full_outputs").log_p[[2, 0]])
    other = replace(evidence.need("perturbed"), share=np.zeros(20))
    assert not evidence.with_part("perturbed", other).need("perturbed").share.any()
    assert set(evidence.without("perturbed", "quantiles").parts) == set(evidence.parts) - {"perturbed", "quantiles"}
    assert evidence.get("leaves") is None
    assert not evidence.for_stand_ins().parts  # the simulation has one target
    with pytest.raises(NotCollectedError, match="needs the evidence 'nothing'"):
        Evidence().need("nothing")


def test_a_target_without_fault_is_beyond_every_ceiling():
    evidence = gaussian_simulation(1.0, records=20, models=5).evidence(0)
    best = with_perfect_fit(evidence)
    assert np.isposinf(best.need("quantiles").hinge).all()
    np.testing.assert_array_equal(best.need("quantiles").ceiling, evidence.need("quantiles").ceiling)
    assert with_perfect_fit(Evidence()).parts == {}


def test_records_of_known_membership_are_not_scored():
    signals = gaussian_simulation(1.0, records=50, models=3).facing(0)
    known = signals.evidence.need("white_box").known
    np.testing.assert_array_equal(should_be_scored(ATTACKS["white_box"], signals), ~known)
    assert should_be_scored(ATTACKS["loss"], signals).all()


@pytest.mark.slow
def test_evidence_of_the_target_itself_is_taken_on_request_or_refused(tree, blobs, tmp_path):
    results = gl.audit(tree, *blobs, references=0, evidence=[gl.evidence.Leaves()], folder=tmp_path)
    assert results.attack("leaf_shares")
    assert not (tmp_path / "evidence").exists()  # it says too much about features
    with pytest.raises(InputError, match="not a K-NN model"):
        gl.audit(tree, *blobs, references=0, evidence=[gl.evidence.Neighbours()])


@pytest.fixture
def toy(monkeypatch):
    """The names of the page about adding evidence, whose two rows are there as long as the test lasts."""
    for table in (EVIDENCE, ATTACKS):
        for name in ("shrunk", "shrunk_confidence"):
            monkeypatch.delitem(table, name, raising=False)
    kind, attack, example = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    names: dict = {"__name__": "toy"}
    exec(compile(kind + attack, str(PAGE), "exec"), names)
    yield {**names, "example": example}
    EVIDENCE.pop("shrunk"), ATTACKS.pop("shrunk_confidence")


@pytest.mark.slow
def test_a_toy_kind_is_collected_resumed_read_and_attacked(toy, tree, blobs, tmp_path):
    assert parse_plan("shrunk:copies=2") == toy["Shrunk"](copies=2)
    audit = {"references": 0, "folder": tmp_path, "jobs": 1}
    first = gl.audit(tree, *blobs, evidence=[toy["Shrunk"](copies=2)], **audit)
    assert first.attack("shrunk_confidence").auc.low > 0.5
    files = tmp_path / "evidence" / "shrunk"
    assert json.loads((files / "plan.json").read_text())["copies"] == 2
    content = {path.name: path.read_bytes() for path in files.glob("*.npz")}
    assert set(content) == {"copy-0001.npz", "copy-0002.npz"}
    # A killed audit resumes without another request, and more copies keep the first ones.
    (files / "copy-0002.npz").unlink()
    again = gl.audit(tree, *blobs, **audit)
    assert {path.name: path.read_bytes() for path in files.glob("*.npz")} == content
    assert again.attack("shrunk_confidence").auc == first.attack("shrunk_confidence").auc
    gl.audit(tree, *blobs, evidence=[toy["Shrunk"](copies=3)], **audit)
    assert read_evidence(open_store(tmp_path)).need("shrunk").p_y.shape == (3, 440)


@pytest.mark.slow
def test_a_toy_type_is_listed_and_meets_the_contract(toy, tree, blobs):
    with pytest.raises(NotCollectedError, match=r"shrunk records.*--evidence shrunk"):
        gl.audit(tree, *blobs, references=0, attacks=["shrunk_confidence"])
    with pytest.raises(NotCollectedError, match=r"evidence=\[gl\.evidence\.Shrunk\(\)\]"):
        Evidence(missing=missing_evidence()).need("shrunk")
    result = CliRunner().invoke(main, ["show", "evidence", "--json"])
    (row,) = [row for row in json.loads(result.stdout) if row["evidence"] == "shrunk"]
    assert (row["options"], row["attacks"]) == ("copies=3", "shrunk_confidence")
    (check,) = selftest(["shrunk_confidence"], intervals=False, scale=0.1).attacks
    assert check.calibrated, check.problems
