"""Games in which every model is a trial: one record or another, and what many runs of it prove."""

import json
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.dummy import DummyClassifier
from sklearn.tree import DecisionTreeClassifier

import guestlist as gl
from guestlist import Data, InputError
from guestlist._findings.epsilon import scored
from guestlist._report.sections.epsilon import epsilon_verdict
from guestlist._store import open_store
from guestlist.cli import main
from guestlist.errors import FolderError
from guestlist.games import Exchangeable, Split, Strong, draw, game_of, options_of
from guestlist.privacy import group_privacy

RECORDS = 60


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    return Data(rng.normal(size=(RECORDS, 3)), rng.integers(2, size=RECORDS))


def train_none(train, about, models):
    raise AssertionError("there is nothing to choose")


@pytest.mark.parametrize("against", ["another", "nothing"])
def test_other_records_always_train_and_the_queried_record_is_drawn(people, against):
    game = Strong(20, against)
    pool = game.prepared(people, train_none, seed=0)
    split = draw(game, pool, 400, seed=3)
    queried = 2 if against == "another" else 1
    assert len(pool) == 20 + queried
    assert (split.evaluated == pool.marked).all()
    assert pool.marked.sum() == queried
    assert split.member[:, ~pool.marked].all()
    inside = split.member[:, pool.marked]
    assert inside[:, 0].mean() == pytest.approx(0.5, abs=0.08)
    if against == "another":
        assert (inside.sum(axis=1) == 1).all()
    assert game_of(options_of(game)) == game


def test_the_record_in_question_can_be_named(people):
    pool = Strong(record="row:7", against="nothing").prepared(people, train_none, seed=0)
    assert pool.ids[pool.marked].tolist() == ["row:7"]
    assert len(pool) == RECORDS
    with pytest.raises(InputError, match="0 records have the id 'row:99'"):
        Strong(record="row:99").prepared(people, train_none, seed=0)


def test_members_and_one_more_are_drawn_for_every_model(people):
    split = draw(Exchangeable(20), people, 600, seed=0)
    assert (split.member.sum(axis=1) == 20).all()
    assert (split.evaluated.sum(axis=1) == 2).all()
    assert ((split.evaluated & split.member).sum(axis=1) == 1).all()
    assert split.member.mean(axis=0) == pytest.approx(1 / 3, abs=0.08)  # no record is included more often than others
    assert split.evaluated.mean(axis=0) == pytest.approx(1 / 30, abs=0.03)
    first = scored(np.zeros(split.member.shape), split)[1]
    assert first.mean() == pytest.approx(0.5, abs=0.07)
    assert abs(np.corrcoef(first[1:], first[:-1])[0, 1]) < 0.12


def test_scores_are_those_of_a_loop():
    rng = np.random.default_rng(0)
    signal = rng.normal(size=(50, 9))
    evaluated = np.array(
        [np.isin(np.arange(9), rng.choice(9, size=rng.integers(1, 3), replace=False)) for _ in range(50)]
    )
    member = rng.random((50, 9)) < 0.5
    scores, inside = scored(signal, Split(member, evaluated))
    for k in range(50):
        first, *rows = np.flatnonzero(evaluated[k])
        assert scores[k] == pytest.approx(signal[k, first] - sum(signal[k, j] for j in rows))
        assert inside[k] == member[k, first]


def test_wrong_games_are_reported(people):
    tree = DecisionTreeClassifier()
    with pytest.raises(InputError, match=r"Use gl\.play_many"):
        gl.play(Strong(20), tree, people)
    with pytest.raises(InputError, match=r"has one target"):
        gl.play_many(gl.games.Bernoulli(0.5), tree, people)
    with pytest.raises(InputError, match="found 60"):
        gl.play_many(Strong(59), tree, people)
    with pytest.raises(InputError, match="one more record; found 60"):
        gl.play_many(Exchangeable(60), tree, people)
    with pytest.raises(ValueError, match="2 or more"):
        gl.play_many(Strong(20), tree, people, runs=1)
    for wrong in (lambda: Strong(0), lambda: Strong(against="all"), lambda: Exchangeable(0)):
        with pytest.raises(ValueError, match="Expected"):
            wrong()


