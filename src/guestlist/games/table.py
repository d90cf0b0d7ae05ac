"""Table of games, read by the command line, the docs and the manifest."""

from dataclasses import asdict, dataclass

from guestlist.errors import InputError
from guestlist.games.bernoulli import Bernoulli, Sides
from guestlist.games.canaries import Canaries, Exchangeable, Strong
from guestlist.games.dependent import Bias, Clusters, Sources
from guestlist.games.game import Game


@dataclass(frozen=True)
class GameRow:
    """One row of ``GAMES``: a way to draw members.

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
        summary="IID: members and non-members of given sizes from one pool; references on random parts of it",
        paper="Ye et al. 2022",
        cost="a target, and as many references as asked for",
    ),
    "bernoulli": GameRow(
        game=Bernoulli,
        summary="a coin for every model and record: any model can be the target",
        paper="Carlini et al. 2022",
        cost="a target, and as many references as asked for",
    ),
    "canaries": GameRow(
        game=Canaries,
        summary="mislabelled records, each included with probability 0.5; all other records always train and are not evaluated",
        paper="Steinke, Nasr & Jagielski 2023",
        cost="a small ensemble to choose them; a target, and as many references as asked for",
    ),
    "strong": GameRow(
        game=Strong,
        summary="one record or another, or none, beside others that are always the same; a coin for every model",
        paper="Nasr et al. 2021; Humphries et al. 2023",
        cost="hundreds of models, each a trial",
    ),
    "exchangeable": GameRow(
        game=Exchangeable,
        summary="members and one more record from one pool, drawn again for every model: which of two is in?",
        paper="Humphries et al. 2023",
        cost="hundreds of models, each a trial",
    ),
    "clusters": GameRow(
        game=Clusters,
        summary="members from one cluster of every class, non-members from the others",
        paper="Humphries et al. 2023",
        cost="k-means; a target, and as many references as asked for",
    ),
    "bias": GameRow(
        game=Bias,
        summary="an attribute that more or fewer of the members have than of the non-members, hidden from the model",
        paper="Humphries et al. 2023",
        cost="a target, and as many references as asked for",
    ),
    "sources": GameRow(
        game=Sources,
        summary="members from one hospital, school or other source, non-members from others",
        paper="Humphries et al. 2023",
        cost="a target, and as many references as asked for",
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
        raise InputError(f"Expected a game with its options, such as gl.games.Sides(1000, 1000), found {game!r}.")
    row = GAMES.get(game.name)
    if row is None or row.game is not type(game):
        raise InputError(
            f"{type(game).__name__} is not the game that GAMES knows as {game.name!r}: give it a name and a row of its own, "
            "so that references added later are drawn by it too."
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
        raise InputError(f"There is no game {name!r}; there are {', '.join(GAMES)}.")
    return GAMES[name].game(**arguments)
