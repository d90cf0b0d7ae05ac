"""Exposed records: a record is compared with itself under other models, and a person by all records together."""

from dataclasses import replace

import numpy as np
import pytest
from benchmarks.error_rates.claims import exposed_records
from hypothesis import given
from hypothesis import strategies as st

from guestlist._findings import exposure, headline, records
from guestlist._findings.exposure import p_value_of_person, top_k_ties
from guestlist._kernels import out_model_stats
from guestlist.testing import case_of, gaussian_simulation, leaking_case, noise_simulation
from simulated_cases import with_signals


def test_p_values_among_models_count_models_that_did_not_train_on_the_record():
    target_scores = np.array([2.0, 2.0, np.nan, 2.0, np.inf])
    scores = np.array([[1.0, 2.0, 0.0, 0.0, np.inf], [3.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, np.nan, 0.0]])
    member = np.array([[False, False, False, True, False], [True, False, False, True, False], [False] * 5])
    statistics = out_model_stats(target_scores, scores, member)
    p_values, models = statistics.p_values, statistics.count
    assert models.tolist() == [2, 3, 3, 0, 3]
    assert p_values == pytest.approx([1 / 3, 2 / 4, np.nan, np.nan, 2 / 4], nan_ok=True)


@pytest.mark.slow
def test_listed_records_are_rarely_flagged_by_models_not_trained_on_them():
    """Under the loss, easy records have high scores under any model."""
    exposed = exposed_records(simulations=4, records=200, models=45)
    assert 0.01 < exposed["flagged"] <= 0.07
    assert exposed["flagged by score"] > 0.1


def test_an_easy_record_is_not_exposed_and_a_memorised_one_is():
    simulation = gaussian_simulation(0.0, records=200, models=25, seed=3)
    easy, remembered = np.flatnonzero(simulation.member[0])[:2]
    margin = simulation.values["margin"].copy()
    margin[:, easy] += 20  # under every model
    margin[:, remembered] -= 4  # a hard record,
    margin[0, remembered] += 8  # but not for the target
    values = dict(simulation.values) | {"margin": margin, "loss": np.logaddexp(0, -margin)}
    case = case_of(replace(simulation, values=values), ("loss",))
    listed = records.find(case)
    assert listed[0].id == f"r{remembered}"
    assert listed[0].p_among_models == pytest.approx(1 / (1 + listed[0].models))
    table = case.of(records.record_table).set_index("id")
    assert table["p_value"].idxmin() == f"r{easy}"
    assert table.loc[f"r{easy}", "gap"] < 2 < table.loc[f"r{remembered}", "gap"]


def test_without_stand_in_targets_it_is_the_highest_scores():
    few = records.find(case_of(gaussian_simulation(1.0, records=100, models=5)))
    assert {record.p_among_models for record in few} == {None}
    scores = [record.score for record in few]
    assert scores == sorted(scores, reverse=True)


def test_the_list_does_not_depend_on_the_order_of_records():
    case = leaking_case()
    listed = records.find(case)
    table = case.of(records.record_table)
    turned = table.sample(frac=1, random_state=0)
    exposed = records.exposed_members(turned, case.of(headline.find).name)
    assert repr(exposed) == repr(listed)  # risks may be NaN, which no NaN equals


def test_of_many_ties_none_is_named_and_they_are_counted():
    """A third of the members share the highest score; no reference says anything about them."""
    case = case_of(gaussian_simulation(0.5, records=3000, models=1, seed=1), ("loss",))
    member, score = case.truth.member_evaluated, np.zeros(3000)
    score[np.flatnonzero(member)[:500]] = score[np.flatnonzero(~member)[:30]] = 1.0
    case = with_signals(case, loss=-score)
    assert case.of(records.record_table)["p_value"].min() < 0.05
    assert records.find(case) == ()
    assert records.exposure_summary(case) == records.ExposureSummary(0.05, int(member.sum()), 500, 500, "p_value")
    common = with_signals(
        case, loss=-1.0 * (np.arange(3000) % 3 == 0)
    )  # the same number of non-members: no small p-value
    assert records.find(common) == ()
    assert records.exposure_summary(common).left_out == 0


