import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from benchmarks.error_rates import broken_attacks
from benchmarks.error_rates.broken_attacks import BROKEN_ATTACKS, calibrated_margin
from click.testing import CliRunner
from scipy.stats import norm

from guestlist.attacks import ATTACKS, Attack
from guestlist.cli import main
from guestlist.evidence import EVIDENCE
from guestlist.selfcheck.contract import AttackCheck, check_attacks, selftest
from guestlist.selfcheck.coverage import Coverage, coverage, interval_simulations
from guestlist.selfcheck.scenes import (
    attack_traits,
    ignores_references_where_saturated,
    knows_right_from_wrong,
    small_scene,
)
from guestlist.selfcheck.trials import COMMON_METRICS, FLOOR, TRIALS, Mean


def inverted(signals):
    return -calibrated_margin(signals)


def counting(signals):
    """The margin, helped by how few references trained on the record: right in a design of exact halves."""
    return calibrated_margin(signals) - 0.5 * signals.reference_member.sum(axis=0)


def silent(signals):
    return np.where(np.arange(len(signals.labels)) % 10 == 0, np.nan, calibrated_margin(signals))


def mute(signals):
    return np.full(len(signals.labels), np.nan)


def guessing(signals):
    return np.random.default_rng(0).normal(size=len(signals.labels))


def constant(signals):
    return np.zeros(len(signals.labels))


def first_reference(signals):
    return signals.target("margin") - signals.reference("margin")[0]


def too_long(signals):
    return np.zeros(len(signals.labels) + 1)


def raising(signals):
    raise KeyError("gradient")


BROKEN = {
    inverted: "Check the sign of the score",
    counting: "how many references trained",
    silent: "30 of 300 records without a score",
    mute: "has no AUC",
    guessing: "order of the records",
    constant: "finds nothing",
    first_reference: "order of the references",
    too_long: "shaped (301,) for 300 records",
    raising: "raised KeyError",
}
# Close variants of others, which only benchmarks/error_rates/selftest.py runs.
VARIANTS = (
    broken_attacks.rank_of_margins_by_order,
    broken_attacks.inverted_where_the_loss_is_large,
    broken_attacks.only_in_count_below_forty,
    broken_attacks.two_sided_offline_lira_per_record,
    broken_attacks.total_variance_offline_lira,
    broken_attacks.total_variance_pooled_lira,
    broken_attacks.shrunk_total_variance_lira,
    broken_attacks.label_as_score,
    broken_attacks.log_odds_of_class_one,
    broken_attacks.class_frequency,
    broken_attacks.largest_score_where_sure,
    broken_attacks.swapped_with_one_in_reference,
    broken_attacks.swapped_with_few_references,
    broken_attacks.constant_with_few_in_references,
    broken_attacks.position_where_saturated,
    broken_attacks.inverted_for_hard_records,
    broken_attacks.swapped_with_few_out_references,
    broken_attacks.swapped_with_a_small_share_of_in_references,
    broken_attacks.distance_to_in_references,
)
TESTED = [attack for attack in BROKEN_ATTACKS if attack not in VARIANTS]


@pytest.fixture(scope="module")
def caught():
    """Problems by name of the attack; simulations are drawn once for all attacks."""
    checks = selftest([calibrated_margin, *BROKEN, *TESTED], intervals=False, scale=0.05).attacks
    return {check.name: check.problems for check in checks}


@pytest.mark.slow
def test_a_valid_user_defined_attack_is_calibrated(caught):
    assert caught["calibrated_margin"] == ()


@pytest.mark.slow
@pytest.mark.parametrize("attack", BROKEN, ids=lambda attack: attack.__name__)
def test_a_broken_attack_is_caught(attack, caught):
    assert any(BROKEN[attack] in problem for problem in caught[attack.__name__]), caught[attack.__name__]


@pytest.mark.slow
@pytest.mark.parametrize("attack", TESTED, ids=lambda attack: attack.__name__)
def test_an_attack_that_fails_in_some_simulations_is_caught_for_its_reason(attack, caught):
    assert any(BROKEN_ATTACKS[attack] in problem for problem in caught[attack.__name__]), caught[attack.__name__]


@pytest.fixture(scope="module")
def checks():
    """Checks of four built-in attacks at once: :func:`test_other_attacks_change_no_metric`."""
    attacks = {name: ATTACKS[name] for name in ("loss", "entropy", "class_entropy", "lira")}
    return {check.name: check for check in check_attacks(attacks, 8)}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["entropy", "class_entropy"])
