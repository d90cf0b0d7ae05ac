"""Control characters in names: no command prints one to the terminal."""

import unicodedata

import numpy as np
import pandas as pd
import pytest
import skops.io
from click.testing import CliRunner
from sklearn.ensemble import GradientBoostingClassifier

from guestlist._util.text import TURNING
from guestlist.cli import main

HOSTILE = "\x1b]0;owned\x07\x1b[2J\x1b[31mred\x9b31m\u202ereversed\rback"
RECORDS = 60


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """An audit whose ids, columns, groups, classes and cover are hostile, and the files that it was made from."""
    folder = tmp_path_factory.mktemp("hostile")
    rng = np.random.default_rng(0)
    for side in ("in", "out"):
        y = np.arange(RECORDS) % 2
        table = pd.DataFrame(
            {
                f"a{HOSTILE}": rng.normal(size=RECORDS),
                f"group{HOSTILE}": np.where(rng.random(RECORDS) < 0.5, f"one{HOSTILE}", f"two{HOSTILE}"),
                f"who{HOSTILE}": [f"{HOSTILE}{side}{i}" for i in range(RECORDS)],
                f"y{HOSTILE}": np.where(y, f"yes{HOSTILE}", f"no{HOSTILE}"),
            }
        )
        table.to_parquet(folder / f"{side}.parquet")
    members = pd.read_parquet(folder / "in.parquet")
    model = GradientBoostingClassifier(n_estimators=60, max_depth=4, random_state=0).fit(
        members[[f"a{HOSTILE}"]], members[f"y{HOSTILE}"]
    )
    skops.io.dump(model, folder / "model.skops")
    return folder


@pytest.fixture(scope="module")
def printed(inputs):
    """Everything that the commands print, by their names."""
    files = ["--model", str(inputs / "model.skops"), "--members", str(inputs / "in.parquet"), "--label", f"y{HOSTILE}"]
    audit = str(inputs / "audit")
    cover = [part for name in ("title", "owner", "dataset", "purpose", "date") for part in (f"--{name}", HOSTILE)]
    about = ["--nonmembers", str(inputs / "out.parquet"), "--id", f"who{HOSTILE}", "--group", f"group{HOSTILE}"]
    few = ["--references", "0", "--attack", "loss", "--no-baseline", "--quiet"]
    commands = {
        "audit": (["audit", *files, *about, *cover, *few, "--out", audit, "--verbose"], 0),
        "gate": (["gate", audit, "--max-auc", "0.5", "--max-tpr", "0.01@0.1", "--without-references", "--show-ids"], 1),
        "trees": (["trees", *files, "--id", f"who{HOSTILE}"], 0),
        "export": (["export", audit], 0),
        "risks": (["risks", audit, "--top", "5"], 0),
        "risks by group": (["risks", audit, "--group", f"group{HOSTILE}"], 0),
        "knn": (
            [
                "knn",
                "values",
                str(inputs / "in.parquet"),
                "--label",
                f"y{HOSTILE}",
                "--id",
                f"who{HOSTILE}",
                "--k",
                "2",
            ],
            2,
        ),
        "a column that is not there": (["trees", *files[:4], "--label", f"nothing{HOSTILE}"], 2),
        "a file that is not there": (["gate", f"nowhere{HOSTILE}", "--max-auc", "0.9"], 2),
        "an attack that is not there": (["gate", audit, "--max-auc", "0.9", "--attack", HOSTILE], 2),
        "a number that is none": (["gate", audit, "--max-auc", HOSTILE], 2),
    }
    outputs = {}
    for name, (arguments, status) in commands.items():
        done = CliRunner().invoke(main, arguments)
        assert done.exit_code == status, (name, done.output)
        outputs[name] = done.output
    return outputs


def speaks(text):
    return [c for c in text if c in TURNING or (unicodedata.category(c) in ("Cc", "Cs") and c != "\n")]


def test_no_command_prints_control_characters_in_names(printed):
    assert {name: speaks(text) for name, text in printed.items() if speaks(text)} == {}


def test_the_names_are_there_all_the_same(printed):
    for name in ("audit", "gate", "trees", "a column that is not there"):
        assert "[31mred" in printed[name], name
