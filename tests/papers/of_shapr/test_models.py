"""The SHAPr paper's tables on small models: the same code, figures that can be checked otherwise."""

import dataclasses

import numpy as np
import pytest
from papers.shapr import attribution, distributions, effectiveness, groups, measures, models, times
from papers.shapr.data import SOURCES
from papers.shapr.summaries import Summary, summarise
from scipy.special import softmax
from scipy.stats import ttest_rel
from sklearn.metrics import f1_score, precision_score, recall_score, roc_auc_score
from sklearn.neighbors import KNeighborsClassifier

import guestlist as gl
from shapr_simulation import SMALL, SOURCE

torch = pytest.importorskip("torch")


def test_models_train_on_halves_of_one_pool(trained_models):
    assert trained_models.member.shape == (9, 240)
    assert (trained_models.member.sum(axis=1) == 120).all()
    assert len(np.unique(trained_models.member, axis=0)) == 9
    assert len(trained_models.targets) == 3


def test_what_was_trained_is_not_trained_again(pool, trained_models, tmp_path, monkeypatch):
    setting = dataclasses.replace(SMALL, models=((1000, 2),), repeats=1)
    first = models.train_models(pool, SOURCE, setting, tmp_path)
    assert np.array_equal(first.logits, trained_models.logits[:2]), "a model has a stream of its own"
    monkeypatch.setattr(models.gl.defences, "Fit", None)
    again = models.train_models(pool, SOURCE, setting, tmp_path)
    assert np.array_equal(again.logits, first.logits)
    assert again.seconds == first.seconds > 0
    with pytest.raises(TypeError):  # other settings, other models
        models.train_models(pool, SOURCE, dataclasses.replace(setting, epochs=2), tmp_path)


def test_sweeps_have_fewer_members_and_no_public_recipe(pool):
    setting = models.Setting()
    location = dataclasses.replace(pool, name="location30")
    assert setting.fit_of(location).optimizer == "sgd"
    assert setting.fit_of(pool) == setting.fit
    assert setting.folder_name(location, 120) != dataclasses.replace(setting, public=()).folder_name(location, 120)
    sweeps = setting.for_sweeps(5)
    assert sweeps.fit_of(location) == setting.fit
    assert (sweeps.repeats, dataclasses.replace(setting, repeats=2).for_sweeps(5).repeats) == (5, 2)
    members = {name: (setting.members(source), sweeps.members(source)) for name, source in SOURCES.items()}
    assert members["usps"] == (3000, 3000)
    assert members["meps"] == (7500, 2000)
    assert members["credit"] == (15_000, 2000)
    assert members["census"] == (24_000, 2000)
    assert members["mnist"] == (35_000, 2000)


def test_models_that_began_otherwise_are_not_taken_for_these(pool, monkeypatch):
    place, state = SMALL.folder_name(pool, 120), torch.get_rng_state()
    assert SMALL.folder_name(pool, 120) == place
    assert torch.equal(torch.get_rng_state(), state), "nothing else is drawn otherwise"
    mlp = gl.defences.mlp

    def otherwise(*sizes, **options):
        module = mlp(*sizes, **options)
        torch.nn.init.normal_(module[0].weight)
        return module

    monkeypatch.setattr(models.gl.defences, "mlp", otherwise)
    assert SMALL.folder_name(pool, 120) != place


def test_attacks_find_members_and_the_own_shadow_is_the_worst_case(repeats):
    for repeat in repeats:
        everyone = np.ones(len(repeat.member), dtype=bool)
        accuracy = {attack: effectiveness.balanced(repeat, attack, everyone) for attack in measures.ATTACKS}
        assert min(accuracy.values()) > 0.52, accuracy
        # Thresholds that learnt the truth tell it at least as well as any others of the same kind.
        assert accuracy[measures.SELF_SHADOW] >= accuracy[measures.SHADOW]
        assert np.nanmean(repeat.calls[measures.LIRA_LOW][~repeat.member]) <= measures.FPR


