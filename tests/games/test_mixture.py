"""Games in which members and non-members may have different distributions, and their i.i.d. controls."""

import numpy as np
import pandas as pd
import pytest

import guestlist as gl
from guestlist import Data, InputError
from guestlist.games import Bias, Clusters, Sources, clustered, draw, game_of, is_iid, options_of

RECORDS = 400


@pytest.fixture(scope="module")
def people():
    """Two far-apart clusters in each class, a column that names the cluster, and a random one."""
    rng = np.random.default_rng(0)
    y = np.arange(RECORDS) % 2
    side = rng.random(RECORDS) < 0.5
    x = rng.normal(size=(RECORDS, 3)) + 20 * side[:, None] + 100 * y[:, None]
    groups = {
        "side": np.where(side, "east", "west"),
        "sex": np.where(rng.random(RECORDS) < 0.3, "m", "f"),
    }
    return Data(x, y, np.arange(RECORDS).astype(str), groups)


def parts(game, data, seed=0):
    split = draw(game, data, 1, seed)
    return split.members, split.nonmembers


GAMES = {
    "clusters": Clusters(60, 50),
    "bias": Bias("sex", "m", 0.75, 60, 50),
    "sources": Sources("side", "east", members=60, nonmembers=50),
}


@pytest.mark.parametrize("name", GAMES)
def test_sets_have_their_sizes_and_no_record_is_in_both(name, people):
    member, nonmember = parts(GAMES[name], people)
    assert (member.sum(), nonmember.sum()) == (60, 50)
    assert not (member & nonmember).any()


@pytest.mark.parametrize("name", GAMES)
def test_the_control_mixes_the_drawn_records(name, people):
    from dataclasses import replace

    game = GAMES[name]
    apart, mixed = (parts(variant, people) for variant in (game, replace(game, iid=True)))
    assert (mixed[0].sum(), mixed[1].sum()) == (60, 50)
    assert ((apart[0] | apart[1]) == (mixed[0] | mixed[1])).all()
    assert (apart[0] != mixed[0]).any()
    assert is_iid(replace(game, iid=True))
    assert not is_iid(game)


@pytest.mark.parametrize("name", GAMES)
def test_a_manifest_knows_them_and_more_references_leave_the_first_alone(name, people):
    game = GAMES[name]
    assert game_of(options_of(game)) == game
    few, many = (draw(game, people, models, 3) for models in (3, 6))
    assert (many.member[:3] == few.member).all()
    assert many.member[1:].mean() == pytest.approx(60 / RECORDS, abs=0.04)
    assert (draw(game, people, 1, 4).members != few.members).any()


def test_clusters_are_those_of_the_features_within_each_class(people):
    estimate = clustered(people, 2)
    for label in (0, 1):
        of_class = people.y == label
        # The columns agree with the clusters up to their numbers.
        table = pd.crosstab(estimate[of_class], people.groups["side"][of_class]).to_numpy()
        assert (np.sort(table, axis=1)[:, 0] == 0).all()
    member, nonmember = parts(Clusters(60, 50, cluster=1), people)
    assert set(estimate[member]) == {1}
    assert set(estimate[nonmember]) == {0}


@pytest.mark.parametrize("share", [0.0, 0.25, 0.5, 1.0])
def test_a_share_of_the_members_has_the_attribute_and_half_of_the_nonmembers(share, people):
    game = Bias("sex", "m", share, 40, 40)
    member, nonmember = parts(game, people)
    assert (people.groups["sex"][member] == "m").sum() == round(40 * share)
    assert (people.groups["sex"][nonmember] == "m").sum() == 20
    assert is_iid(game) == (share == 0.5)


def test_all_records_of_a_source_are_members_unless_a_number_is_requested(people):
    member, nonmember = parts(Sources("side", "east"), people)
    assert (member == (people.groups["side"] == "east")).all()
    assert (nonmember == ~member).all()


def test_whole_persons_are_drawn(people):
    persons = np.arange(RECORDS) // 4  # four records each, of one class or two, on any side
    owned = Data(people.x, people.y, people.ids, people.groups, persons.astype(str))
    for game in GAMES.values():
        member, nonmember = parts(game, owned)
        assert not set(persons[member]) & set(persons[nonmember])
        assert member.sum() >= 60
        assert nonmember.sum() >= 50


def test_wrong_games_are_reported(people):
    with pytest.raises(InputError, match="60 records of sex = m; found 0"):
        draw(Bias("sex", "m", 1.0, 60, 50), people.take(people.groups["sex"] == "f"), 1, 0)
    with pytest.raises(InputError, match="no group 'age'"):
        draw(Bias("age", "m", 1.0, 60, 50), people, 1, 0)
    with pytest.raises(InputError, match=r"No record has side = north\. Available values: east, west"):
        draw(Sources("side", "north"), people, 1, 0)
    with pytest.raises(InputError, match="numeric features"):
        draw(Clusters(2, 2), people.changed(x=pd.DataFrame({"a": ["x"] * RECORDS})), 1, 0)
    for wrong in (
        lambda: Clusters(2, 2, cluster=2),
        lambda: Bias("sex", "m", 1.5, 2, 2),
        lambda: Sources("side", "east", "east"),
        lambda: Clusters(0, 2),
        lambda: Clusters(2, 2, rate=1.0),
    ):
        with pytest.raises(ValueError, match="Expected"):
            wrong()


@pytest.mark.slow
def test_the_attribute_is_hidden_from_models_and_the_difference_is_reported():
    """The label hangs on nothing; members are of one source, whose features lie elsewhere."""
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(1)
    source = np.where(np.arange(RECORDS) % 2 == 0, "a", "b")
    table = pd.DataFrame(rng.normal(size=(RECORDS, 3)), columns=list("uvw"))
    table["u"] += 3 * (source == "a")
    table["source"], table["y"] = source, rng.integers(2, size=RECORDS)
    options = {"label": "y", "references": 4, "attacks": ["loss"], "jobs": 1}
    apart = gl.play(Sources("source", "a"), LogisticRegression(), table, **options)  # text columns would not fit
    assert apart.baseline.auc > 0.9
    mixed = gl.play(Sources("source", "a", iid=True), LogisticRegression(), table, **options)
    assert mixed.baseline is None  # nothing to look for


@pytest.mark.parametrize("name", GAMES)
def test_a_validation_set_is_drawn_as_members_are(name, people):
    from guestlist.games import like_members

    game, rng = GAMES[name], np.random.default_rng(0)
    split = draw(game, people, 1, 0)
    parts = game.parts(people)
    unseen = like_members(parts, people, split.evaluated[0], 30, rng)
    assert not (unseen & split.evaluated[0]).any()
    assert 0 < unseen.sum() <= 30
    for member in parts.members:
        wanted = 1.0 if member.count is None else member.count / 60
        assert (unseen & member.mask).sum() == pytest.approx(wanted * unseen.sum(), abs=1.01)
    everyone = np.ones(len(people), dtype=bool)
    assert not like_members(parts, people, everyone, 30, rng).any()


def test_records_without_the_attribute_are_in_neither_set(people):
    from guestlist.data import MISSING

    unsaid = np.arange(RECORDS) % 5 == 0
    groups = {name: np.where(unsaid, MISSING, values) for name, values in people.groups.items()}
    some = Data(people.x, people.y, people.ids, groups)
    for game in (Sources("side", "east"), Bias("sex", "m", 0.5, 60, 60)):
        assert not draw(game, some, 1, 0).evaluated[0][unsaid].any()
