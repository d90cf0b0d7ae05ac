"""The SHAPr paper's tables on small models: the same code, figures that can be checked otherwise."""

import dataclasses
import json

import numpy as np
import pytest
from papers.errata import shapr as errata
from papers.shapr import (
    alone,
    attribution,
    comparison,
    distributions,
    effectiveness,
    figures,
    groups,
    measures,
    models,
    noise,
    page,
    published,
    regularisation,
    removal,
    results,
    times,
    trends,
)
from papers.shapr.__main__ import ALONE, SWEEPS, main
from papers.shapr.data import SOURCES, Pool, Source, drawn, load
from papers.shapr.spread import BETTER, NO_DIFFERENCE, WORSE, Spread, spread, verdict
from scipy.special import softmax
from scipy.stats import ttest_rel
from sklearn.metrics import f1_score, precision_score, recall_score, roc_auc_score
from sklearn.neighbors import KNeighborsClassifier

import guestlist as gl
from guestlist.errors import InputError

torch = pytest.importorskip("torch")

SOURCE = Source("", "CLUSTERS", None, 120, 120)
SMALL = models.Setting(hidden=(48, 24), epochs=40, models=((1000, 9),), repeats=3)


@pytest.fixture(scope="module")
def pool():
    """Overlapping classes in many dimensions: a network learns its members by heart and errs on others."""
    rng = np.random.default_rng(0)
    y = rng.integers(4, size=300)
    x = (1.5 * np.eye(4, 40)[y] + rng.normal(size=(300, 40))).astype(np.float32)
    return Pool("clusters", x, y, {"sex": np.where(rng.random(300) < 0.6, "Male", "Female")})


@pytest.fixture(scope="module")
def world(pool, tmp_path_factory):
    return models.world(pool, SOURCE, SMALL, tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="module")
def repeats(world):
    return [measures.repeat(world, k) for k in range(SMALL.repeats)]


def test_models_train_on_halves_of_one_pool(world):
    assert world.member.shape == (9, 240)
    assert (world.member.sum(axis=1) == 120).all()
    assert len(np.unique(world.member, axis=0)) == 9
    assert len(world.targets) == 3


def test_what_was_trained_is_not_trained_again(pool, world, tmp_path, monkeypatch):
    setting = dataclasses.replace(SMALL, models=((1000, 2),), repeats=1)
    first = models.world(pool, SOURCE, setting, tmp_path)
    assert np.array_equal(first.logits, world.logits[:2]), "a model has a stream of its own"
    monkeypatch.setattr(models.gl, "Fit", None)
    again = models.world(pool, SOURCE, setting, tmp_path)
    assert np.array_equal(again.logits, first.logits)
    assert again.seconds == first.seconds > 0
    with pytest.raises(TypeError):  # other settings, other models
        models.world(pool, SOURCE, dataclasses.replace(setting, epochs=2), tmp_path)


def test_models_that_began_otherwise_are_not_taken_for_these(pool, monkeypatch):
    place, state = SMALL.place(pool, 120), torch.get_rng_state()
    assert SMALL.place(pool, 120) == place
    assert torch.equal(torch.get_rng_state(), state), "nothing else is drawn otherwise"
    mlp = gl.mlp

    def otherwise(*sizes, **options):
        module = mlp(*sizes, **options)
        torch.nn.init.normal_(module[0].weight)
        return module

    monkeypatch.setattr(models.gl, "mlp", otherwise)
    assert SMALL.place(pool, 120) != place


def test_attacks_find_members_and_the_own_shadow_is_the_worst_case(repeats):
    for one in repeats:
        everyone = np.ones(len(one.member), dtype=bool)
        accuracy = {attack: effectiveness.balanced(one, attack, everyone) for attack in measures.ATTACKS}
        assert min(accuracy.values()) > 0.52, accuracy
        # Thresholds that learnt the truth tell it at least as well as any others of the same kind.
        assert accuracy[measures.OWN] >= accuracy[measures.SHADOW]
        assert np.nanmean(one.calls[measures.LIRA_LOW][~one.member]) <= measures.FPR


