"""A preview of a deletion: pairs as given by influence, and no record named if none has influence."""

import json

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.tree import DecisionTreeClassifier

import guestlist as gl
from guestlist import InputError
from guestlist.attacks import ATTACKS
from guestlist.cli import main
from guestlist.metrics import threshold_at_fpr
from guestlist.risks import forgetting
from guestlist.testing import case_of, gaussian_simulation, leaking_case


def test_pairs_are_as_counted_by_hand():
    case = leaking_case(records=80, models=21)
    first, second = np.flatnonzero(case.truth.member)[[4, 9]]
    pairs = forgetting(case, [f"r{first}", f"r{second}"])
    assert len(pairs) == 2 * (case.truth.member.sum() - 2)
    scores, member = ATTACKS["lira_bayes"].score(case.stand_ins), case.stand_ins.member
    for row in pairs.head(5).itertuples():
        i, j = int(row.staying[1:]), int(row.leaving[1:])
        right = {True: [], False: []}
        for k in range(20):
            if not np.isnan(scores[k, i]):
                called = scores[k, i] >= threshold_at_fpr(scores[k][~member[k]], 0.05)
                right[bool(member[k, j])].append(called == member[k, i])
        assert row.exposed == pytest.approx(np.mean(right[False]) - np.mean(right[True]))
    assert pairs["exposed"].is_monotonic_decreasing
    assert (pairs["p_adjusted"].dropna() >= pairs["p_value"].dropna()).all()


def test_without_influence_hardly_any_pair_is_significant():
    case = case_of(gaussian_simulation(1.5, records=400, models=65, seed=7))
    members = np.flatnonzero(case.truth.member)[:5]
    pairs = forgetting(case, [f"r{i}" for i in members])
    assert (pairs["p_value"] <= 0.05).mean() == pytest.approx(0.05, abs=0.03)
    assert (pairs["p_adjusted"] <= 0.05).sum() <= 5  # a record that is always called rightly but once may look sure


def test_what_cannot_be_previewed_is_refused():
    case = leaking_case(records=40)
    nonmember = np.flatnonzero(~case.truth.member)[0]
    member = np.flatnonzero(case.truth.member)[0]
    with pytest.raises(InputError, match=f"r{nonmember} or unknown.* for example, r{member}"):
        forgetting(case, [f"r{nonmember}", "unknown"])
    with pytest.raises(InputError, match="needs reference models"):
        forgetting(case_of(gaussian_simulation(1.0, records=40, models=2)), ["r0"])


@pytest.mark.slow
def test_the_command(blobs, tmp_path):
    model = DecisionTreeClassifier(random_state=0).fit(*blobs[0])
    results = gl.audit(model, *blobs, references=8, attacks=["loss"], jobs=1, folder=tmp_path / "audit")
    someone = str(results.records["id"][results.records["member"]].iloc[0])
    run = lambda *arguments: CliRunner().invoke(main, ["forget", str(tmp_path / "audit"), "--ids", someone, *arguments])  # noqa: E731
    result = run("--json", "--top", "3")
    assert result.exit_code == 0, result.output
    document = json.loads(result.output)
    assert document["pairs"] == 239
    assert len(document["most"]) == 3
    assert f"{document['sure']} of 239 pairs" in run().output
