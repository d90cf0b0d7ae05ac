"""The DP path in one command: train with DP-SGD, claim epsilon, audit."""

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import guestlist as gl
from guestlist.cli import main

pytest.importorskip("torch")
pytest.importorskip("opacus")


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    """Many features for few records, so that a network can memorise canaries."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.random((400, 200))).add_prefix("x")
    table["town"] = rng.choice(["north", "south", "west"], size=400)
    table["ill"] = np.where(table["x0"] > 0.5, "yes", "no")
    path = tmp_path_factory.mktemp("data") / "people.csv"
    table.to_csv(path, index=False)
    return path


def run(*arguments):
    return CliRunner().invoke(main, ["dp", *map(str, arguments)])


def options(people, out):
    quick = ["--hidden", 64, "--batch-size", 100, "--engine", "here", "--quiet"]
    return ["--data", people, "--label", "ill", "--out", out, "--canaries", 150, *quick]


@pytest.mark.slow
@pytest.mark.long  # tests/privacy/test_error_rates.py trains without noise in Python
def test_training_without_noise_is_caught(people, tmp_path):
    arguments = [*options(people, tmp_path / "off"), "--epsilon", 1, "--noise", 0, "--epochs", 80]
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    assert "noise 0 times the clip of 1; ε = 1 at δ = 1e-05" in result.output
    assert "No: the claim of ε = 1 at δ = 1e-05 is contradicted" in result.output
    assert (tmp_path / "off" / "report.html").exists()
    again = CliRunner().invoke(main, ["epsilon", str(tmp_path / "off")])
    assert again.output.strip() in result.output
    document = json.loads(run(*arguments, "--json").output)  # the folder is there
    assert document["epsilon"]["claimed"] == {"epsilon": 1.0, "delta": 1e-5, "gaussian": False}


@pytest.mark.slow
def test_training_with_the_claimed_noise_is_not_contradicted(people, tmp_path, monkeypatch):
    enough = 6.0  # to search for the least takes longer than all else
    assert gl.privacy.epsilon_of(enough, rate=0.5, steps=4, delta=1e-3, accountant="rdp") < 1
    monkeypatch.setattr("guestlist.defences.dp_sgd.noise_for", lambda *_, **__: enough)
    result = run(*options(people, tmp_path / "kept"), "--epsilon", 1, "--delta", 1e-3, "--epochs", 2, "--all-records")
    assert result.exit_code == 0, result.output
    assert "ε = 1 at δ = 0.001" in result.output
    assert gl.read_results(tmp_path / "kept").epsilon.contradicted is False
    case = gl.read_case(tmp_path / "kept")
    assert case.setting.game["name"] == "bernoulli"
    assert case.setting.claimed == gl.Claim(1.0, 1e-3)


def test_impossible_training_is_reported_first(people, tmp_path):
    wrong = {
        "no column 'sick'": ["--label", "sick"],
        "400 different values": ["--label", "x1"],
        "500 canaries were requested": ["--label", "ill", "--canaries", 500],
    }
    for words, arguments in wrong.items():
        result = run("--data", people, "--out", tmp_path / "no", "--epsilon", 1, "--noise", 0, *arguments)
        assert result.exit_code == 2, result.output
        assert words in result.output
    assert not (tmp_path / "no").exists()


@pytest.mark.slow
def test_looking_for_a_noise_is_shown():
    from guestlist.privacy import accounting

    noises = []

    def progress(looks, *, total):
        assert total == accounting.LOOKS
        for noise in looks:
            noises.append(noise)
            yield noise

    computed = gl.privacy.noise_for(7.5, rate=0.3, steps=4, progress=progress)
    assert noises[-1] == computed
    looks = len(noises)
    assert gl.privacy.noise_for(7.5, rate=0.3, steps=4, progress=progress) == computed
    assert len(noises) == looks  # not looked for again
    assert gl.privacy.epsilon_of(computed, rate=0.3, steps=4) == pytest.approx(7.5, rel=0.01)