def test_worths_are_those_of_scikit_learn(repeats):
    one = repeats[0]
    found = {(each.attack, each.risk): each for each in one.worths()}
    assert set(found) == {(attack, risk) for attack in measures.ATTACKS for risk in measures.RISKS}
    for (attack, risk), worth in found.items():
        known = ~np.isnan(one.calls[attack][one.member])
        called, values = one.calls[attack][one.member][known] > 0, one.risks[risk][known]
        at_risk = values > measures.THRESHOLDS[risk]
        assert worth.f1.value == pytest.approx(f1_score(called, at_risk))
        assert worth.precision.value == pytest.approx(precision_score(called, at_risk))
        assert worth.recall.value == pytest.approx(recall_score(called, at_risk))
        assert worth.auc.value == pytest.approx(roc_auc_score(called, values))
    assert all(found[attack, measures.EVERYBODY].recall.value == 1 for attack in measures.ATTACKS)


def test_shapr_adds_up_to_the_accuracy_of_a_neighbours_vote_in_its_space(world, repeats):
    member, y = world.member[1], world.pool.y
    for name, space in measures.PLACES.items():
        x = space(world, 1)
        votes = KNeighborsClassifier(5).fit(x[member], y[member]).predict_proba(x[~member])
        share = votes[np.arange((~member).sum()), y[~member]].mean()
        assert repeats[1].risks[name].sum() == pytest.approx(share, abs=1e-6), name
    sizes = [measures.PLACES[name](world, 1).shape[1] for name in measures.SPACES]
    assert sizes == [40, 48, 24, 4]


def test_effects_are_means_over_repeats_with_a_paired_test(repeats):
    rows = {(row.attack, row.risk): row for row in effectiveness.effects(repeats)}
    values = {
        risk: [
            next(one.f1.value for one in each.worths() if (one.attack, one.risk) == (measures.OWN, risk))
            for each in repeats
        ]
        for risk in (measures.FIRST, measures.SCORE)
    }
    row = rows[measures.OWN, measures.FIRST].f1
    assert row.mean == pytest.approx(np.mean(values[measures.FIRST]))
    assert row.spread == pytest.approx(np.std(values[measures.FIRST], ddof=1))
    assert row.p == pytest.approx(ttest_rel(values[measures.FIRST], values[measures.SCORE]).pvalue)
    assert np.isnan(rows[measures.OWN, measures.SCORE].f1.p), "the score is not compared with itself"
    shadow = rows[measures.SHADOW, measures.SCORE_SHADOW].f1
    assert np.isnan(shadow.p), "against a shadow, the score that learnt from it is what others are compared with"


def test_accuracies_are_of_members_and_of_others(repeats):
    found = effectiveness.accuracy(repeats)
    assert found.train.mean == pytest.approx(np.mean([each.right[each.member].mean() for each in repeats]))
    assert found.train.mean > found.test.mean > 1 / 4
    assert [row.attack for row in effectiveness.called(repeats)] == list(measures.ATTACKS)
    assert all(0 < row.called.mean <= 1 for row in effectiveness.called(repeats))


def test_groups_together_are_everybody(world, repeats):
    rows = groups.groups(repeats, world.pool.groups)
    assert [(row.column, row.group) for row in rows] == [("sex", "Male"), ("sex", "Female")]
    assert sum(row.members for row in rows) == pytest.approx(120)
    assert rows[0].accuracy.p == 1, "the first group is compared with itself"
    assert rows[1].accuracy.difference == pytest.approx(rows[1].accuracy.mean - rows[0].accuracy.mean)
    one = groups.groups(repeats[:1], world.pool.groups)
    whole = sum(row.members * row.shapr.mean for row in one) / 120
    assert whole == pytest.approx(repeats[0].risks[measures.FIRST].sum())
    assert np.isnan(one[1].shapr.p), "one repeat tests nothing"
    right, member, women = repeats[0].right, repeats[0].member, world.pool.groups["sex"] == "Female"
    assert one[1].test.mean == right[~member & women].mean()
    assert one[1].gap.mean == pytest.approx(right[member & women].mean() - right[~member & women].mean())


def test_distributions_hold_every_member(repeats):
    for row in distributions.distributions(repeats[0]):
        assert sum(row.called) + sum(row.not_called) == pytest.approx(1)
        calls = repeats[0].calls[measures.OWN][repeats[0].member]
        assert sum(row.called) == pytest.approx(calls.mean())
    shapr, score = distributions.distributions(repeats[0])
    assert shapr.at_risk == (repeats[0].risks[measures.FIRST] > 0).mean()
    assert (score.low, score.high) == (0, 1)