def test_an_attack_that_cannot_know_right_from_wrong_may_fall_where_models_are_wrong(name, checks):
    check = checks[name]
    hard = check.others["known, plain, hard"]
    assert hard.value < 0.5 - hard.doubt
    assert check.calibrated
    assert not knows_right_from_wrong(ATTACKS[name], 0)
    assert all(knows_right_from_wrong(ATTACKS[other], 0) for other in ("loss", "lira", "class_mentr", "white_box"))


def test_an_attack_is_compared_with_one_that_reads_the_same():
    """The evidence is inferred from changes of the scores, so that it works for user-defined functions."""
    comparators = {
        name: attack_traits(ATTACKS[name], 0).comparator for name in ("loss", "rmia", "label_only", "class_entropy")
    }
    assert comparators == {"loss": "loss", "rmia": "loss", "label_only": "correctness", "class_entropy": "entropy"}
    ratios = [name for name in COMPARED if attack_traits(ATTACKS[name], 0).likelihood_ratio]
    assert ratios == ["lira", "lira_record", "lira_bayes"]


COMPARED = ("loss", "difficulty", "lira", "lira_record", "lira_offline", "lira_bayes", "rmia", "reference_empirical")


@pytest.mark.parametrize(
    ("attack", "ignores"),
    [
        ("loss", False),  # compares no record with its references
        ("shadow", False),
        ("lira", False),
        ("reference_empirical", False),
        (broken_attacks.constant_where_the_output_is_largest, True),
        (broken_attacks.constant_where_log_odds_are_infinite, True),
    ],
)
def test_a_score_that_ignores_saturated_references_is_detected(attack, ignores):
    row = ATTACKS[attack] if isinstance(attack, str) else Attack(score=attack, summary="", custom=True)
    assert ignores_references_where_saturated(row, small_scene("exact", 0)) == ignores


@pytest.mark.slow
def test_an_attack_must_reach_most_of_the_auc_of_plain_loss():
    def diluted(signals):
        """Loss with noise that depends on nothing but the outputs, so that it is the same in any order."""
        margin = signals.target("margin")
        return margin + 1.5 * norm.ppf(np.mod(1e6 * np.abs(margin), 1))

    (check,) = check_attacks({"diluted": Attack(score=diluted, summary="", custom=True)}, 8)
    assert check.comparator == "loss"
    assert 0.5 < check.known.value < 0.64  # rises, and is no better than .95 of .69
    assert check.share.value < FLOOR
    assert any("of the AUC of loss" in problem for problem in check.problems)


@pytest.mark.slow
def test_every_metric_has_one_criterion(checks):
    judged = [problem for trial in TRIALS.values() for problem in trial.problems]
    assert len(judged) == len(set(judged))
    assert {*checks["lira"].others, *COMMON_METRICS} == set(judged)


def test_uncertainty_grows_with_few_simulations():
    """Four standard errors of a normal, and more of Student's where the error itself is a guess."""
    assert Mean(0.5, 0.01, 10_000).doubt == pytest.approx(0.04, rel=0.01)
    assert Mean(0.5, 0.01, 8).doubt > 0.08


@pytest.mark.slow
def test_an_attack_that_knows_too_much_is_caught(monkeypatch):
    """Scores beyond the best possible can only come from the truth; here it is put into a signal."""
    from guestlist.selfcheck import trials as module

    def leaking(*args, **kwargs):
        simulation = gaussian_simulation(*args, **kwargs)
        return replace(
            simulation, values={**simulation.values, "entropy": simulation.member * 3.0 + simulation.values["margin"]}
        )

    gaussian_simulation = module.gaussian_simulation
    monkeypatch.setattr(module, "gaussian_simulation", leaking)

    def peeking(signals):
        return signals.target("entropy")

    (check,) = check_attacks({"peeking": Attack(score=peeking, summary="", custom=True)}, 8)
    assert any("no attack can exceed" in problem for problem in check.problems)


# Attacks that fit a network take more time than all others together. tests/attacks/test_contract.py tests that they have no
# advantage without a leak, and that they find one.
NETWORKS = ("nn_shokri", "nn_nasr", "white_box")
SIMULATED = [name for name, attack in ATTACKS.items() if not attack.evidence or EVIDENCE[attack.evidence].simulate]
SHIPPED = [name for name in SIMULATED if name not in NETWORKS]


