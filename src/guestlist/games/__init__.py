"""Membership games: each draws a split, the ground truth of an audit.

To add a game, write a frozen dataclass with a ``row`` method and add a row to ``GAMES``.
"""

from guestlist.games.bernoulli import Bernoulli, inclusion_rate
from guestlist.games.bias import Bias
from guestlist.games.canaries import Canaries
from guestlist.games.clusters import Clusters
from guestlist.games.exchangeable import Exchangeable
from guestlist.games.game import Game, Preparing, Provable, Trials, draw, hidden_columns, is_iid
from guestlist.games.sides import Sides, matching_sides
from guestlist.games.sources import Sources
from guestlist.games.split import Split, single_target_split
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
    "hidden_columns",
    "inclusion_rate",
    "is_iid",
    "matching_sides",
    "options_of",
    "single_target_split",
]
