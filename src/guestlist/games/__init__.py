"""Who trains on what, and what the adversary is asked: a game draws a split, which is the truth of an audit."""

from guestlist.games.bernoulli import Bernoulli, inclusion_rate
from guestlist.games.bias import Bias
from guestlist.games.canaries import Canaries
from guestlist.games.clusters import Clusters
from guestlist.games.exchangeable import Exchangeable
from guestlist.games.game import Game, Preparing, Provable, Trials, draw, hidden_by, is_alike
from guestlist.games.sides import Sides, sides_like
from guestlist.games.sources import Sources
from guestlist.games.split import Split, one_target
from guestlist.games.strong import Strong
from guestlist.games.table import GAMES, GameRow, check_game, game_of, options_of

__all__ = [
    "GAMES",
    "Bernoulli",
    "Bias",
    "Canaries",
    "Clusters",
    "Exchangeable",
    "Game",
    "GameRow",
    "Preparing",
    "Provable",
    "Sides",
    "Sources",
    "Split",
    "Strong",
    "Trials",
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