@pytest.fixture(scope="module")
def runs(people, tmp_path_factory):
    """A tree knows which record it was trained on, and nothing else about it."""
    folder = tmp_path_factory.mktemp("trials") / "tree"

    def play(game, runs=30, **options):
        options = {"engine": gl.Here(), "folder": folder, "claimed": gl.Claim(0.2), **options}
        return gl.play_many(game, DecisionTreeClassifier(random_state=0), people, runs=runs, **options)

    return play, folder, play(record_with_other_label(people))


def record_with_other_label(people):
    """The tree is wrong about it where it is out: its nearest neighbour has the other label."""
    distance = np.square(people.x[:, None] - people.x).sum(-1) + np.diag(np.full(RECORDS, np.inf))
    odd = np.flatnonzero(people.y[distance.argmin(axis=1)] != people.y)[0]
    return Strong(against="nothing", record=f"row:{odd}")


@pytest.mark.slow
def test_many_runs_contradict_a_claim_and_more_of_them_prove_more(runs, people):
    play, folder, epsilon = runs
    assert epsilon.runs
    assert not epsilon.replaced
    assert epsilon.contradicted
    assert epsilon.bound.members + epsilon.bound.nonmembers == 30
    assert "the scores of 30 runs prove that ε is at least" in epsilon_verdict(epsilon)
    results = play(record_with_other_label(people), runs=40)
    assert results.bound.provable > epsilon.bound.provable
    assert len(open_store(folder).split) == 40
    with pytest.raises(FolderError, match="a different game"):
        play(Strong(against="nothing"))


@pytest.mark.slow
def test_the_folder_gives_the_same_bound_by_the_methods_for_many_runs(runs):
    folder = runs[1]
    result = CliRunner().invoke(main, ["epsilon", str(folder)])
    assert result.exit_code == 0, result.output
    assert "is contradicted" in result.output
    for method in ("gaussian-runs", "bayesian-runs"):
        result = CliRunner().invoke(main, ["epsilon", str(folder), "--method", method, "--json"])
        assert json.loads(result.output)["runs"]
    result = CliRunner().invoke(main, ["epsilon", str(folder), "--method", "bayesian-runs"]).output
    assert "ε = 0.2 at δ = 1e-05 is not credible. Given the scores of" in " ".join(result.split())
    assert "with a posterior probability of" in " ".join(result.split())
    assert not any(word in result for word in ("confidence", "prove", "contradicted"))
    result = CliRunner().invoke(main, ["epsilon", str(folder), "--method", "one-run"])
    assert result.exit_code == 2
    assert "each model of this game is one trial" in result.output


def test_a_belief_is_not_called_a_proof(runs):
    folder = runs[1]
    bound = gl.epsilon_bound(folder, claimed=0.1, method=gl.privacy.BayesianRuns())
    between = replace(bound, bound=replace(bound.bound, epsilon=0.05))  # shows something, and less than it could
    for finding, words in (
        (bound, "is not credible."),
        (between, "is still credible, which does not show that it holds."),
        (replace(bound, claimed=gl.Claim(40.0)), "with this few runs, it stays credible even after perfect scores."),
        (replace(bound, claimed=None), "would have given"),
    ):
        verdict = epsilon_verdict(finding)
        assert words in verdict
        assert "a credible bound from Jeffreys' prior, not a proof" in verdict
        assert "confidence" not in verdict
    assert not gl.epsilon_bound(folder, claimed=0.1).bayesian


def test_a_claim_about_one_record_more_or_less_allows_twice_as_much_of_one_replaced(people):
    options = {"runs": 12, "engine": gl.Here(), "claimed": gl.Claim(1.0, 1e-3)}
    results = gl.play_many(Strong(20), DecisionTreeClassifier(), people, **options)
    assert results.replaced
    assert results.allowed == group_privacy(1.0, 1e-3, 2)
    assert results.bound.delta == results.allowed.delta
    assert "It allows ε = 2 at δ = 0.00372 under replace-one adjacency" in epsilon_verdict(results)


def test_a_model_that_ignores_its_input_gives_no_bound(people):
    constant = DummyClassifier(strategy="constant", constant=1)
    results = gl.play_many(Exchangeable(20), constant, people, runs=12, engine=gl.Here())
    assert results.bound.epsilon == 0
    assert results.claimed is None
    assert "prove no ε above 0 under replace-one adjacency" in epsilon_verdict(results)