def test_worths_are_those_of_scikit_learn(repeats):
    repeat = repeats[0]
    by_risk = {(each.attack, each.risk): each for each in repeat.worths()}
    assert set(by_risk) == {(attack, risk) for attack in measures.ATTACKS for risk in measures.RISKS}
    for (attack, risk), worth in by_risk.items():
        known = ~np.isnan(repeat.calls[attack][repeat.member])
        called, values = repeat.calls[attack][repeat.member][known] > 0, repeat.risks[risk][known]
        at_risk = values > measures.THRESHOLDS[risk]
        assert worth.f1.value == pytest.approx(f1_score(called, at_risk))
        assert worth.precision.value == pytest.approx(precision_score(called, at_risk))
        assert worth.recall.value == pytest.approx(recall_score(called, at_risk))
        assert worth.auc.value == pytest.approx(roc_auc_score(called, values))
    assert all(by_risk[attack, measures.EVERY_MEMBER].recall.value == 1 for attack in measures.ATTACKS)


def test_shapr_adds_up_to_the_accuracy_of_a_neighbours_vote_in_its_space(trained_models, repeats):
    member, y = trained_models.member[1], trained_models.pool.y
    for name, space in measures.EMBEDDINGS.items():
        x = space(trained_models, 1)
        votes = KNeighborsClassifier(5).fit(x[member], y[member]).predict_proba(x[~member])
        share = votes[np.arange((~member).sum()), y[~member]].mean()
        assert repeats[1].risks[name].sum() == pytest.approx(share, abs=1e-6), name
    sizes = [measures.EMBEDDINGS[name](trained_models, 1).shape[1] for name in measures.SPACES]
    assert sizes == [40, 48, 24, 4]


def test_effects_are_means_over_repeats_with_a_paired_test(repeats):
    rows = {(row.attack, row.risk): row for row in effectiveness.effects(repeats)}
    values = {
        risk: [
            next(row.f1.value for row in each.worths() if (row.attack, row.risk) == (measures.SELF_SHADOW, risk))
            for each in repeats
        ]
        for risk in (measures.FIRST, measures.SCORE)
    }
    row = rows[measures.SELF_SHADOW, measures.FIRST].f1
    assert row.mean == pytest.approx(np.mean(values[measures.FIRST]))
    assert row.deviation == pytest.approx(np.std(values[measures.FIRST], ddof=1))
    assert row.p == pytest.approx(ttest_rel(values[measures.FIRST], values[measures.SCORE]).pvalue)
    assert np.isnan(rows[measures.SELF_SHADOW, measures.SCORE].f1.p), "the score is not compared with itself"
    shadow = rows[measures.SHADOW, measures.SCORE_SHADOW].f1
    assert np.isnan(shadow.p), "against a shadow, the score that learnt from it is what others are compared with"


def test_accuracies_are_of_members_and_of_others(repeats):
    accuracies = effectiveness.accuracy(repeats)
    assert accuracies.train.mean == pytest.approx(np.mean([each.right[each.member].mean() for each in repeats]))
    assert accuracies.train.mean > accuracies.test.mean > 1 / 4
    assert [row.attack for row in effectiveness.called(repeats)] == list(measures.ATTACKS)
    assert all(0 < row.called.mean <= 1 for row in effectiveness.called(repeats))


def test_groups_together_are_all_records(trained_models, repeats):
    rows = groups.groups(repeats, trained_models.pool.groups)
    assert [(row.column, row.group) for row in rows] == [("sex", "Male"), ("sex", "Female")]
    assert sum(row.members for row in rows) == pytest.approx(120)
    assert rows[0].accuracy.p == 1, "the first group is compared with itself"
    assert rows[1].accuracy.difference == pytest.approx(rows[1].accuracy.mean - rows[0].accuracy.mean)
    computed = groups.groups(repeats[:1], trained_models.pool.groups)
    whole = sum(row.members * row.shapr.mean for row in computed) / 120
    assert whole == pytest.approx(repeats[0].risks[measures.FIRST].sum())
    assert np.isnan(computed[1].shapr.p), "one repeat tests nothing"
    right, member, women = repeats[0].right, repeats[0].member, trained_models.pool.groups["sex"] == "Female"
    assert computed[1].test.mean == right[~member & women].mean()
    assert computed[1].gap.mean == pytest.approx(right[member & women].mean() - right[~member & women].mean())


