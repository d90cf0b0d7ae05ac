import numpy as np
import pytest

from guestlist import InputError
from guestlist.games import GAMES, Bernoulli, Sides, Split, game_of, options_of, single_target_split


def test_members_and_nonmembers_of_the_target():
    split = single_target_split(np.array([True, False, False]), np.array([True, True, False]))
    assert split.members.tolist() == [True, False, False]
    assert split.nonmembers.tolist() == [False, True, False]
    assert split.population.tolist() == [False, False, True]
    assert len(split) == 1


@pytest.mark.parametrize("evaluated", [np.ones((1, 4), bool), np.ones(3, bool), np.ones((1, 3))])
def test_member_and_evaluated_are_masks_of_one_shape(evaluated):
    with pytest.raises(ValueError, match="Expected evaluated to be Boolean"):
        Split(np.ones((1, 3), bool), evaluated)


@pytest.mark.parametrize("game", [Bernoulli(0.3), Sides(3, 4), Sides(3, 4, rate=0.2)])
def test_a_manifest_names_a_game_by_its_options(game):
    assert game_of(options_of(game)) == game
    assert game.name in GAMES


def test_an_unknown_game_is_named():
    with pytest.raises(InputError, match="There is no game 'chess'"):
        game_of({"name": "chess"})
