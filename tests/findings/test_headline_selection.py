from dataclasses import replace

import numpy as np
import pytest
from benchmarks.error_rates.claims import prediction_interval, recipe, recipe_until

from guestlist import InputError
from guestlist._findings.headline import (
    ENOUGH,
    choose,
    halves,
    mean_auc,
    mean_tpr,
    same_recipe,
    some_of,
    stand_in_targets,
)
from guestlist.attacks import ATTACKS, Attack
from guestlist.metrics import auc, tpr_at_fpr
from guestlist.testing import gaussian_simulation, noise_simulation

SOME = {name: ATTACKS[name] for name in ("loss", "difficulty", "lira_pooled", "lira_bayes")}


def test_the_attack_that_does_best_on_stand_in_targets_is_chosen():
    choice = choose(stand_in_targets(gaussian_simulation(2.0, records=4000, models=17)), SOME)
    assert choice.measure == "tpr@0.01"
    assert choice.stand_ins == 16
    assert choice.name in ("lira_pooled", "lira_bayes", "difficulty")
    assert list(choice.means.values()) == sorted(choice.means.values(), reverse=True)
    assert choice.means["loss"] < choice.means[choice.name]


def test_few_records_are_judged_by_auc():
    assert choose(stand_in_targets(gaussian_simulation(1.0, records=500, models=9)), SOME).measure == "auc"


def test_the_target_plays_no_part_in_the_choice():
    simulation = gaussian_simulation(1.0, records=300, models=9)
    values = {name: matrix.copy() for name, matrix in simulation.values.items()}
    for matrix in values.values():
        matrix[0] = np.random.default_rng(0).normal(size=300)
    member = simulation.member.copy()
    member[0] = ~member[0]
    changed = replace(simulation, values=values, member=member)
    assert choose(stand_in_targets(changed), SOME) == choose(stand_in_targets(simulation), SOME)


def test_only_evaluated_records_count():
    simulation = gaussian_simulation(2.0, records=600, models=9)
    evaluated = np.arange(600) < 300
    values = {
        name: np.where(evaluated, matrix, 0.5) for name, matrix in simulation.values.items()
    }  # the rest says nothing
    only_loss = {"loss": ATTACKS["loss"]}
    stand_ins = stand_in_targets(replace(simulation, values=values))
    everyone, choice = choose(stand_ins, only_loss).means["loss"], choose(stand_ins, only_loss, evaluated)
    assert choice.scores.shape == (8, 300)
    some = choice.means["loss"]
    assert some > everyone + 0.05


def test_an_attack_does_not_win_by_leaving_out_what_is_hard():
    def sure_ones_only(signals):
        margin = signals.target("margin")
        return np.where(margin > 2, margin, np.nan)

    picky = {"loss": ATTACKS["loss"], "picky": Attack(score=sure_ones_only, summary="", needs=("margin",))}
    means = choose(stand_in_targets(gaussian_simulation(1.0, records=400, models=9)), picky).means
    assert means["picky"] <= means["loss"]


def test_attacks_that_need_more_references_are_passed_over():
    assert "lira" not in choose(stand_in_targets(gaussian_simulation(1.0, records=100, models=5))).means
    with pytest.raises(InputError, match="at least 2"):
        stand_in_targets(gaussian_simulation(1.0, records=100, models=2))


def test_rates_equal_those_of_the_evaluation():
    simulation = gaussian_simulation(1.0, records=3000, models=3)
    scores = ATTACKS["loss"].score(simulation)
    expected = [tpr_at_fpr(row, member, 0.01).value for row, member in zip(scores, simulation.member, strict=True)]
    assert mean_tpr(scores, simulation.member) == pytest.approx(np.mean(expected))
    assert mean_auc(np.full((1, 4), np.nan), np.array([[True, False, True, False]])) == 0.5


def target_rank(simulation):
    """Rank of the target among its stand-in targets by the loss, and its AUC."""
    stand_ins, score = stand_in_targets(simulation), ATTACKS["loss"].score
    scores = score(simulation.facing(0))
    return same_recipe(score(stand_ins), stand_ins.member, scores, simulation.member[0]), auc(
        scores, simulation.member[0]
    ).value


