"""Regularisation, removal and noise as in the SHAPr paper, on small models."""

import dataclasses

import numpy as np
import pytest
from papers.shapr import (
    alone,
    attribution,
    backdoors,
    effectiveness,
    measures,
    models,
    noise,
    regularisation,
    removal,
)
from papers.shapr.data import Pool
from sklearn.neighbors import KNeighborsClassifier

import guestlist as gl
from shapr_simulation import SMALL, SOURCE

pytest.importorskip("torch")


TWO = dataclasses.replace(SMALL, repeats=2)


@pytest.fixture(scope="module")
def targets(trained_models):
    """The same with two targets."""
    return dataclasses.replace(trained_models, targets=trained_models.targets[:2])


def votes(x, y, member):
    """Share of the five nearest members that vote for a non-member's class."""
    found = KNeighborsClassifier(5).fit(x[member], y[member]).predict_proba(x[~member])
    return found[np.arange((~member).sum()), y[~member]].mean()


def test_a_network_alone_is_the_target_among_its_references(trained_models, repeats):
    one, both = (
        alone.owner_view(
            trained_models.targets[1], trained_models.pool.x, trained_models.pool.y, trained_models.member[1]
        ),
        repeats[1],
    )
    assert one.shapr == pytest.approx(120 * both.risks[measures.FIRST])
    assert one.outputs == pytest.approx(120 * both.risks[measures.OUTPUTS])
    assert np.array_equal(one.score, both.risks[measures.SCORE])
    assert np.array_equal(one.calls, both.calls[measures.SELF_SHADOW])
    assert np.array_equal(one.right, both.right)
    assert alone.each("attack", [alone.all_members(one)]) == [
        pytest.approx(effectiveness.balanced(both, measures.SELF_SHADOW, np.ones(240, dtype=bool)))
    ]


def test_averages_are_of_the_chosen_members():
    member = np.array([True, True, True, False])
    calls, right = np.array([1.0, 0.0, 1.0, 0.0]), np.array([1.0, 1.0, 0.0, 1.0])
    one = alone.OwnerView(member, np.array([2.0, -1.0, 4.0]), np.zeros(3), np.array([0.5, 0.7, 0.9]), calls, right)
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
    compared = alone.averages([alone.all_members(one)] * 2, [(one, chosen)] * 2)
    assert compared.shapr.difference == pytest.approx(5 / 3 - 0.5)


def test_without_a_penalty_it_is_the_target(targets):
    networks, seconds = regularisation.train_networks(targets, TWO, weights=(0.0, 0.3))
    assert networks[0.0] is targets.targets
    assert seconds > 0
    none, much = regularisation.tables(targets, TWO, networks)["sweep"]
    assert (none.weight, much.weight) == (0.0, 0.3)
    assert none.metrics.attack.difference == 0
    assert much.metrics.attack.mean < none.metrics.attack.mean
    assert much.metrics.train.difference == pytest.approx(much.metrics.train.mean - none.metrics.train.mean)
    shares = [
        votes(models.query(module[:2], targets.pool.x), targets.pool.y, targets.member[k])
        for k, module in enumerate(networks[0.3])
    ]
    assert much.metrics.shapr.mean == pytest.approx(np.mean(shares)), "over all members, utility and nothing else"


def test_those_with_the_highest_values_are_removed(targets):
    values = measures.shapr_in(measures.EMBEDDINGS[measures.FIRST](targets, 1), targets.member[1], targets.pool.y)
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
    networks, _ = removal.train_networks(targets, TWO, shares=(0.5,))
    highest, chance = removal.tables(targets, TWO, networks)["sweep"]
    assert (highest.by, chance.by, highest.share) == (removal.HIGHEST, removal.RANDOM, 0.5)
    x, y = targets.pool.x, targets.pool.y
    after, before = [], []
    for k in range(2):
        rest, others = removal.remaining(targets, k, removal.HIGHEST, 0.5)
        module = TWO.fit(TWO.network(targets.pool), gl.Data(x[rest], y[rest]), np.random.default_rng([2, k]))
        asked = rest | others
        after.append(votes(models.query(module[:2], x[asked]), y[asked], rest[asked]))
        values = measures.shapr_in(measures.EMBEDDINGS[measures.FIRST](targets, k), targets.member[k], y)
        before.append(120 * values[rest[targets.member[k]]].mean())
    assert highest.after.shapr.mean == pytest.approx(np.mean(after))
    assert highest.before.shapr.mean == pytest.approx(np.mean(before))
    assert highest.after.shapr.difference == pytest.approx(np.mean(after) - np.mean(before))
    assert highest.attack.difference == pytest.approx(highest.after.attack.mean - chance.after.attack.mean)
    assert chance.attack.p == 1, "compared with itself"


