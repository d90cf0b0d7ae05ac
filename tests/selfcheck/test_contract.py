import json
from dataclasses import replace

import numpy as np
import pytest
from benchmarks.honesty.bad_attacks import BAD_ATTACKS, honest
from click.testing import CliRunner

from guestlist.attacks import ATTACKS, Attack
from guestlist.cli import main
from guestlist.collecting.evidence.table import EVIDENCE
from guestlist.selfcheck.contract import AttackCheck, check_attacks, selftest
from guestlist.selfcheck.coverage import Coverage, coverage, simulations
from guestlist.selfcheck.promises import knows_right_from_wrong
from guestlist.selfcheck.trials import FIGURES, TRIALS, Mean


def inverted(signals):
    return -honest(signals)


def counting(signals):
    """The margin, helped by how few references trained on the record: right in a design of exact halves."""
    return honest(signals) - 0.5 * signals.reference_member.sum(axis=0)


def silent(signals):
    return np.where(np.arange(len(signals.labels)) % 10 == 0, np.nan, honest(signals))


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


def _problems(attack) -> str:
    (check,) = selftest([attack], intervals=False, scale=0.05).attacks
    assert check.name == attack.__name__
    return "; ".join(check.problems)


@pytest.mark.slow
def test_an_honest_function_of_a_user_is_calibrated():
    assert not _problems(honest)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("attack", "words"),
    [
        (inverted, "sign inverted"),
        (counting, "how many references trained"),
        (silent, "30 of 300 records without a score"),
        (mute, "has no AUC"),
        (guessing, "order of the records"),
        (constant, "finds nothing"),
        (first_reference, "order of the references"),
        (too_long, "shaped (301,) for 300 records"),
        (raising, "raised KeyError"),
    ],
)
def test_a_broken_attack_is_caught(attack, words):
    assert words in _problems(attack)


@pytest.fixture(scope="module")
def caught():
    """All of them at once: worlds are made once for all."""
    found = selftest(list(BAD_ATTACKS), intervals=False, scale=0.05).attacks
    return {check.name: check.problems for check in found}


@pytest.mark.slow
@pytest.mark.parametrize("attack", BAD_ATTACKS, ids=lambda attack: attack.__name__)
def test_an_attack_that_goes_wrong_in_some_worlds_is_caught_for_the_right_reason(attack, caught):
    assert any(BAD_ATTACKS[attack] in problem for problem in caught[attack.__name__]), caught[attack.__name__]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["entropy", "class_entropy"])
def test_an_attack_that_cannot_know_right_from_wrong_may_fall_where_models_are_wrong(name):
    (check,) = check_attacks({name: ATTACKS[name]}, 8)
    hard = check.others["known, plain, hard"]
    assert hard.value < 0.5 - hard.doubt
    assert check.calibrated
    assert not knows_right_from_wrong(ATTACKS[name], 0)
    assert all(knows_right_from_wrong(ATTACKS[other], 0) for other in ("loss", "lira", "class_mentr", "white_box"))


@pytest.mark.slow
def test_every_figure_has_its_judge():
    (check,) = check_attacks({"lira": ATTACKS["lira"]}, 8)
    judged = [figure for trial in TRIALS.values() for figure in trial.problems]
    assert len(judged) == len(set(judged))
    assert {*check.others, *FIGURES} == set(judged)


def test_doubt_grows_where_worlds_are_few():
    """Four standard errors of a normal, and more of Student's where the error itself is a guess."""
    assert Mean(0.5, 0.01, 10_000).doubt == pytest.approx(0.04, rel=0.01)
    assert Mean(0.5, 0.01, 8).doubt > 0.08


@pytest.mark.slow
def test_an_attack_that_knows_too_much_is_caught(monkeypatch):
    """Scores beyond the best possible can only come from the truth; here it is put into a signal."""
    from guestlist.selfcheck import trials as module

    def leaking(*args, **kwargs):
        world = gaussian_world(*args, **kwargs)
        return replace(world, values={**world.values, "entropy": world.member * 3.0 + world.values["margin"]})

    gaussian_world = module.gaussian_world
    monkeypatch.setattr(module, "gaussian_world", leaking)

    def peeking(signals):
        return signals.target("entropy")

    assert "no attack can exceed" in _problems(peeking)


# Networks take more time than all others together; tests/attacks/test_contract.py holds them to the same.
NETWORKS = ("nn_shokri", "nn_nasr")
SHIPPED = [name for name, attack in ATTACKS.items() if not attack.evidence or EVIDENCE[attack.evidence].made_up]


@pytest.mark.slow
def test_everything_that_is_shipped_is_calibrated():
    found = selftest([name for name in SHIPPED if name not in NETWORKS], scale=0.15)
    assert len(found.attacks) == len(SHIPPED) - len(NETWORKS)
    assert {check.name: check.problems for check in found.attacks if check.problems} == {}
    assert [check.name for check in found.intervals if not check.calibrated] == []
    assert {check.name for check in found.intervals} == set(simulations())
    assert found.calibrated


@pytest.mark.slow
def test_the_same_seed_gives_the_same_figures():
    attack = {"a": ATTACKS["difficulty"]}
    assert check_attacks(attack, 8, seed=3) == check_attacks(attack, 8, seed=3)
    assert check_attacks(attack, 8, seed=3)[0].noise != check_attacks(attack, 8, seed=4)[0].noise


@pytest.mark.slow
def test_the_company_of_other_attacks_changes_no_figure():
    """One world serves all attacks, and one that works in place spoils it for none."""

    def rude(signals):
        signals.target("margin")[:] = 0

    together = check_attacks({"rude": Attack(score=rude, summary="", own=True), "lira": ATTACKS["lira"]}, 8)
    assert together[1:] == check_attacks({"lira": ATTACKS["lira"]}, 8)
    assert "read-only" in together[0].problems[0]


def test_an_interval_that_is_too_narrow_is_caught(monkeypatch):
    from guestlist.selfcheck import coverage as module

    monkeypatch.setattr(module, "auc", lambda scores, member: narrow(module.Estimate, scores, member))
    assert not coverage("auc", repeats=200).calibrated


def narrow(estimate, scores, member):
    from guestlist.evaluate import auc

    value, low, high = auc(scores, member)
    return estimate(value, (value + low) / 2, (value + high) / 2)


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
    assert "Everything is calibrated." in result.output


@pytest.mark.slow
def test_the_command_takes_a_function_and_exits_with_1_where_it_is_broken(tmp_path, monkeypatch):
    (tmp_path / "own_attacks.py").write_text("def upside_down(signals):\n    return signals.target('loss')\n")
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, ["selftest", "--own", "own_attacks:upside_down", "--scale", "0.1", "--json"])
    assert result.exit_code == 1, result.output
    (check,) = json.loads(result.stdout)["attacks"]
    assert check["name"] == "upside_down"
    assert "inverted" in check["problems"][0]


def test_the_command_says_what_it_cannot_load():
    result = CliRunner().invoke(main, ["selftest", "--own", "no_such_module:f"])
    assert result.exit_code == 2
    assert "no_such_module" in result.output
    assert CliRunner().invoke(main, ["selftest", "--own", "nonsense"]).exit_code == 2


@pytest.mark.slow
def test_a_check_without_problems_is_calibrated():
    (check,) = check_attacks({"loss": ATTACKS["loss"]}, 8)
    assert isinstance(check, AttackCheck)
    assert check.calibrated