def test_spread_leaves_out_what_is_not_known():
    assert spread([1.0, 3.0, float("nan")]).mean == 2
    found = spread([0.5, 0.6, 0.7], [0.5, 0.5, float("nan")])
    assert found.difference == pytest.approx(0.05)
    assert found.p == pytest.approx(ttest_rel([0.5, 0.6], [0.5, 0.5]).pvalue)
    assert spread([0.5, 0.5], [0.5, 0.5]) == Spread(0.5, 0.0, 0.0, 1.0)
    assert spread([0.5, 0.75], [0.25, 0.5]).p == 0, "always the same difference"
    assert np.isnan(spread([0.5], [0.4]).p)
    assert np.isnan(spread([float("nan")]).mean)


def test_a_verdict_needs_a_small_p():
    assert verdict(0.1, 0.04) == BETTER
    assert verdict(-0.1, 0.04) == WORSE
    assert verdict(-0.1, 0.05) == NO_DIFFERENCE
    assert verdict(0.1, None) == ""


def test_the_papers_winner_is_read_from_its_figures():
    assert comparison.theirs(((0.94, 0.02), (0.90, 0.02))) == WORSE
    assert comparison.theirs(((0.72, 0.0), (0.96, 0.0))) == BETTER
    assert comparison.theirs(((0.89, 0.01), (0.89, 0.01))) == NO_DIFFERENCE
    assert comparison.theirs(((0.65, 0.07), (0.67, 0.06))) == NO_DIFFERENCE


def _result(difference, p, everybody, shapr, auc):
    """A result in which every attack and risk has the same figures."""
    figure = {"mean": shapr, "spread": 0.01, "difference": difference, "p": p}
    rows = [
        {"attack": attack, "risk": risk, "f1": figure, "recall": figure, "auc": figure | {"mean": auc}}
        for attack in measures.ATTACKS
        for risk in (measures.EVERYBODY, *measures.SPACES)
    ]
    rows = [row | {"f1": figure | {"mean": everybody}} if row["risk"] == measures.EVERYBODY else row for row in rows]
    return {"effects": rows, "repeats": {"count": 4}}


def test_other_winners_are_named():
    said = comparison.differences({
        "location30": _result(0.1, 0.01, 0.9, 0.8, 0.52), "mnist": _result(0.1, 0.01, 0.7, 0.8, 0.505)
    })  # fmt: skip
    lines = dict(zip(comparison.TABLES, said.splitlines(), strict=False))
    assert "the winner is the paper's on MNIST. **It is the other one on LOCATION.**" in lines["Table III"]
    assert "the paper's on LOCATION, MNIST." in lines["Table IV"]
    assert "4 of 8 (first layer)" in said, "everybody has the higher F1 on one of two datasets"
    assert "against LiRA above 0.5 on LOCATION, below on none" in said
    said = comparison.differences({"location30": _result(0.1, 0.5, 0.9, 0.8, 0.4)})
    assert "finds no difference on LOCATION (no difference; paper worse)" in said
    assert "against LiRA above 0.5 on none, below on LOCATION" in said


def test_groups_are_told_as_the_paper_told_them():
    def group(name, difference):
        figure = {"mean": 0.6, "spread": 0.01, "difference": difference, "p": 1.0 if difference == 0 else 0.01}
        return {"column": "sex", "group": name, "members": 10} | dict.fromkeys(groups.FIGURES, figure)

    rows = [group("Male", 0.0), group("Female", -0.1) | {"score": {"mean": 0.5, "difference": 0.1, "p": 0.5}}]
    rows[1]["accuracy"] = {"mean": 0.7, "difference": 0.1, "p": 0.01}
    first, _, together, *_ = comparison.groups_said({"credit": {"groups": rows}}).splitlines()
    assert first == (
        "* CREDIT, Female against Male: attack accuracy higher (paper higher); SHAPr (first layer) lower, SHAPr (outputs) "
        "lower, risk score no different; test accuracy lower, gap lower."
    )
    assert "Of 1 comparisons" in together
    assert "test accuracy in 1, and the way of the attack's accuracy in 0" in together
    assert together.endswith("the way of the gap in 0.")


