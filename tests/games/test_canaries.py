"""Canaries: inclusion drawn with probability 0.5, other records always included; selected and mislabelled before the draw."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier

import guestlist as gl
from guestlist import Data, InputError
from guestlist._store import open_store
from guestlist.errors import FolderError
from guestlist.games import Canaries, draw, game_of, options_of

RECORDS = 300
GAME = Canaries(40, models=2)


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(RECORDS, 4))
    return Data(x, np.array(list("abc"), dtype=object)[np.digitize(x[:, 0], [-0.5, 0.5])])


def by_first_feature(train, about, models):
    """An ensemble that finds a record the harder the larger its first feature is; it was trained on none of them."""
    assert not set(train.ids) & set(about.ids)
    return np.tile(about.x[:, 0], (models, 1))


def train_none(train, about, models):
    raise AssertionError("nothing is to be chosen")


def test_canaries_are_the_hardest_candidates_and_only_they_are_mislabelled(people):
    made = GAME.prepared(people, by_first_feature, seed=0)
    changed = made.y != people.y
    assert made.marked.sum() == 40
    assert (changed == made.marked).all()
    assert set(made.y) == set(people.y)
    # Of at most half of the records the forty with the largest: more than half of them are among the largest eighty.
    assert np.isin(np.flatnonzero(made.marked), np.argsort(-people.x[:, 0])[:80]).mean() > 0.8
    prepared = Canaries(40, labels="own", models=2).prepared(people, by_first_feature, seed=0)
    assert (prepared.y == people.y).all()


def test_as_many_candidates_as_canaries_are_drawn_at_random(people):
    made = [Canaries(40, candidates=40).prepared(people, train_none, seed=seed) for seed in (0, 0, 1)]
    assert (made[0].marked == made[1].marked).all()
    assert (made[0].y == made[1].y).all()
    assert (made[0].marked != made[2].marked).any()


def test_wrong_labels_are_drawn_from_all_others(people):
    made = Canaries(200, candidates=200).prepared(people, train_none, seed=3)
    pairs = pd.crosstab(people.y[made.marked], made.y[made.marked])
    assert (np.diag(pairs) == 0).all()
    share = pairs.to_numpy() / pairs.to_numpy().sum(axis=1, keepdims=True)
    assert (share[~np.eye(3, dtype=bool)] > 0.3).all()


def test_inclusion_is_bernoulli_0_5_and_the_other_records_always_train(people):
    made = Canaries(60, candidates=60).prepared(people, train_none, seed=0)
    split = draw(GAME, made, 401, seed=5)
    assert (split.evaluated == made.marked).all()
    assert split.member[:, ~made.marked].all()
    tossed = split.member[:, made.marked]
    assert tossed.mean() == pytest.approx(0.5, abs=0.02)
    assert tossed.sum(axis=1).var() == pytest.approx(15, rel=0.25)  # binomial, given how many there are
    assert tossed.sum(axis=0).var() == pytest.approx(401 / 4, rel=0.45)
    assert not split.population.any()
    assert (split.always_included == ~made.marked).all()
    assert (draw(GAME, made, 5, seed=5).member == split.member[:5]).all()


@pytest.mark.slow
def test_neither_the_selection_nor_the_labels_reveal_the_inclusion(people):
    """Over seeds, members are neither harder nor differently labelled than non-members."""
    harder, label = [], []
    for seed in range(200):
        made = GAME.prepared(people, by_first_feature, seed)
        member = draw(GAME, made, 1, seed).members
        sides = [made.marked & side for side in (member, ~member)]
        harder.append(np.subtract(*(made.x[side, 0].mean() for side in sides)))
        label.append(np.subtract(*((made.y[side] == "a").mean() for side in sides)))
    for canaries in (harder, label):
        assert abs(np.mean(canaries)) < 3 * np.std(canaries) / np.sqrt(200)


def test_no_class_is_left_without_records_and_no_person_has_two(people):
    rare = people.y.copy()
    rare[:7] = "rare"
    persons = (np.arange(RECORDS) // 3).astype(str)
    data = Data(people.x, rare, people.ids, {}, persons)
    for seed in range(5):
        made = Canaries(90, candidates=90).prepared(data, train_none, seed)
        assert (made.marked & (rare == "rare")).sum() <= 2
        assert len(set(persons[made.marked])) == 90


def test_games_that_cannot_be_played_are_reported(people):
    with pytest.raises(InputError, match=r"290 canaries .*285 of 300"):
        Canaries(290).prepared(people, train_none, 0)
    with pytest.raises(InputError, match="no label is wrong"):
        Canaries(2).prepared(Data(people.x, np.zeros(RECORDS)), train_none, 0)
    with pytest.raises(InputError, match="No record is marked"):
        draw(GAME, people, 1, 0)
    for options in ({"count": 0}, {"models": 0}, {"candidates": 3}, {"labels": "any"}):
        with pytest.raises(ValueError, match="Expected"):
            Canaries(**options)
    assert game_of(options_of(GAME)) == GAME


@pytest.fixture(scope="module")
def played(people, tmp_path_factory):
    folder = tmp_path_factory.mktemp("canaries") / "tree"
    options = {"engine": gl.Here(), "attacks": ["loss", "lira", "class_mentr"], "claimed": gl.Claim(0.5)}
    tree = DecisionTreeClassifier(random_state=0)

    def play(references=4, game=GAME):
        return gl.play(game, tree, people, references=references, folder=folder, **options)

    return play, folder, play()


def test_a_tree_that_knows_its_canaries_contradicts_a_claim(played, people):
    _play, folder, results = played
    assert results.subject.members + results.subject.nonmembers == 40
    assert (results.subject.canaries, results.subject.always_members, results.subject.population) == ("wrong", 260, 0)
    assert results.epsilon.contradicted
    assert gl.epsilon_bound(folder, claimed=0.5).bound.epsilon > 0.5
    assert results.subject.accuracy_members > 0.95  # it memorised the wrong labels
    text = " ".join(results.summary(verbose=True).split())
    assert "canaries: records with a wrong label" in text
    assert "the other 260 records are always included" in text
    assert "GL103 no better" not in text


def test_records_that_always_train_are_not_used_by_attacks(played):
    view = gl.read_case(played[1]).view
    hidden = ~open_store(played[1]).split.evaluated[0]
    for name in ("loss", "margin"):
        assert np.isnan(view.target(name)[hidden]).all()
        assert not np.isnan(view.reference(name)[:, ~hidden]).any()
    assert not view.population.any()


@pytest.mark.slow
def test_it_goes_on_where_it_was_and_refuses_another_game(played):
    play, folder, first = played
    before = open_store(folder).split
    assert play().document() == first.document()
    play(references=6)
    after = open_store(folder).split
    assert (after.member[:5] == before.member).all()
    assert (after.evaluated == before.evaluated[0]).all()
    assert open_store(folder).manifest.make_game() == GAME
    with pytest.raises(FolderError, match="a different game"):
        play(game=Canaries(40, models=3))


def test_a_regression_has_canaries_too(people):
    values = people.x @ np.arange(4.0) + np.random.default_rng(1).normal(size=RECORDS)
    results = gl.play(GAME, LinearRegression(), (people.x, values), references=0, attacks=["loss"], engine=gl.Here())
    assert results.subject.members + results.subject.nonmembers == 40


def test_a_module_has_canaries_too(people):
    pytest.importorskip("torch")
    options = {
        "model": gl.defences.mlp(4, 3, hidden=(8,)),
        "classes": list("abc"),
        "references": 1,
        "attacks": ["loss"],
    }
    results = gl.play(GAME, gl.defences.Fit(epochs=1), people, engine=gl.Here(), **options)
    assert results.subject.canaries == "wrong"