def test_those_that_tie_are_listed_together_in_the_natural_order_of_their_ids():
    case = case_of(gaussian_simulation(0.5, records=1000, models=1, seed=1), ("loss",))
    members, score = np.flatnonzero(case.truth.member), np.zeros(1000)
    score[members[:30]], score[members[40]] = 1.0, 2.0
    listed = records.find(with_signals(case, loss=-score))
    assert [record.id for record in listed] == [f"r{at}" for at in (members[40], *members[:30])]
    assert [record.tied for record in listed] == [1, *[30] * 30]


@pytest.mark.parametrize("models", [13, 33, 65])
def test_no_record_is_listed_without_a_small_p_value(models):
    """In noise too; and the number of small p-values is that of a column of the table."""
    case = case_of(noise_simulation(records=400, models=models, seed=2), ("loss",))
    listed, summary = records.find(case), records.exposure_summary(case)
    assert 0 < summary.small < 0.09 * summary.members
    table = case.of(records.record_table)
    assert summary.small == (table["member"] & (table[summary.column] <= 0.05)).sum()
    assert all(record.p_distance <= 0.05 for record in listed)


@pytest.mark.parametrize(("models", "names"), [(17, ("lira_bayes",)), (17, ("loss",)), (65, ("loss",)), (6, ("loss",))])
def test_the_list_is_ordered_and_cut_by_what_its_table_shows(models, names):
    """No eligible record with a smaller key is omitted, with few models and with many."""
    case = case_of(gaussian_simulation(2.0, records=600, models=models, seed=4), names)
    listed = records.find(case)
    assert len(listed) == 20
    if listed[0].p_among_models is None:  # too few models to compare a record with itself
        keys = [(-record.score,) for record in listed]
    else:
        keys = [(record.p_distance, -record.gap) for record in listed]
        table = case.of(records.record_table)
        allowed = table[table["member"] & (table["p_exposure"] <= 0.05)]
        left_out = allowed[~allowed["id"].isin([record.id for record in listed])]
        assert len(left_out) > 20
        assert min(zip(left_out["p_exposure"], -left_out["gap"], strict=True)) >= max(keys)
    assert keys == sorted(keys)
    flags = [bool(record.flagged) for record in listed]
    assert flags == sorted(flags, reverse=True)  # flagged records first


def test_without_margins_students_tail_orders_the_list():
    """Without margins there is no list of which few are false, and the tail itself is the p-value by distance."""
    case = case_of(gaussian_simulation(2.0, records=600, models=17, seed=4), ("loss",))
    table = case.of(records.record_table).drop(columns=["p_exposure", "flagged"])
    table["p_distance"] = records.p_of_gap(table)
    listed = records.exposed_members(table, "loss")
    p_distances = [record.p_distance for record in listed]
    assert p_distances == sorted(p_distances)
    assert len(set(p_distances)) > 15  # finer than a share of few models


@given(st.lists(st.integers(0, 3), max_size=30), st.integers(1, 8), st.integers(0, 8))
def test_ties_for_the_first_ranks_are_kept_together(values, room, extra):
    """Against counting: a place is named as a whole or not at all, and the first that does not fit ends the list."""
    ties = top_k_ties([np.array(values)], [f"r{at}" for at in range(len(values))], room, room + extra)
    wanted, left_out = [], 0
    for value in sorted(set(values)):
        indices = [at for at, item in enumerate(values) if item == value]
        if len(wanted) >= room:
            break
        if len(wanted) + len(indices) > room + extra:
            left_out = len(indices)
            break
        wanted += indices
    assert (ties.rows.tolist(), ties.left_out) == (wanted, left_out)
    assert ties.tied.tolist() == [values.count(values[at]) for at in wanted]


# -- persons ------------------------------------------------------------------------------------------------------------