def test_attributions_are_told_beside_shapr():
    worse, same = ({"mean": 0.2, "difference": -0.5, "p": p} for p in (0.01, 0.3))
    row = {"dataset": "usps", "influence_functions": worse, "tracin": same}
    row |= {f"{name}_auc": {"mean": mean} for name, mean in zip(attribution.VALUES, (0.6, 0.5, 0.7), strict=True)}
    said = comparison.attributions_said([row])
    assert "as in the paper: influence functions." in said
    assert said.endswith("that of TracIn.\n")


def test_the_papers_winner_may_come_out_in_another_space():
    result = _result(0.1, 0.01, 0.9, 0.8, 0.5)
    worse = {"mean": 0.8, "spread": 0.01, "difference": -0.1, "p": 0.01}
    result["effects"] = [
        row | {"f1": worse} if (row["attack"], row["risk"]) == (measures.OWN, measures.OUTPUTS) else row
        for row in result["effects"]
    ]
    said = comparison.differences({"location30": result}).splitlines()
    assert said[0].endswith("in another space on LOCATION (outputs).")
    assert "another space" not in said[1]


def test_the_papers_recalls_are_those_of_the_errata():
    """Two transcriptions of Table V."""
    for name, (score, shapr) in published.RECALL_MENTR.items():
        assert (score[0], shapr[0]) == errata.TABLE_5[name]
    assert all(recall[0] == errata.TABLE_5[name][1] for name, recall in published.ATTRIBUTION.items())
    for table in (published.F1_MENTR, published.F1_LIRA, published.RECALL_LIRA, published.SECONDS, published.ACCURACY):
        assert set(table) == {source.paper for source in SOURCES.values()}


# -- defences ----------------------------------------------------------------------------------------------------------

TWO = dataclasses.replace(SMALL, repeats=2)


@pytest.fixture(scope="module")
def targets(world):
    """The same with two targets."""
    return dataclasses.replace(world, targets=world.targets[:2])


def votes(x, y, member):
    """Share of the five nearest members that vote for a non-member's class."""
    found = KNeighborsClassifier(5).fit(x[member], y[member]).predict_proba(x[~member])
    return found[np.arange((~member).sum()), y[~member]].mean()


def test_a_network_alone_is_the_target_among_its_references(world, repeats):
    one, both = alone.seen(world.targets[1], world.pool.x, world.pool.y, world.member[1]), repeats[1]
    assert one.shapr == pytest.approx(120 * both.risks[measures.FIRST])
    assert one.outputs == pytest.approx(120 * both.risks[measures.OUTPUTS])
    assert np.array_equal(one.score, both.risks[measures.SCORE])
    assert np.array_equal(one.calls, both.calls[measures.OWN])
    assert np.array_equal(one.right, both.right)
    assert alone.each("attack", [alone.whole(one)]) == [
        pytest.approx(effectiveness.balanced(both, measures.OWN, np.ones(240, dtype=bool)))
    ]


def test_averages_are_of_the_chosen_members():
    member = np.array([True, True, True, False])
    calls, right = np.array([1.0, 0.0, 1.0, 0.0]), np.array([1.0, 1.0, 0.0, 1.0])
    one = alone.Seen(member, np.array([2.0, -1.0, 4.0]), np.zeros(3), np.array([0.5, 0.7, 0.9]), calls, right)
    chosen = np.array([True, True, False])
    found = {name: figure.mean for name, figure in vars(alone.averages([(one, chosen)])).items()}
    expected = {
        "shapr": 0.5,
        "outputs": 0,
        "at_risk": 2,
        "share": 0.5,
        "score": 0.6,
        "attack": 0.75,
        "train": 1,
        "test": 1,
    }
    assert found == pytest.approx(expected)
    assert np.isnan(alone.averages([(one, one.shapr < 0)]).at_risk.mean), "nobody is at risk"
    compared = alone.averages([alone.whole(one)] * 2, [(one, chosen)] * 2)
    assert compared.shapr.difference == pytest.approx(5 / 3 - 0.5)


