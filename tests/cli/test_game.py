"""The command that plays a game of dependent records, and the page it writes."""

import json
import math
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from guestlist import Estimate, Experiment
from guestlist._audit.experiment_summary import Gap, Point
from guestlist._report.experiment import answer, experiment_page
from guestlist.cli import main


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    rng = np.random.default_rng(0)
    north = rng.random(160) < 0.5
    table = pd.DataFrame({"a": rng.normal(size=160) + 4 * north, "b": rng.normal(size=160)})
    table["place"], table["note"] = np.where(north, "north<b>", "south"), "x"
    table["y"] = np.where(np.where(north, table["b"], -table["b"]) > 0, "yes", "no")
    path = tmp_path_factory.mktemp("data") / "people.csv"
    table.to_csv(path, index=False)
    return path


def run(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


QUICK = ["--epsilon", "inf", "--repeats", 2, "--epochs", 2, "--batch-size", 20, "--engine", "here", "--quiet"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "game",
    [
        ["groups", "--column", "place", "--members-from", "north<b>"],
        ["cluster", "--members", 40, "--nonmembers", 40, "--drop", "place"],
        ["bias", "--column", "place", "--value", "south", "--share", 1, "--members", 40, "--nonmembers", 40],
    ],
    ids=lambda game: game[0],
)
def test_a_game_from_a_table_to_a_page(game, people, tmp_path):
    pytest.importorskip("torch")
    out = tmp_path / "game"
    result = run("game", *game, "--data", people, "--label", "y", "--drop", "note", "--out", out, *QUICK)
    assert result.exit_code == 0, result.output
    document = json.loads((out / "experiment.json").read_text())
    assert document["repeats"] == 2
    assert {point["arm"] for point in document["points"]} == {"apart", "iid"}
    text = (out / "experiment.html").read_text()
    assert "north<b>" not in text
    again = run("game", *game, "--data", people, "--label", "y", "--drop", "note", "--out", out, "--json", *QUICK)
    assert json.loads(again.output) == document


def test_wrong_games_end_with_a_sentence(people, tmp_path, snapshot):
    common = ["--data", people, "--out", tmp_path / "game"]
    wrong = {
        "'z'": ["cluster", "--label", "z"],
        "place = west": ["groups", "--label", "y", "--column", "place", "--members-from", "west"],
        "1,1": ["cluster", "--label", "y", "--epsilon", "1,1"],
        "1000": ["cluster", "--label", "y", "--epsilon", "0.001,inf"],
        "--average-of shadows": ["cluster", "--label", "y", "--average-of", "shadows"],
        "cluster 2": ["cluster", "--label", "y", "--cluster", 2],
        "'south'": [
            *("groups", "--label", "y", "--column", "place", "--members-from", "south", "--nonmembers-from", "south"),
        ],
        "0.1,1,10,inf": ["cluster", "--label", "y", "--epsilon", "many"],
    }
    for fact, arguments in wrong.items():
        result = run("game", *arguments, *common)
        assert result.exit_code == 2, result.output
        snapshot(result.output, fact)
    assert not (tmp_path / "game" / "runs").exists()


def made_up(apart: float, mixed: float) -> Experiment:
    """One attack at two epsilons, with narrow intervals."""

    def around(value):
        return Estimate(value, value - 0.01, value + 0.01)

    points, gaps = [], []
    for epsilon in (1.0, math.inf):
        for arm, value in (("apart", apart), ("iid", mixed)):
            points += [
                Point(arm, epsilon, name, around(value)) for name in ("optimal_threshold", "members", "nonmembers")
            ]
        gaps.append(Gap(epsilon, "optimal_threshold", around(apart - mixed)))
    game = {"name": "sources", "column": "place", "of_members": "<i>", "iid": False, "rate": None}
    return Experiment(game, (1.0, math.inf), 1e-5, 10, tuple(points), tuple(gaps))


def test_text_follows_the_metrics(snapshot):
    (line,) = answer(made_up(0.9, 0.1))
    snapshot(line, "0.800")  # above .462, which is what epsilon 1 allows
    for apart, mixed in ((0.3, 0.1), (0.1, 0.1), (0.1, 0.3)):  # below it, no difference, and the other way round
        (line,) = answer(made_up(apart, mixed))
        snapshot(line)
    named = replace(experiment := made_up(0.9, 0.1), gaps=(replace(experiment.gaps[0], attack="average_threshold"),))
    named = replace(named, points=tuple(replace(point, metric="average_threshold") for point in named.points))
    snapshot(answer(named)[0])
    snapshot(answer(replace(named, average_of="shadows"))[0])
    text = experiment_page(made_up(0.9, 0.1))
    assert len(text.encode()) < 400_000  # it can be mailed
    assert "<i>" not in re.sub(r"<script.*?</script>", "", text, flags=re.S)


def test_a_page_always_states_that_a_validation_set_with_the_same_bias_hides_the_leak():
    """With all of a source as members no validation records remain, and the warning is still needed."""
    experiment = made_up(0.9, 0.1)
    warning, no_validation = "the model seems to generalise", "No records were left"
    assert warning in experiment_page(experiment)
    assert no_validation in experiment_page(experiment)
    validation = tuple(
        Point(arm, epsilon, "validation", Estimate(0.9, 0.8, 1.0))
        for arm in ("apart", "iid")
        for epsilon in experiment.epsilons
    )
    validated = experiment_page(replace(experiment, points=experiment.points + validation))
    assert warning in validated
    assert no_validation not in validated