def test_an_exposed_target_ranks_above_its_stand_in_targets():
    simulation = gaussian_simulation(1.0, records=1000, models=21)
    shift = np.where(simulation.member, 2.0, 0.0) * (np.arange(21) == 0)[:, None]
    shifted = replace(simulation, values={"loss": simulation.values["loss"] - shift})
    where, auc = target_rank(shifted)
    assert where.share_larger == 0
    assert auc > max(where.aucs)
    assert len(where.aucs) == 20


@pytest.mark.slow
def test_a_target_like_the_others_has_any_rank_among_them():
    places = [target_rank(noise_simulation(records=100, models=9, seed=seed))[0].share_larger for seed in range(200)]
    assert np.mean(places) == pytest.approx(0.5, abs=0.1)
    assert min(places) == 0
    assert max(places) == 1


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"shift": 5.0}, {"references": 8}, {"step": 0.5}], ids=str)
@pytest.mark.every_third
def test_a_model_like_the_others_is_rarely_outside_the_prediction_interval(options):
    shares = prediction_interval(200, records=100, **options)
    assert shares["by rank"] == 0  # which could say neither, at any number of references up to 38
    assert 0.005 < shares["below"] + shares["above"] <= 0.1  # three standard errors above 5 %


@pytest.mark.slow
def test_one_that_leaks_clearly_more_is_above_the_prediction_interval():
    shares = prediction_interval(40, records=200, beyond=1.5)
    assert shares["above"] > 0.9
    assert shares["below"] == 0


# -- what is reported about stand-in targets --------------------------------------------------------------------------------


@pytest.mark.parametrize("records", [200, 2 * ENOUGH])
def test_no_stand_in_target_takes_part_in_the_choice_of_its_attack(records):
    simulation = gaussian_simulation(1.0, records=records, models=12)
    late = halves(simulation.blocks)
    before = choose(simulation, SOME)
    values = {name: matrix.copy() for name, matrix in simulation.values.items()}
    for matrix in values.values():
        matrix[late] = np.random.default_rng(0).normal(size=(6, records))
    changed = choose(replace(simulation, values=values), SOME)
    names = np.array([before.crossed_names, changed.crossed_names])
    assert (names[0, late] == names[1, late]).all()
    fewer = (
        simulation if records == 200 else simulation.take_records(some_of(records))
    )  # halves are tried on some of many records
    alone = choose(fewer.take(np.flatnonzero(~late)), SOME)
    assert set(names[0, late]) == {alone.name}
    for row, name in enumerate(before.crossed_names):
        np.testing.assert_array_equal(before.crossed[row], ATTACKS[name].score(simulation)[row])


def test_complementary_pairs_stay_together():
    assert list(halves(np.array([3, 3, 5, 5, 9, 9]))) == [False, False, True, True, False, False]


def test_halves_that_are_too_small_take_the_first_attack():
    for models in (2, 3):
        choice = choose(gaussian_simulation(1.0, records=100, models=models), {"loss": ATTACKS["loss"]})
        assert set(choice.crossed_names) == {"loss"}
    learners = {name: replace(attack, learns=True) for name, attack in SOME.items()}
    choice = choose(gaussian_simulation(1.0, records=100, models=9), learners)
    assert set(choice.crossed_names) == {"loss"}
    assert (choice.crossed == ATTACKS["loss"].score(gaussian_simulation(1.0, records=100, models=9))).all()


@pytest.mark.slow
def test_the_recipe_of_a_simulation_without_a_leak_is_at_chance():
    """Chosen and reported on the same stand-in targets, the mean would be .51 and more."""
    searched = recipe(50, records=60, models=8)
    assert searched["mean"] == pytest.approx(0.5, abs=0.01)
    assert searched["above guessing"] <= 5 / 50
    grown = recipe_until(5, records=60, width=0.08)
    assert grown["mean"] == pytest.approx(0.5, abs=0.03)


@pytest.mark.slow
def test_the_recipes_interval_holds_where_it_leaks():
    searched = recipe(25, records=60, models=8, shift=1.0)
    assert searched["above guessing"] == 1
    assert searched["covers"] >= 0.8