def test_without_a_penalty_it_is_the_target(targets):
    networks, seconds = regularisation.trained(targets, TWO, weights=(0.0, 0.3))
    assert networks[0.0] is targets.targets
    assert seconds > 0
    none, much = regularisation.tables(targets, TWO, networks)["sweep"]
    assert (none.weight, much.weight) == (0.0, 0.3)
    assert none.figures.attack.difference == 0
    assert much.figures.attack.mean < none.figures.attack.mean
    assert much.figures.train.difference == pytest.approx(much.figures.train.mean - none.figures.train.mean)
    shares = [
        votes(models.asked(module[:2], targets.pool.x), targets.pool.y, targets.member[k])
        for k, module in enumerate(networks[0.3])
    ]
    assert much.figures.shapr.mean == pytest.approx(np.mean(shares)), "over all members, utility and nothing else"


def test_those_with_the_highest_values_are_removed(targets):
    values = measures.shapr_in(measures.PLACES[measures.FIRST](targets, 1), targets.member[1], targets.pool.y)
    for by in (removal.HIGHEST, removal.RANDOM):
        rest, others = removal.remaining(targets, 1, by, 0.25)
        fewer, _ = removal.remaining(targets, 1, by, 0.5)
        assert rest.sum() == others.sum() == 90
        assert not (rest & ~targets.member[1]).any()
        assert not (others & targets.member[1]).any()
        assert not (fewer & ~rest).any(), "who was removed stays so"
    rest, _ = removal.remaining(targets, 1, removal.HIGHEST, 0.25)
    gone = ~rest[targets.member[1]]
    assert values[gone].min() >= values[~gone].max()
    chance, _ = removal.remaining(targets, 1, removal.RANDOM, 0.25)
    assert not np.array_equal(chance, rest)


def test_removal_is_about_those_who_remain(targets):
    networks, _ = removal.trained(targets, TWO, shares=(0.5,))
    highest, chance = removal.tables(targets, TWO, networks)["sweep"]
    assert (highest.by, chance.by, highest.share) == (removal.HIGHEST, removal.RANDOM, 0.5)
    x, y = targets.pool.x, targets.pool.y
    after, before = [], []
    for k in range(2):
        rest, others = removal.remaining(targets, k, removal.HIGHEST, 0.5)
        module = TWO.fit(TWO.network(targets.pool), gl.Data(x[rest], y[rest]), np.random.default_rng([2, k]))
        asked = rest | others
        after.append(votes(models.asked(module[:2], x[asked]), y[asked], rest[asked]))
        values = measures.shapr_in(measures.PLACES[measures.FIRST](targets, k), targets.member[k], y)
        before.append(120 * values[rest[targets.member[k]]].mean())
    assert highest.after.shapr.mean == pytest.approx(np.mean(after))
    assert highest.before.shapr.mean == pytest.approx(np.mean(before))
    assert highest.after.shapr.difference == pytest.approx(np.mean(after) - np.mean(before))
    assert highest.attack.difference == pytest.approx(highest.after.attack.mean - chance.after.attack.mean)
    assert chance.attack.p == 1, "compared with itself"


def test_half_of_the_members_have_noise(targets):
    networks, _ = noise.trained(targets, TWO, sizes=(0, 255))
    assert networks[0] is targets.targets
    (data, noisy), (same, again) = (noise.moved(targets, TWO, 0, size) for size in (255, 0))
    x = targets.pool.x[targets.member[0]]
    assert noisy.sum() == 60
    assert np.array_equal(noisy, again), "the same ones at any size"
    assert np.array_equal(same.x, x)
    assert np.abs(data.x - x)[noisy] == pytest.approx(1, abs=1e-6)
    assert np.array_equal(data.x[~noisy], x[~noisy])
    found = noise.tables(targets, TWO, networks)
    rows = {(row.size, row.half, row.asked): row.figures for row in found["sweep"]}
    for size in (0, 255):
        for half in (noise.NOISY, noise.CLEAN):
            trained, known = (rows[size, half, asked].shapr for asked in (noise.TRAINED, noise.KNOWN))
            assert trained == known, "SHAPr has what was trained on"
    assert rows[0, noise.NOISY, noise.TRAINED] == rows[0, noise.NOISY, noise.KNOWN]
    trained, known = (rows[255, noise.NOISY, asked].attack.mean for asked in (noise.TRAINED, noise.KNOWN))
    assert known < trained, "an attacker who does not have the noise"
    both = [rows[255, half, noise.TRAINED].shapr.mean for half in (noise.NOISY, noise.CLEAN)]
    whole = []
    for k in range(2):
        x = targets.pool.x.copy()
        x[targets.member[k]] = noise.moved(targets, TWO, k, 255)[0].x
        whole.append(votes(models.asked(networks[255][k][:2], x), targets.pool.y, targets.member[k]))
    assert np.mean(both) == pytest.approx(np.mean(whole))
    assert {(row.risk, row.asked) for row in found["correlations"]} == {
        (risk, asked) for risk, ways in noise.ASKED.items() for asked in ways
    }
    mixed = next(row for row in found["correlations"] if row.asked == noise.MIXED)
    went = (
        rows[255, noise.NOISY, noise.TRAINED].score.difference * rows[255, noise.NOISY, noise.KNOWN].attack.difference
    )
    assert mixed.r == pytest.approx(np.sign(went)), "of two sizes, a risk as trained on and an attack as known"