@pytest.mark.slow
@pytest.mark.every_third
@pytest.mark.parametrize("names", [SHIPPED[::3], SHIPPED[1::3], SHIPPED[2::3]], ids="-".join)
def test_attacks_that_are_shipped_are_calibrated(names):
    result = selftest(names, intervals=False, scale=0.05)
    assert {check.name for check in result.attacks} == set(names)
    assert {check.name: check.problems for check in result.attacks if check.problems} == {}
    assert result.calibrated


@pytest.mark.slow
def test_every_interval_is_calibrated():
    result = selftest(["loss"], scale=0.05)
    assert [check.name for check in result.intervals if not check.calibrated] == []
    assert {check.name for check in result.intervals} == set(interval_simulations())
    assert result.calibrated


@pytest.mark.slow
def test_the_same_seed_gives_the_same_metrics(checks):
    (again,) = check_attacks({"loss": ATTACKS["loss"]}, 8)
    assert again == checks["loss"]
    (other,) = check_attacks({"loss": ATTACKS["loss"]}, 8, seed=4)
    assert other.noise != again.noise


@pytest.mark.slow
def test_other_attacks_change_no_metric(checks):
    """One simulation serves all attacks, and one that works in place spoils it for none."""

    def rude(signals):
        signals.target("margin")[:] = 0

    rude_check, lira = check_attacks({"rude": Attack(score=rude, summary="", custom=True), "lira": ATTACKS["lira"]}, 8)
    assert lira == checks["lira"]
    assert "read-only" in rude_check.problems[0]


@pytest.mark.parametrize("name", interval_simulations())
def test_every_interval_can_be_simulated(name):
    assert coverage(name, repeats=2).repeats == 2


def test_an_interval_that_is_too_narrow_is_caught(monkeypatch):
    from guestlist.selfcheck import coverage as module

    monkeypatch.setattr(module, "auc", lambda scores, member: narrow(module.Estimate, scores, member))
    assert not coverage("auc", repeats=200).calibrated


def narrow(estimate, scores, member):
    from guestlist.metrics import auc

    value, low, high = auc(scores, member)
    return estimate(value, (value + low) / 2, (value + high) / 2)


def test_committed_results_cover_all_broken_attacks_and_none_of_them_passes():
    document = json.loads((Path(broken_attacks.__file__).parent / "selftest.json").read_text("utf-8"))
    assert set(document["broken attacks"]) == {attack.__name__ for attack in BROKEN_ATTACKS}
    assert all(value["fails with the expected message"] == 1 for value in document["broken attacks"].values())
    assert document["seeds"] >= 10
    assert document["false-failure rate, upper 95 % bound"] < 0.01


def test_coverage_is_judged_with_its_own_uncertainty():
    assert Coverage("x", 0.5, 1000, 1000).calibrated
    assert Coverage("x", 0.5, 185, 200).calibrated
    assert not Coverage("x", 0.5, 800, 1000).calibrated


def test_a_scale_of_nothing_is_refused():
    with pytest.raises(ValueError, match="scale=0"):
        selftest(scale=0)


@pytest.mark.slow
def test_the_command_prints_a_table_and_exits_with_0():
    result = CliRunner().invoke(main, ["selftest", "--attack", "loss", "--scale", "0.1", "--quiet"])
    assert result.exit_code == 0, result.output
    assert "loss" in result.output
    assert "calibrated" in result.output


@pytest.mark.slow
def test_the_command_takes_a_function_and_exits_with_1_where_it_is_broken(tmp_path, monkeypatch):
    (tmp_path / "own_attacks.py").write_text("def upside_down(signals):\n    return signals.target('loss')\n")
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, ["selftest", "--custom", "own_attacks:upside_down", "--scale", "0.1", "--json"])
    assert result.exit_code == 1, result.output
    (check,) = json.loads(result.stdout)["attacks"]
    assert check["name"] == "upside_down"
    assert "sign of the score" in check["problems"][0]


def test_the_command_names_the_file_that_it_cannot_load():
    result = CliRunner().invoke(main, ["selftest", "--custom", "no_such_module:f"])
    assert result.exit_code == 2
    assert "no_such_module" in result.output
    assert CliRunner().invoke(main, ["selftest", "--custom", "nonsense"]).exit_code == 2


@pytest.mark.slow
def test_a_check_without_problems_is_calibrated(checks):
    assert isinstance(checks["loss"], AttackCheck)
    assert checks["loss"].calibrated
