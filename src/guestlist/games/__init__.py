"""Who trains on what, and what the adversary is asked: a game draws a split, which is the truth of an audit."""

from guestlist.games.bernoulli import Bernoulli, inclusion_rate
from guestlist.games.bias import Bias
from guestlist.games.canaries import Canaries
from guestlist.games.clusters import Clusters
from guestlist.games.game import Game, Preparing, Provable, draw, hidden_by, is_alike
from guestlist.games.sides import Sides, sides_like
from guestlist.games.sources import Sources
from guestlist.games.split import Split, one_target
from guestlist.games.table import GAMES, GameRow, check_game, game_of, options_of

__all__ = [
    "GAMES",
    "Bernoulli",
    "Bias",
    "Canaries",
    "Clusters",
    "Game",
    "GameRow",
    "Preparing",
    "Provable",
    "Sides",
    "Sources",
    "Split",
    "check_game",
    "draw",
    "game_of",
    "hidden_by",
    "inclusion_rate",
    "is_alike",
    "one_target",
    "options_of",
    "sides_like",
]