def test_correlations_are_pearsons():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 9))
    assert noise.pearson(a, b)[0] == pytest.approx(np.corrcoef(a, b)[0, 1])
    assert np.isnan(noise.pearson(a, np.ones(9))[0])


def _figure(side):
    """One that is higher, lower or no different."""
    return {"mean": 0.5, "spread": 0.01, "difference": 0.1 * side, "p": 0.01 if side else 0.5}


def test_regularisation_is_told_as_it_goes():
    def row(weight, shapr, attack, test):
        sides = {"shapr": shapr, "at_risk": shapr, "outputs": 0, "score": attack, "attack": attack, "test": test}
        figures = {name: _figure(side) for name, side in sides.items()}
        return {"dataset": "location30", "weight": weight, "figures": figures}

    said = trends.regularisation_said([row(0.0, 0, 0, 0), row(0.1, -1, -1, 1), row(0.2, 1, -1, 1)])
    assert "of 2 weights, against none: SHAPr of all members is lower at 1, higher at 1;" in said
    assert "the attack's accuracy is lower at 2, higher at 0." in said
    assert "accuracy at 1 of 2 weights, the opposite way at 1, and the way of the test accuracy at 1." in said


SCALED = ((0.0, 0.8), (0.5, 0.5), (0.75, 0.2))  # share and SHAPr: 0.8, 1 and 0.8 where it is not times members


def test_removal_is_told_against_before_and_against_chance():
    after = {"shapr": _figure(-1), "attack": _figure(1), "test": _figure(0)}
    row = {"dataset": "location30", "by": removal.HIGHEST, "share": 0.5, "after": after, "attack": _figure(0)}
    other = row | {"by": removal.RANDOM, "after": dict.fromkeys(after, _figure(1))}
    said = trends.removal_said([row, other])
    assert "of 1 shares" in said
    assert "their SHAPr is lower at 1, higher at 0; the attack's accuracy on them is lower at 0, higher at 1;" in said
    assert "removed at random, the attack's accuracy is lower at 0, higher at 0." in said
    shapr = [{**row, "share": share, "after": after | {"shapr": _figure(0) | {"mean": mean}}} for share, mean in SCALED]
    assert trends.scaled(shapr[1]) == pytest.approx(1.0)
    courses = [trends.removal_said(rows).splitlines()[2] for rows in (shapr[:2], shapr[1:], shapr)]
    assert ["always rises" in courses[0], "always falls" in courses[1], "both rises and falls" in courses[2]] == [
        True
    ] * 3