def test_half_of_the_members_have_noise(targets):
    networks, _ = noise.train_networks(targets, TWO, sizes=(0, 255))
    assert networks[0] is targets.targets
    (data, noisy), (same, again) = (noise.perturbed(targets, TWO, 0, size) for size in (255, 0))
    x = targets.pool.x[targets.member[0]]
    assert noisy.sum() == 60
    assert np.array_equal(noisy, again), "the same ones at any size"
    assert np.array_equal(same.x, x)
    assert np.abs(data.x - x)[noisy] == pytest.approx(1, abs=1e-6)
    assert np.array_equal(data.x[~noisy], x[~noisy])
    found = noise.tables(targets, TWO, networks)
    rows = {(row.size, row.half, row.queried): row.metrics for row in found["sweep"]}
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
        x[targets.member[k]] = noise.perturbed(targets, TWO, k, 255)[0].x
        whole.append(votes(models.query(networks[255][k][:2], x), targets.pool.y, targets.member[k]))
    assert np.mean(both) == pytest.approx(np.mean(whole))
    assert {(row.risk, row.queried) for row in found["correlations"]} == {
        (risk, asked) for risk, ways in noise.QUERIES.items() for asked in ways
    }
    mixed = next(row for row in found["correlations"] if row.queried == noise.MIXED)
    went = (
        rows[255, noise.NOISY, noise.TRAINED].score.difference * rows[255, noise.NOISY, noise.KNOWN].attack.difference
    )
    assert mixed.r == pytest.approx(np.sign(went)), "of two sizes, a risk as trained on and an attack as known"


def test_correlations_are_pearsons():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 9))
    assert noise.pearson(a, b)[0] == pytest.approx(np.corrcoef(a, b)[0, 1])
    assert np.isnan(noise.pearson(a, np.ones(9))[0])


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    """Two targets on small images: a bright column per class, and noise."""
    rng = np.random.default_rng(0)
    y = rng.integers(4, size=240)
    x = rng.normal(0, 0.3, size=(240, 6, 6)).astype(np.float32)
    x[np.arange(240), :, y] += 1
    return models.train_models(Pool("images", x.reshape(240, 36), y), SOURCE, TWO, tmp_path_factory.mktemp("images"))


def test_a_square_is_in_the_lower_right_corner():
    marked = backdoors.with_square(np.zeros((2, 36), dtype=np.float32), bright=1.0).reshape(2, 6, 6)
    assert marked[:, 3:, 3:].min() == 1
    assert marked.sum() == 2 * backdoors.SQUARE**2


def test_poisoned_members_are_memorised_and_have_the_label_of_the_backdoor(images):
    data, mask = backdoors.poisoned(images, TWO, 0, backdoors.TRIGGER)
    plain = gl.Data(images.pool.x[images.member[0]], images.pool.y[images.member[0]])
    assert mask.sum() == round(backdoors.SHARE * 120)
    assert np.array_equal(data.x[~mask], plain.x[~mask])
    assert np.array_equal(data.y[~mask], plain.y[~mask])
    assert (data.y[mask] == backdoors.GOAL).all()
    assert (plain.y[mask] != backdoors.GOAL).all()
    wrong, same = backdoors.poisoned(images, TWO, 0, backdoors.LABEL)
    assert np.array_equal(same, mask)
    assert np.array_equal(wrong.x, plain.x)
    assert (wrong.y[mask] == (plain.y[mask] + 1) % 4).all()
    networks, _ = backdoors.train_networks(images, TWO)
    trigger, label = backdoors.tables(images, TWO, networks)["backdoors"]
    assert (trigger.backdoor, label.backdoor) == (backdoors.TRIGGER, backdoors.LABEL)
    assert trigger.success.mean > label.success.mean + 0.5, "only one network knows the square"
    assert trigger.poisoned.train.mean == 1
    assert label.poisoned.shapr.mean < 0 < label.clean.shapr.mean, "a wrong label misleads its neighbours"
    assert label.poisoned.shapr.difference == pytest.approx(label.poisoned.shapr.mean - label.clean.shapr.mean)
    assert label.test_before.mean == pytest.approx(
        np.mean([
            (models.query(module, images.pool.x).argmax(axis=1) == images.pool.y)[~member].mean()
            for module, member in zip(images.targets, images.member, strict=False)
        ])
    )  # fmt: skip


def test_tracin_of_all_layers_equals_the_sum_over_gradients(targets):
    pytest.importorskip("captum")
    member, x, y = targets.member[0], targets.pool.x, targets.pool.y
    sides = x[member], y[member], x[~member], y[~member]
    checkpoints = [targets.targets[0], targets.targets[1]]
    quick = attribution.tracin_all_layers(checkpoints, *sides, learning_rate=0.1)
    assert quick == pytest.approx(gl.risks.tracin(checkpoints, *sides, learning_rate=0.1), rel=1e-3, abs=1e-6)
