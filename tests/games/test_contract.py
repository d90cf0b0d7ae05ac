"""The contract of every game of ``GAMES``: a row depends only on the model's number, the data and the seed."""

import json
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

import guestlist as gl
from guestlist import Data
from guestlist._store import to_json
from guestlist.games import Preparing, check_game, draw, game_of, hidden_columns, is_iid, options_of

RECORDS, MODELS = 160, 6
# A game of each kind, small enough for the people below. A new row of GAMES needs an entry here, and then meets the contract.
SMALL = {
    "sides": gl.games.Sides(50, 40),
    "bernoulli": gl.games.Bernoulli(0.4),
    "canaries": gl.games.Canaries(20),
    "strong": gl.games.Strong(30),
    "exchangeable": gl.games.Exchangeable(30),
    "clusters": gl.games.Clusters(40, 30),
    "bias": gl.games.Bias("side", "east", 0.9, 40, 30),
    "sources": gl.games.Sources("side", "east", members=40, nonmembers=30),
}
DEPENDENT = [name for name, game in SMALL.items() if not is_iid(game)]
DOCS = Path(__file__).parents[2] / "docs" / "games.md"


def people() -> Data:
    """Two far-apart clusters in each class, and a column that says which."""
    rng = np.random.default_rng(0)
    y, east = np.arange(RECORDS) % 2, rng.random(RECORDS) < 0.5
    x = rng.normal(size=(RECORDS, 3)) + 20 * east[:, None] + 100 * y[:, None]
    return Data(x, y, np.arange(RECORDS).astype(str), {"side": np.where(east, "east", "west")})


def records_of(game, seed: int) -> Data:
    """The records as they are played with: some games change them first, with the help of an ensemble."""

    def ensemble(train, ask, models):
        return np.random.default_rng(0).random((models, len(ask)))

    return game.prepared(people(), ensemble, seed) if isinstance(game, Preparing) else people()


def rows_of(game, data: Data, order, seed: int = 3) -> dict:
    return {k: game.row(k, data, seed) for k in order}


def same(first, other) -> bool:
    return (first is None and other is None) or np.array_equal(first, other)


def test_every_game_is_tried():
    assert set(SMALL) == set(gl.games.GAMES)


@pytest.mark.parametrize("name", gl.games.GAMES)
def test_a_game_is_the_one_that_its_row_names_and_survives_a_manifest(name):
    game, row = SMALL[name], gl.games.GAMES[name]
    assert (game.name, type(game)) == (name, row.game)
    check_game(game)
    assert all((row.summary, row.paper, row.cost))
    for variant in (game, replace(game, iid=True)) if name in DEPENDENT else (game,):
        assert game_of(json.loads(json.dumps(to_json(options_of(variant))))) == variant


@pytest.mark.parametrize("name", gl.games.GAMES)
def test_a_row_depends_only_on_model_data_and_seed(name):
    game = SMALL[name]
    data = records_of(game, 3)
    forwards = rows_of(game, data, range(MODELS))
    np.random.seed(1)  # noqa: NPY002  a game that draws from the global stream is found here
    backwards = rows_of(game, data, reversed(range(MODELS)))
    assert all(same(a, b) for k in range(MODELS) for a, b in zip(forwards[k], backwards[k], strict=True))
    assert any(not np.array_equal(forwards[0][0], forwards[k][0]) for k in range(1, MODELS))
    others = [records_of(game, seed) for seed in range(4, 10)]
    assert any(not same(forwards[0][0], game.row(0, split, seed)[0]) for seed, split in enumerate(others, 4))


@pytest.mark.parametrize("name", gl.games.GAMES)
def test_more_models_leave_the_earlier_ones_as_they_were(name):
    game = SMALL[name]
    data = records_of(game, 3)
    few, many = (draw(game, data, models, 3) for models in (2, MODELS))
    later = draw(game, data, MODELS, 3, start=few)
    for split in (many, later):
        assert np.array_equal(few.member, split.member[:2])
        assert np.array_equal(few.evaluated, split.evaluated[:2])
    assert np.array_equal(many.member, later.member)


@pytest.mark.parametrize("name", gl.games.GAMES)
def test_membership_and_evaluation_are_boolean_for_each_record(name):
    game = SMALL[name]
    data = records_of(game, 3)
    for k, (member, evaluated) in rows_of(game, data, range(MODELS)).items():
        assert (member.dtype, member.shape) == (bool, (len(data),))
        assert evaluated is not None or k, "model 0 lists the records it is queried on"
        if evaluated is not None:
            assert (evaluated.dtype, evaluated.shape) == (bool, (len(data),))
    split = draw(game, data, MODELS, 3)
    assert (split.evaluated & split.member)[0].any()
    assert split.nonmembers.any()


@pytest.mark.parametrize("name", gl.games.GAMES)
def test_games_with_dependent_members_declare_it(name):
    """A game with parts, a hidden column or an i.i.d. control is dependent: without ``alike`` it would count as i.i.d."""
    game = SMALL[name]
    options = {field.name for field in fields(game)}
    if hasattr(game, "parts") or hasattr(game, "hides") or "iid" in options:
        assert hasattr(game, "is_iid")
    assert set(hidden_columns(game)) <= set(people().groups)
    if hasattr(game, "is_iid"):
        assert not is_iid(game)


@pytest.mark.parametrize("name", DEPENDENT)
def test_a_dependent_game_has_a_counterpart_of_the_same_sizes(name):
    game = SMALL[name]
    mixed = replace(game, iid=True)
    assert is_iid(mixed)
    apart, alike = (draw(variant, people(), 1, 3) for variant in (game, mixed))
    assert np.array_equal(apart.evaluated, alike.evaluated)
    assert apart.members.sum() == alike.members.sum()
    assert game.parts(people()).members


@pytest.mark.parametrize("name", gl.games.GAMES)
def test_i_i_d_members_are_drawn_from_the_same_people(name):
    """Over many draws, membership of the evaluated records is independent of their source, unless the game declares otherwise."""
    shares = np.zeros((2, 2))  # east or west, non-member or member
    game = replace(SMALL[name], iid=True) if name in DEPENDENT else SMALL[name]
    for seed in range(40):
        data = records_of(game, seed)
        member, evaluated = game.row(0, data, seed)
        for side, value in enumerate(("east", "west")):
            of_side = evaluated & (data.groups["side"] == value)
            shares[side] += (of_side & ~member).sum(), (of_side & member).sum()
    rate = shares[:, 1] / shares.sum(axis=1)
    whole = shares[:, 1].sum() / shares.sum()
    distance = np.sqrt(whole * (1 - whole) * (1 / shares.sum(axis=1)).sum())
    assert abs(rate[0] - rate[1]) < 4 * distance


@pytest.mark.parametrize("name", gl.games.GAMES)
def test_a_game_is_in_the_docs_by_its_name(name):
    page = DOCS.read_text("utf-8")
    assert f"`{name}`" in page
    assert f"`gl.games.{gl.games.GAMES[name].game.__name__}(" in page