def test_noise_is_told_at_its_largest():
    def row(size, half, asked, shapr, attack):
        figures = {"shapr": _figure(shapr), "attack": _figure(attack), "test": _figure(0)}
        return {"dataset": "mnist", "size": size, "half": half, "asked": asked, "figures": figures}

    rows = [row(1, half, asked, 0, 0) for half in (noise.NOISY, noise.CLEAN) for asked in (noise.TRAINED, noise.KNOWN)]
    rows += [row(9, noise.NOISY, noise.TRAINED, -1, 1), row(9, noise.NOISY, noise.KNOWN, -1, -1)]
    rows += [row(9, noise.CLEAN, asked, 1, 0) for asked in (noise.TRAINED, noise.KNOWN)]
    assert trends.noise_said(rows) == (
        "* MNIST: SHAPr of the noisy half lower (paper lower), of the clean half higher (paper: no consistent trend); attack on "
        "the noisy half, asked as trained on, higher, asked as known lower (paper lower), on the clean half no different; test "
        "accuracy no different.\n"
    )
    assert trends.not_run(rows) == "Not run on LOCATION, FMNIST, USPS, FLOWER, MEPS, CREDIT, CENSUS.\n"
    rows[4]["figures"]["attack"]["p"] = None
    assert "as trained on, higher (one repeat, not tested), asked as known lower (paper" in trends.noise_said(rows)
    rows = [
        {"dataset": "usps", "risk": risk, "asked": asked, "r": r, "p": 0.01}
        for risk, r in (("shapr", 0.3), ("score", 0.9))
        for asked in noise.ASKED[risk]
    ]
    first, *_, last, _ = trends.correlations_said(rows).splitlines()
    assert "SHAPr, asked as trained on: the paper's sign on USPS; the other one on none." in first
    assert "risk score, asked as known: the paper's sign on none; the other one on USPS." in last


@pytest.mark.slow
def test_attribution_has_a_recall_for_each(world):
    pytest.importorskip("captum")
    setting = dataclasses.replace(SMALL, repeats=2)
    row = attribution.recalls(world, setting)
    for name in attribution.VALUES:
        assert 0 <= getattr(row, name).mean <= 1
    assert row.shapr.mean == pytest.approx(
        np.mean([
            next(one.recall.value for one in measures.repeat(world, k).worths() if one.risk == measures.FIRST)
            for k in range(2)
        ])
    )  # fmt: skip
    member, x, y = world.member[0], world.pool.x, world.pool.y
    sides = x[member], y[member], x[~member], y[~member]
    whole = gl.influence_functions(world.targets[0], *sides, layers=["4"])
    assert attribution.VALUES["influence_functions"](world, setting, 0) == pytest.approx(whole, rel=1e-3, abs=1e-7)
    # TracIn of a last layer, by hand: the product of what it is given times that of errors, summed over checkpoints.
    fit = setting.fit
    checkpoints = fit.checkpoints(*models.trained_by(world.pool, member, setting, 0), every=attribution.EVERY)
    value = np.zeros(member.sum())
    for module in checkpoints:
        given = np.c_[models.asked(module[:-1], x), np.ones(len(x))]
        error = softmax(models.asked(module, x), axis=1) - np.eye(4)[y]
        value += fit.learning_rate * (given[member] @ given[~member].T * (error[member] @ error[~member].T)).mean(
            axis=1
        )
    assert attribution.VALUES["tracin"](world, setting, 0) == pytest.approx(value, rel=1e-3, abs=1e-6)


def test_leave_one_out_trains_a_model_for_each(pool):
    found = times.leave_one_out(pool, dataclasses.replace(SMALL, epochs=3), records=10)
    assert found.records == 10
    assert found.seconds > found.shapr_seconds > found.shapr_alone > 0


def test_missing_data_is_said(monkeypatch, tmp_path):
    monkeypatch.setenv("GUESTLIST_DATA", str(tmp_path))
    with pytest.raises(InputError, match=r"usps.npz is not in \$GUESTLIST_DATA"):
        load("usps")


SHAPES = {
    "location30": (5010, 446), "usps": (9298, 256), "flowers": (3670, 256), "meps": (15675, 40), "credit": (30000, 23),
    "census": (48842, 108),
}  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
def test_datasets_are_read(name, real_data, monkeypatch):
    monkeypatch.setenv("GUESTLIST_DATA", str(real_data(SOURCES[name].file).parent))
    pool = load(name)
    assert pool.x.shape == SHAPES[name]
    assert np.isfinite(pool.x).all()
    assert sorted(set(pool.y)) == list(range(pool.classes))
    assert {(SOURCES[name].paper, column) for column in pool.groups} == {
        key[:2] for key in published.GROUPS if key[0] == SOURCES[name].paper
    }
    part = drawn(pool, 100)
    assert len(part.x) == len(part.y) == 100
    assert all(len(values) == 100 for values in part.groups.values())