def with_persons(case, each=5):
    return replace(case, records=case.records.assign(person=[f"p{i // each:03}" for i in range(len(case.records))]))


@pytest.mark.slow
def test_a_persons_p_value_is_corrected_for_the_number_of_records():
    """A model that trained on no record, for any number of records and any similarity between them."""
    rng = np.random.default_rng(0)
    for number, shared in ((1, 0.0), (10, 0.0), (10, 2.0)):
        p_values, best = [], []
        for _ in range(2000):
            scores = rng.normal(size=(40, number)) + shared * rng.normal(size=(40, 1))
            p_value, models = p_value_of_person(scores[0], scores[1:], np.zeros((39, number), bool))
            assert models == 39
            p_values.append(p_value)
            best.append(out_model_stats(scores[0], scores[1:], np.zeros((39, number), bool)).p_values.min())
        assert np.mean(np.array(p_values) <= 0.05) == pytest.approx(0.05, abs=0.02)
        assert number == 1 or np.mean(np.array(best) <= 0.05) > 0.1  # the claim from the maximum of all records


def test_models_that_trained_on_one_of_a_persons_records_are_no_comparison():
    member = np.array([[False, True], [False, False]])
    assert p_value_of_person(np.array([1.0, 1.0]), np.array([[9.0, 9.0], [0.0, 0.0]]), member) == (1 / 2, 1)
    assert p_value_of_person(np.array([1.0]), np.array([[0.0]]), np.array([[True]])) == (None, 0)


def test_persons_are_listed_where_they_are_known():
    case = leaking_case()
    assert exposure.find_persons(case) is None
    simulation = gaussian_simulation(1.5, records=400, models=1, seed=2)
    person = np.arange(400) // 8
    simulation = replace(simulation, member=(person % 2 == 0)[None])
    case = with_persons(case_of(simulation, ("loss",)), each=8)
    rng = np.random.default_rng(0)
    margin = rng.normal(size=400) + 3 * (person == 6)
    values = {name: np.atleast_2d(-margin if name == "loss" else margin) for name in ("loss", "p_y", "correct")}
    persons = exposure.find_persons(replace(case, view=replace(case.view, values=values)).scored())
    assert persons[0].person == "p006"
    assert persons[0].records == 8
    assert persons[0].p_value == pytest.approx(1 / 26)
    assert {person.p_among_models for person in persons} == {None}
    assert all(person.p_value <= 0.05 for person in persons)  # 25 persons, few of them exposed
    assert len(persons) < 4


def test_persons_are_compared_with_themselves_under_other_models():
    simulation = noise_simulation(records=120, models=41, seed=5)
    person = np.arange(120) // 3
    included = np.random.default_rng(1).random((41, 40)) < 0.5
    simulation = replace(simulation, member=included[:, person])
    case = with_persons(case_of(simulation, ("loss",)), each=3)
    known = np.isin(person, np.flatnonzero(included[0])[:4])
    case = with_signals(case, loss=np.where(known, 0.0, case.view.target("loss")))
    persons = exposure.find_persons(case)
    assert all(10 < person.models < 31 for person in persons)
    order = [person.p_among_models for person in persons]
    assert persons
    assert order == sorted(order)


def test_listed_members_carry_their_risks_and_whether_they_are_on_the_list():
    case = leaking_case(records=400)
    table, listed = case.of(records.record_table).set_index("id"), records.find(case)
    risks = [
        name.removeprefix("risk_")
        for name in table
        if name.startswith("risk_") and not name.endswith(("_low", "_high"))
    ]
    assert risks
    for record in listed:
        assert dict(record.risks) == pytest.approx(
            {name: table.loc[record.id, f"risk_{name}"] for name in risks}, nan_ok=True
        )
        assert record.flagged == table.loc[record.id, "flagged"]
        assert record.features == {}


@pytest.mark.parametrize(("members", "expected"), [(10, 20), (400, 20), (1000, 50), (50_000, 100)])
def test_the_list_is_a_small_part_of_many_members(members, expected):
    assert records.longest(members) == expected
