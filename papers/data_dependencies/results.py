"""Committed results of this paper's commands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from scipy.stats import t

from guestlist import InputError
from papers import results

FOLDER = Path(__file__).parent / "results"
OPTIMAL, AVERAGE, SHADOW = ATTACKS = ("optimal_threshold", "average_threshold", "shadow")
ERROR_RATE = 0.05  # of all differences of a game together
THEN = " && "  # between the commands of a result that several runs made
ADD = " --add"


def write(name: str, command: str, sizes: dict, repeats: int, seconds: float, tables: dict[str, list]) -> None:
    """Write the rows of each table, rounded, to ``results/<name>.json``."""
    repeated = {"count": repeats, "unit": "repeats"}
    libraries = ("guestlist", "numpy", "scikit-learn", "torch", "opacus")
    results.write(FOLDER / f"{name}.json", command, sizes, repeated, seconds, tables, libraries=libraries)


def read(name: str) -> dict | None:
    """Return the result of a command, or None where it has not been run."""
    return results.read(FOLDER / f"{name}.json")


def expected(name: str) -> str:
    """Return the expected duration of a command."""
    return results.expected(name, FOLDER / f"{name}.json")


@dataclass(frozen=True)
class Committed:
    """Content of a committed result, to which a run adds."""

    rows: Sequence[dict] = ()
    sizes: Mapping[str, dict] = field(default_factory=dict)
    seconds: float = 0.0
    command: str = ""

    def with_command(self, command: str) -> str:
        """Return the commands of all runs, in their order, because a later run replaces rows."""
        commands = [each.removesuffix(ADD) for each in self.command.split(THEN) if each]
        first, *later = [*(each for each in commands if each != command), command]
        return THEN.join([first, *(each + ADD for each in later)])


NOTHING = Committed()


def committed(name: str, repeats: int, sizes: Mapping[str, dict]) -> Committed:
    """Return the committed result, or nothing where there is none.

    Raises:
        InputError: it has a different number of repeats, or different sizes of a table.
    """
    result = read(name)
    if result is None:
        return NOTHING
    if result["repeats"]["count"] != repeats:
        raise InputError(
            f"The committed {name} has {result['repeats']['count']} repeats, this run {repeats}. Run without --add."
        )
    different = [table for table, size in sizes.items() if result["sizes"].get(table, size) != size]
    if different:
        raise InputError(
            f"The committed {name} has different records or features of {different[0]}. Run without --add."
        )
    return Committed(result["rows"], result["sizes"], result["seconds"], result["command"])


def joined(
    earlier: Sequence[dict], later: Sequence[dict], repeats: int, attacks: Container[str] = ATTACKS
) -> list[dict]:
    """Return the rows of two runs, with the later row of each game, attack and epsilon.

    The intervals of the differences of a run are corrected for all differences of its game; here, for those of both runs.

    Args:
        attacks: attacks of the result; rows of others are omitted.
    """
    by_key = {}
    for run in (earlier, later):
        n_tests = Counter(row["game"] for row in run)
        by_key |= {_key(row): (row, n_tests[row["game"]]) for row in run if row["attack"] in attacks}
    n_tests = Counter(row["game"] for row, _ in by_key.values())
    return [
        {**row, "difference": corrected(row["difference"], repeats, n_earlier, n_tests[row["game"]])}
        for row, n_earlier in by_key.values()
    ]


def _key(row: dict) -> tuple:
    return row["game"], row["attack"], row["epsilon"]


def corrected(difference: Sequence[float], repeats: int, n_earlier: int, n_tests: int) -> list[float]:
    """Return a mean with its interval corrected for ``n_tests`` differences instead of ``n_earlier`` (Bonferroni)."""
    if n_earlier == n_tests:
        return list(difference)
    mean, low, high = difference
    earlier, now = (float(t.isf(ERROR_RATE / (2 * number), repeats - 1)) for number in (n_earlier, n_tests))
    half = max(mean - low, high - mean) * now / earlier  # the larger one, because an end stops at -2 or 2
    return [mean, *(round(end, results.DIGITS) for end in (max(mean - half, -2.0), min(mean + half, 2.0)))]


def in_order(rows: Sequence[dict], games: Sequence[str]) -> list[dict]:
    """Return the rows in the order of the figure's games, then by epsilon and attack, as one run writes them."""
    return sorted(rows, key=lambda row: (games.index(row["game"]), row["epsilon"] or float("inf"), row["attack"]))
