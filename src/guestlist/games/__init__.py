"""Who trains on what, and what the adversary is asked: a game draws a split, which is the truth of an audit."""

from guestlist.games.bernoulli import Bernoulli, inclusion_rate
from guestlist.games.game import Game, draw
from guestlist.games.sides import Sides, sides_like
from guestlist.games.split import Split, one_target
from guestlist.games.table import GAMES, GameRow, check_game, game_of, options_of

__all__ = [
    "GAMES",
    "Bernoulli",
    "Game",
    "GameRow",
    "Sides",
    "Split",
    "check_game",
    "draw",
    "game_of",
    "inclusion_rate",
    "one_target",
    "options_of",
    "sides_like",
]
