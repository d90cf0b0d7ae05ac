"""Table of games, read by the command line, the docs and the manifest."""

from dataclasses import asdict, dataclass

from guestlist._util import close_matches
from guestlist.errors import InputError
from guestlist.games.bernoulli import Bernoulli, Sides
from guestlist.games.canaries import Canaries, Exchangeable, Strong
from guestlist.games.dependent import Bias, Clusters, Sources
from guestlist.games.game import Game


@dataclass(frozen=True)
class GameRow:
    """One row of ``GAMES``: a rule that draws members.

    Attributes:
        game: Class of the game.
        summary: Description for users.
        paper: Reference.
        cost: Description of the cost.
    """

    game: type
    summary: str
    paper: str
    cost: str


GAMES: dict[str, GameRow] = {
    "sides": GameRow(
        game=Sides,
        summary="IID: members and non-members of given sizes from one pool; reference models on random parts of it",
        paper="Ye et al. 2022",
        cost="a target and the requested number of reference models",
    ),
    "bernoulli": GameRow(
        game=Bernoulli,
        summary="each record is included in each model at random: any model can be the target",
        paper="Carlini et al. 2022",
        cost="a target and the requested number of reference models",
    ),
    "canaries": GameRow(
        game=Canaries,
        summary="mislabelled records, each included with probability 0.5; all other records always train and are not evaluated",
        paper="Steinke, Nasr & Jagielski 2023",
        cost="a small ensemble to choose them; a target and the requested number of reference models",
    ),
    "strong": GameRow(
        game=Strong,
        summary="one candidate record or another (or none) is added to fixed records, at random for every model",
        paper="Nasr et al. 2021; Humphries et al. 2023",
        cost="hundreds of models, each a trial",
    ),
    "exchangeable": GameRow(
        game=Exchangeable,
        summary="members and one more record from one pool, drawn again for every model: the attack decides which of two is in",
        paper="Humphries et al. 2023",
        cost="hundreds of models, each a trial",
    ),
    "clusters": GameRow(
        game=Clusters,
        summary="members from one cluster of every class, non-members from the others",
        paper="Humphries et al. 2023",
        cost="k-means; a target and the requested number of reference models",
    ),
    "bias": GameRow(
        game=Bias,
        summary="an attribute that more or fewer of the members have than of the non-members, hidden from the model",
        paper="Humphries et al. 2023",
        cost="a target and the requested number of reference models",
    ),
    "sources": GameRow(
        game=Sources,
        summary="members from one hospital, school or other source, non-members from others",
        paper="Humphries et al. 2023",
        cost="a target and the requested number of reference models",
    ),
}


def check_game(game: Game) -> None:
    """Check that the game is the one that ``GAMES`` lists under its name.

    Args:
        game: Game with its options.

    Raises:
        InputError: If it is a class, no game, or not in ``GAMES``.
    """
    if isinstance(game, type) or not callable(getattr(game, "row", None)):
        raise InputError(f"{game!r} is not a game. Pass a game with its options, such as gl.games.Sides(1000, 1000).")
    row = GAMES.get(game.name)
    if row is None or row.game is not type(game):
        raise InputError(
            f"The name {game.name!r} of {type(game).__name__} is not registered, or belongs to another game. Register it under "
            "its own name in gl.games.GAMES, so that later reference models are drawn by the same game."
        )


def options_of(game: Game) -> dict[str, object]:
    """Return the name and the options of a game, as stored in a manifest.

    Args:
        game: Game with its options.

    Returns:
        ``{"name": …}`` with the options.
    """
    return {"name": game.name, **asdict(game)}  # type: ignore[call-overload]


def game_of(options: dict[str, object]) -> Game:
    """Return the game that a manifest names.

    Args:
        options: Name and options of the game, from :func:`options_of`.

    Returns:
        The game.

    Raises:
        InputError: If there is no such game.
    """
    arguments = dict(options)
    name = str(arguments.pop("name", ""))
    if name not in GAMES:
        raise InputError(f"There is no game {name!r}. Available names: {close_matches(name, GAMES)}.")
    return GAMES[name].game(**arguments)