@pytest.mark.slow
def test_commands_write_what_the_page_reads(real_data, monkeypatch, tmp_path):
    monkeypatch.setenv("GUESTLIST_DATA", str(real_data("location30.npz").parent))
    monkeypatch.setattr(results, "FOLDER", tmp_path / "results")
    setting = models.Setting(hidden=(64, 32), epochs=15, most=150, models=((1000, 7),))
    main(["location30", "--repeats", "2", "--folder", str(tmp_path / "models")], setting)
    written = json.loads((tmp_path / "results" / "location30.json").read_text())
    assert written["command"] == "python -m papers.shapr location30 --repeats 2"
    assert written["repeats"] == {"count": 2, "of": "targets, 6 references each"}
    assert written["sizes"]["location30"] == {"members": 150, "nonmembers": 150, "features": 446}
    rows = {(row["attack"], row["risk"]): row for row in written["effects"]}
    assert rows[measures.OWN, measures.EVERYBODY]["f1"]["mean"] > 0.9, "a network that knows its members by heart"
    auc = {risk: rows[measures.OWN, risk]["auc"]["mean"] for risk in measures.RISKS}
    assert auc[measures.SCORE] > max(auc[space] for space in measures.SPACES), "the score reads what the attack reads"
    text = page.text()
    assert "| LOCATION | 150 | 1,000 |" in text
    cells = [line for line in text.splitlines() if line.startswith("|")]
    assert not any("nan" in line.lower() or "None" in line for line in cells)
    assert figures.distributions(page.datasets()).count("<polyline") == 6
    for name in SWEEPS:  # what they find is tested elsewhere
        few = dataclasses.replace(setting, epochs=2, most=60)
        main([name, "--repeats", "2", "--datasets", "location30", "--folder", str(tmp_path / "models")], few)
        written = json.loads((tmp_path / "results" / f"{name}.json").read_text())
        assert written["command"] == f"python -m papers.shapr {name} --repeats 2 --datasets location30"
        assert written["repeats"]["count"] == 2
        assert {row["dataset"] for row in written["sweep"]} == {"location30"}
        assert f"](images/shapr_{name}.svg)" in page.text()
    assert [drawn.count("<polyline") for drawn in page.images().values()] == [6, 4, 4, 5]
    cells = [line for line in page.text().splitlines() if line.startswith("|")]
    assert not any("nan" in line.lower() or "None" in line for line in cells)


def test_times_are_of_the_datasets_that_are_there(real_data, monkeypatch, tmp_path):
    (tmp_path / "location30.npz").symlink_to(real_data("location30.npz"))
    monkeypatch.setenv("GUESTLIST_DATA", str(tmp_path))
    monkeypatch.setattr(results, "FOLDER", tmp_path / "results")
    main(["times", "--most", "60"], models.Setting(hidden=(8,), epochs=1))
    written = json.loads((tmp_path / "results" / "times.json").read_text())
    sizes = [(row["what"], row["members"], row["tests"], row["features"]) for row in written["timings"]]
    assert sizes == [("SHAPr", 60, 60, 446), ("privacy risk score", 60, 60, 446)]
    assert "| LOCATION | 60 × 60 | 446 |" in page.text()
    assert "Leave-one-out of 100 records of LOCATION" in page.text()


def test_the_page_is_made_from_the_results():
    assert page.PAGE.read_text("utf-8") == page.text(), "run: python -m papers.shapr page"
    for place, drawn_ in page.images().items():
        assert (page.DOCS / place).read_text("utf-8") == drawn_, "run: python -m papers.shapr page"


def test_every_result_has_its_section():
    assert set(page.ALONE) == set(ALONE)
    assert {path.stem for path in results.FOLDER.glob("*.json")} <= {*SOURCES, *ALONE}


def test_committed_figures_are_of_this_world():
    """Shares are shares; everybody has recall 1; what is printed as better is so by its own numbers."""
    for result in page.datasets().values():
        for row in result["effects"]:
            for measure in ("f1", "precision", "recall", "auc"):
                mean = row[measure]["mean"]
                assert mean is None or 0 <= mean <= 1
            if row["risk"] == measures.EVERYBODY:
                assert row["recall"]["mean"] == 1
                assert row["auc"]["mean"] in (None, 0.5)
        for row in result["distributions"]:
            assert sum(row["called"]) + sum(row["not_called"]) == pytest.approx(1, abs=0.01)
