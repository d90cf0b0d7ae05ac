"""Claims of epsilon: judged where members were drawn by us, refused with the reason elsewhere."""

import json
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from scipy.stats import binom
from sklearn.tree import DecisionTreeClassifier

import guestlist as gl
from example_results import leaking
from guestlist import Claim, Results
from guestlist._findings import epsilon
from guestlist._report.exports import EXPORTS
from guestlist._report.page import page_charts, report_page
from guestlist._report.sections.epsilon import claim_sentences, epsilon_verdict
from guestlist.cli import main
from guestlist.games.bernoulli import no_redraw_probability
from guestlist.privacy import (
    about_together,
    allowed_advantage,
    allowed_tpr,
    gaussian_mu,
    group_privacy,
    humphries,
    largest_tpr,
)
from guestlist.testing import case_of, gaussian_simulation

BERNOULLI = {"name": "bernoulli", "rate": 0.5}


@pytest.fixture(scope="module")
def case():
    """Members' scores are larger by three standard deviations, and membership was drawn with probability 0.5."""
    return drawn(BERNOULLI, claimed=Claim(1.0))


def drawn(game, claimed=None, **changes):
    made = case_of(gaussian_simulation(3.0, records=400, models=3, seed=1))
    return replace(made, setting=replace(made.setting, drawn=True, game=game, claimed=claimed, **changes))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A tree that memorises its members, of records with uninformative labels."""
    rng = np.random.default_rng(0)
    pool = rng.normal(size=(300, 5)), rng.integers(2, size=300)
    folder = tmp_path_factory.mktemp("epsilon") / "coins"
    options = {"references": 0, "attacks": ["loss"], "engine": gl.Here()}
    gl.play(
        gl.games.Bernoulli(0.5), DecisionTreeClassifier(), pool, folder=folder, claimed=gl.Claim(0.5, 1e-6), **options
    )
    return folder


def test_a_claim_that_does_not_hold_is_contradicted(case, snapshot):
    result = epsilon.find(case)
    assert result.contradicted
    assert 1 < result.bound.epsilon < result.bound.provable
    member = case.truth.member_evaluated
    assert (result.bound.members, result.bound.nonmembers) == (member.sum(), (~member).sum())
    snapshot(epsilon_verdict(result), "1", "1e-05")


def test_an_uncontradicted_claim_is_not_confirmed(case, snapshot):
    proved = epsilon.find(case).bound
    bound = gl.epsilon_bound(case, claimed=(proved.epsilon + proved.provable) / 2)
    assert not bound.contradicted
    snapshot(epsilon_verdict(bound))
    few = gl.epsilon_bound(case, claimed=9.0)
    snapshot(epsilon_verdict(few))
    snapshot(epsilon_verdict(gl.epsilon_bound(case)))


def test_a_bound_for_gaussian_noise_states_its_assumption(case, snapshot):
    bound = gl.epsilon_bound(case, method=gl.privacy.OneRunCurve(curve="gaussian"))
    assert bound.bound.epsilon > gl.epsilon_bound(case).bound.epsilon
    snapshot(epsilon_verdict(bound))
    assert "Gaussian" not in epsilon_verdict(gl.epsilon_bound(case, method=gl.privacy.OneRunCurve()))


def test_a_bound_for_gaussian_noise_contradicts_no_other_claim(case, snapshot):
    """Randomised response, say, keeps an epsilon that no Gaussian noise with the same scores would keep."""
    method = gl.privacy.OneRunCurve(curve="gaussian")
    proved = gl.epsilon_bound(case, method=method).bound.epsilon
    plain, noise = (
        gl.epsilon_bound(case, claimed=Claim(1.0, 1e-5, gaussian), method=method) for gaussian in (False, True)
    )
    assert proved > 1 == plain.allowed.epsilon
    assert (plain.contradicted, noise.contradicted) == (False, True)
    snapshot(epsilon_verdict(plain))
    snapshot(epsilon_verdict(noise), "1", "1e-05")
    # What is shown of any mechanism is shown of this one too.
    assert gl.epsilon_bound(case, claimed=Claim(1.0, 1e-5, gaussian=True)).contradicted


def test_a_contradicted_claim_is_reported_with_the_power(case, snapshot):
    result = epsilon.find(case)
    assert result.contradicted
    snapshot(epsilon_verdict(result), f"{result.bound.provable:.3f}")


def test_where_nothing_is_claimed_there_is_no_finding(case):
    assert epsilon.find(replace(case, setting=replace(case.setting, claimed=None))) is None


@pytest.mark.parametrize(
    ("code", "game", "changes"),
    [
        ("own split", {"name": "sides", "members": 200, "nonmembers": 200}, {"drawn": False}),
        ("own split", BERNOULLI, {"predictions": True}),
        ("rate", {"name": "bernoulli", "rate": 0.4}, {}),
        ("game", {"name": "clusters"}, {}),
        ("game", {"name": "sources", "column": "place", "of_members": "north"}, {"drawn": False}),
    ],
)
def test_refused_where_members_were_not_drawn_with_probability_0_5(code, game, changes, snapshot):
    made = drawn(game, Claim(1.0))
    made = replace(made, setting=replace(made.setting, **changes))
    with pytest.raises(gl.InputError, match=r"No epsilon can be proved or refuted: .*gl\.games\.Bernoulli"):
        gl.epsilon_bound(made)
    result = epsilon.find(made)
    assert (result.bound, result.refused, result.contradicted) == (None, code, False)
    snapshot(epsilon_verdict(result))


def test_refused_where_records_of_one_person_were_drawn_separately(case):
    persons = replace(case, records=case.records.assign(person=np.arange(400) // 2))
    with pytest.raises(gl.InputError, match="all records of a person"):
        gl.epsilon_bound(persons)
    alone = replace(case, records=case.records.assign(person=np.arange(400)))
    assert gl.epsilon_bound(alone).bound == epsilon.find(case).bound


def test_a_claim_about_one_record_allows_more_of_a_person_with_several(case, snapshot):
    """Half of the persons have four records, which are in or out together."""
    whose = np.where(np.arange(400) < 200, np.arange(400) // 4, np.arange(400))
    result = epsilon.find(replace(case, records=case.records.assign(person=whose)))
    assert (result.records_per_person, result.allowed) == (4, group_privacy(1.0, 1e-5, 4))
    assert result.advantage == pytest.approx(humphries(result.allowed.epsilon, result.allowed.delta))
    alone = epsilon.find(replace(case, records=case.records.assign(person=np.arange(400))))
    assert (alone.records_per_person, alone.allowed) == (1, Claim(1.0))
    text = " ".join(claim_sentences(replace(Results(), epsilon=result)))
    snapshot(text, "1", "1e-05", "4")


@pytest.mark.parametrize("gaussian", [False, True])
def test_bounds_of_a_claim_are_those_of_its_curve(gaussian):
    claim, fpr = Claim(1.0, 1e-5, gaussian), np.linspace(0, 1, 101)
    rates = allowed_tpr(claim, fpr)
    assert allowed_advantage(claim) == pytest.approx(
        (allowed_tpr(claim, np.linspace(0, 1, 10_001)) - np.linspace(0, 1, 10_001)).max(), abs=1e-4
    )
    assert (rates <= largest_tpr(fpr, 1.0, 1e-5) + 1e-12).all()
    assert (rates < largest_tpr(fpr, 1.0, 1e-5) - 0.01).any() == gaussian
    two = about_together(claim, 2)
    assert two.gaussian == gaussian
    if gaussian:
        assert gaussian_mu(two.epsilon, two.delta) == pytest.approx(2 * gaussian_mu(1.0, 1e-5), rel=1e-6)
    assert about_together(claim, 1) == claim


def test_no_claim_of_gaussian_noise_at_delta_0():
    with pytest.raises(ValueError, match="no guarantee at delta 0"):
        Claim(1.0, 0.0, gaussian=True)


def test_a_game_with_dependent_members_reports_that_its_bound_does_not_hold():
    apart = epsilon.find(drawn({"name": "clusters"}, Claim(1.0)))
    mixed = epsilon.find(drawn({"name": "clusters", "iid": True}, Claim(1.0)))
    assert (apart.not_exchangeable, mixed.not_exchangeable) == (True, False)
    for case, message in ((apart, "This bound does not apply in this game"), (mixed, "This bound applies if")):
        assert claim_sentences(replace(Results(), epsilon=case))[-1].startswith(message)


@pytest.mark.parametrize("evidence", ["quantiles", "white_box"])
def test_attacks_that_know_some_membership_prove_nothing(case, evidence):
    """More than half of the records with hidden membership may be members, independently of the model."""
    taught = replace(case.attacks["loss"], evidence=evidence)
    with pytest.raises(gl.InputError, match="records of known membership"):
        gl.epsilon_bound(replace(case, attacks={**case.attacks, "taught": taught}).scored(), attack="taught")


def test_refused_by_methods_for_many_runs(case):
    with pytest.raises(gl.InputError, match="not independent trials"):
        gl.epsilon_bound(case, method=gl.privacy.ClopperPearson())


def test_only_attacks_that_do_not_know_the_truth(case):
    assert gl.epsilon_bound(case, attack="loss").attack == "loss"
    with pytest.raises(gl.InputError, match="no scores of 'lora'"):
        gl.epsilon_bound(case, attack="lora")
    oracle = replace(case.attacks["loss"], oracle=True)
    with pytest.raises(gl.InputError, match="knows the true membership"):
        gl.epsilon_bound(replace(case, attacks={**case.attacks, "best": oracle}).scored(), attack="best")


def test_guesses_that_know_the_other_members_prove_nothing(case):
    """Parity of all members, revealed with a random flip: an attacker who knows the others is right about all or about none."""
    others = replace(case.attacks["loss"], evidence="left_out")
    with pytest.raises(gl.InputError, match="trained on the true members"):
        gl.epsilon_bound(replace(case, attacks={**case.attacks, "others": others}).scored(), attack="others")
    alone = epsilon.find(replace(case, attacks={"others": others}, stand_ins=None).scored())
    assert (alone.bound, alone.refused) == (None, "attack")


def test_sets_of_fixed_size_give_a_smaller_bound(case, snapshot):
    fixed = gl.epsilon_bound(drawn({"name": "sides", "members": 200, "nonmembers": 200}))
    assert fixed.fixed_size
    assert 0 < fixed.bound.provable < epsilon.find(case).bound.provable
    snapshot(epsilon_verdict(fixed))


def test_the_claim_accounts_for_repeated_draws():
    labels = np.repeat(["a", "b", "c"], [100, 3, 1])
    # Of the hundred at least five, of the three at least one; a single record may be missing.
    assert no_redraw_probability(labels, 0.5) == pytest.approx(binom.sf(4, 100, 0.5) * 7 / 8)
    made = drawn(BERNOULLI)
    rare = made.records.assign(label=np.where(np.arange(400) < 2, "rare", "other"))
    assert epsilon.membership_of(replace(made, records=rare)).condition == pytest.approx(0.75)


def test_the_probability_is_that_of_the_inclusion():
    rng, labels = np.random.default_rng(0), np.repeat([0, 1], [4, 9])
    tossed = rng.random((40_000, 13)) < 0.5
    first = (tossed[:, :4].sum(1) >= 2) & (tossed[:, 4:].sum(1) >= 4)
    assert no_redraw_probability(labels, 0.5) == pytest.approx(first.mean(), abs=0.01)


@pytest.mark.slow
def test_results_keep_the_claim_and_the_page_draws_what_it_allows(case, snapshot):
    results = replace(leaking(), epsilon=epsilon.find(case))
    assert Results.from_document(json.loads(json.dumps(results.document()))).epsilon == results.epsilon
    made = report_page(results)
    assert "Does the claimed ε of 1 hold?" in made
    assert "no attack has an advantage above 0.462 on average" in made
    for name in ("roc-linear", "roc-log"):
        line = page_charts(results)[name].series[-1]
        snapshot(line.name, "1", "1e-05")
        assert line.y == pytest.approx(largest_tpr(np.array(line.x), 1.0, 1e-5))
    assert 'class="allowed" style="left:46.2' in made  # on the scale of the advantage
    assert "the thick one the most that ε = 1 at δ = 1e-05 allows, if members and non-members are exchangeable" in made
    assert "claimed ε" not in report_page(leaking())
    assert 'class="allowed"' not in report_page(leaking())
    assert "is contradicted" in " ".join(results.summary(verbose=True).split())


@pytest.mark.slow
def test_the_command_reads_the_claim_from_the_folder(folder):
    result = CliRunner().invoke(main, ["epsilon", str(folder)])
    assert result.exit_code == 0, result.output
    assert "No: the claim of ε = 0.5 at δ = 1e-06 is contradicted" in result.output
    result = CliRunner().invoke(main, ["epsilon", str(folder), "--delta", "0.00001", "--json"])
    assert json.loads(result.output)["claimed"] is None  # what is claimed at another delta is another claim
    assert CliRunner().invoke(main, ["epsilon", str(folder), "--claimed", "inf"]).exit_code == 2
    result = CliRunner().invoke(main, ["epsilon", str(folder), "--claimed", "5", "--delta", "0.00001", "--json"])
    document = json.loads(result.output)
    assert document["claimed"] == {"epsilon": 5.0, "delta": 1e-5, "gaussian": False}
    assert not document["contradicted"]
    for option in (
        ["--method", "curve"],
        ["--threshold", "median"],
        ["--method", "gaussian", "--threshold", "hold-out", "--claimed", "0.5", "--gaussian-noise"],
    ):
        assert "is contradicted" in CliRunner().invoke(main, ["epsilon", str(folder), *option]).output
    result = CliRunner().invoke(main, ["epsilon", str(folder), "--method", "gaussian", "--json"])
    assert not json.loads(result.output)["contradicted"]  # the claim is not one of Gaussian noise
    assert "--claimed EPSILON" in CliRunner().invoke(main, ["epsilon", str(folder), "--gaussian-noise"]).output


def test_the_command_refuses_user_defined_sets(tmp_path, blobs, tree):
    gl.audit(tree, *blobs, references=0, folder=tmp_path / "own", engine=gl.Here(), attacks=["loss"], baseline=False)
    result = CliRunner().invoke(main, ["epsilon", str(tmp_path / "own"), "--claimed", "2"])
    assert result.exit_code == 2
    assert "you chose the members" in result.output


def test_what_is_no_claim_is_refused_before_anything_is_trained(blobs, tree):
    with pytest.raises(ValueError, match=r"gl\.Claim"):
        gl.audit(tree, *blobs, references=0, claimed=2.0)


@dataclass(frozen=True)
class Promising(gl.defences.Refit):
    """Trains as ever, and says that it is private."""

    epsilon: float = 2.0

    def privacy(self, delta=1e-5):
        return gl.privacy.Privacy(self.epsilon, delta, "prv", noise=1.0, clip=1.0, rate=0.1, steps=10)


@pytest.mark.slow
def test_a_private_recipe_brings_its_own_claim(blobs):
    options = {"model": DecisionTreeClassifier(max_depth=3), "references": 0, "attacks": ["loss"], "engine": gl.Here()}
    assert gl.play(gl.games.Bernoulli(0.5), Promising(), blobs[0], **options).epsilon.claimed == Claim(2.0, 1e-5)
    results = gl.play(gl.games.Bernoulli(0.5), Promising(), blobs[0], claimed=Claim(3.0, 1e-6), **options)
    assert results.epsilon.claimed == Claim(3.0, 1e-6)
    assert gl.play(gl.games.Bernoulli(0.5), Promising(np.inf), blobs[0], **options).epsilon is None


def test_a_claim_about_predictions_is_kept_drawn_and_exported(tmp_path, snapshot):
    rng = np.random.default_rng(0)
    member, right = np.arange(400) < 200, rng.random(400)
    table = pd.DataFrame({"label": 1, "member": member.astype(int), "p_1": np.where(member, 1, right), "p_0": 0.0})
    table["p_0"] = 1 - table["p_1"]
    table.loc[::2, "label"] = 0
    table.to_csv(tmp_path / "said.csv", index=False)
    order = ["audit", "--predictions", str(tmp_path / "said.csv"), "--out", str(tmp_path / "a"), "--no-baseline"]
    done = CliRunner().invoke(main, [*order, "--claimed", "1", "--delta", "1e-6"])
    assert done.exit_code == 0, done.output
    results = gl.read_results(tmp_path / "a")
    assert results.epsilon.claimed == Claim(1.0, 1e-6)
    assert "Does the claimed ε of 1 hold?" in (tmp_path / "a" / "report.html").read_text()
    for made in (EXPORTS["markdown"].text(results), EXPORTS["model_card"].text(results)):
        assert "1e-06" in made
        assert "0.462" in made
        snapshot(made)
    for wrong in (["--delta", "1e-6"], ["--gaussian-noise"], ["--claimed", "1", "--delta", "0", "--gaussian-noise"]):
        assert CliRunner().invoke(main, [*order, *wrong]).exit_code == 2