def test_distributions_hold_every_member(repeats):
    for row in distributions.distributions(repeats[0]):
        assert sum(row.called) + sum(row.not_called) == pytest.approx(1)
        calls = repeats[0].calls[measures.SELF_SHADOW][repeats[0].member]
        assert sum(row.called) == pytest.approx(calls.mean())
    shapr, score = distributions.distributions(repeats[0])
    assert shapr.at_risk == (repeats[0].risks[measures.FIRST] > 0).mean()
    assert (score.low, score.high) == (0, 1)


def test_spread_leaves_out_what_is_not_known():
    assert summarise([1.0, 3.0, float("nan")]).mean == 2
    summary = summarise([0.5, 0.6, 0.7], [0.5, 0.5, float("nan")])
    assert summary.difference == pytest.approx(0.05)
    assert summary.p == pytest.approx(ttest_rel([0.5, 0.6], [0.5, 0.5]).pvalue)
    assert summarise([0.5, 0.5], [0.5, 0.5]) == Summary(0.5, 0.0, 0.0, 1.0)
    assert summarise([0.5, 0.75], [0.25, 0.5]).p == 0, "always the same difference"
    assert np.isnan(summarise([0.5], [0.4]).p)
    assert np.isnan(summarise([float("nan")]).mean)


def _named(trained_models: models.TrainedModels, name: str) -> models.TrainedModels:
    return dataclasses.replace(trained_models, pool=dataclasses.replace(trained_models.pool, name=name))


@pytest.mark.slow
def test_attribution_has_a_recall_for_each(trained_models):
    pytest.importorskip("captum")
    setting = dataclasses.replace(SMALL, repeats=2)
    rows = {row.risk: row for row in attribution.recalls(_named(trained_models, "usps"), setting)}
    assert set(rows) == set(attribution.VALUES)
    untraced = [row.risk for row in attribution.recalls(_named(trained_models, "mnist"), setting)]
    assert untraced == [attribution.SHAPR, attribution.INFLUENCE], "the paper has no TracIn on MNIST"
    assert all(0 <= row.recall.mean <= 1 for row in rows.values())
    assert rows[attribution.TRACIN].recall.difference == pytest.approx(
        rows[attribution.TRACIN].recall.mean - rows[attribution.SHAPR].recall.mean
    )
    assert rows[attribution.SHAPR].recall.mean == pytest.approx(
        np.mean([
            next(row.recall.value for row in measures.repeat(trained_models, k).worths() if row.risk == measures.FIRST)
            for k in range(2)
        ])
    )  # fmt: skip
    member, x, y = trained_models.member[0], trained_models.pool.x, trained_models.pool.y
    sides = x[member], y[member], x[~member], y[~member]
    influences = gl.risks.influence_functions(trained_models.targets[0], *sides, layers=["4"])
    assert attribution.VALUES[attribution.INFLUENCE](trained_models, setting, 0) == pytest.approx(
        influences, rel=1e-3, abs=1e-7
    )
    # TracIn of a last layer, by hand: the product of what it is given times that of errors, summed over checkpoints.
    fit = setting.fit
    checkpoints = fit.checkpoints(*models.trained_by(trained_models.pool, member, setting, 0), every=attribution.EVERY)
    value = np.zeros(member.sum())
    for module in checkpoints:
        given = np.c_[models.query(module[:-1], x), np.ones(len(x))]
        error = softmax(models.query(module, x), axis=1) - np.eye(4)[y]
        value += fit.learning_rate * (given[member] @ given[~member].T * (error[member] @ error[~member].T)).mean(
            axis=1
        )
    assert attribution.VALUES[attribution.TRACIN](trained_models, setting, 0) == pytest.approx(
        value, rel=1e-3, abs=1e-6
    )


def test_leave_one_out_trains_a_model_for_each(pool):
    effects = times.leave_one_out(pool, dataclasses.replace(SMALL, epochs=3), records=10)
    assert effects.records == 10
    assert effects.seconds > effects.shapr_seconds > effects.shapr_alone > 0
