"""Whole experiments: members drawn by a game, target and references trained by a recipe."""

from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

import guestlist as gl
from guestlist import InputError
from guestlist._store import open_store
from guestlist.errors import FolderError

GAME = gl.games.Sides(80, 60)
TREE = DecisionTreeClassifier(max_depth=6)


@pytest.fixture(scope="module")
def pool():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=240)
    return rng.normal(size=(240, 4)) + 0.7 * np.eye(4)[y], y


def play(pool, game=GAME, recipe=TREE, **options):
    return gl.play(game, recipe, pool, **{"references": 4, "jobs": 1, "attacks": ["loss", "lira"], **options})


@pytest.mark.slow
def test_an_estimator_is_its_own_recipe(pool, tmp_path):
    results = play(pool, folder=tmp_path)
    assert (results.subject.members, results.subject.nonmembers, results.subject.population) == (80, 60, 100)
    assert results.attack("loss").auc.low > 0.5
    store = open_store(tmp_path)
    assert store.manifest.make_game() == GAME
    assert store.split.members.sum() == 80
    # The target was trained on its members, by the recipe: a tree of that depth with the target's own stream.
    again = DecisionTreeClassifier(max_depth=6, random_state=0).fit(
        pool[0][store.split.members], pool[1][store.split.members]
    )
    assert again.score(pool[0][store.split.members], pool[1][store.split.members]) == pytest.approx(
        results.subject.accuracy_members, abs=0.06
    )


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bits_and_another_seed_others(pool, tmp_path):
    first = play(pool, folder=tmp_path / "a")
    assert play(pool, folder=tmp_path / "a").document() == first.document()
    assert play(pool, folder=tmp_path / "b", jobs=2).document() == first.document()
    other = play(pool, seed=1)
    assert other.document() != first.document()


@pytest.mark.slow
def test_more_references_leave_those_that_are_there(pool, tmp_path):
    play(pool, folder=tmp_path)
    before = open_store(tmp_path).split
    play(pool, folder=tmp_path, references=7)
    after = open_store(tmp_path).split
    assert len(after) == 8
    assert (after.member[:5] == before.member).all()


@pytest.mark.slow
def test_another_game_or_recipe_does_not_share_a_folder(pool, tmp_path, snapshot):
    play(pool, folder=tmp_path)
    with snapshot.raises(FolderError):
        play(pool, gl.games.Sides(70, 60), folder=tmp_path)
    with snapshot.raises(FolderError):
        play(pool, recipe=DecisionTreeClassifier(max_depth=3), folder=tmp_path)


@pytest.mark.slow
def test_every_record_is_included_by_a_bernoulli_draw(pool):
    results = play(pool, gl.games.Bernoulli(0.4))
    assert results.subject.population == 0
    assert 60 < results.subject.members < 130


@dataclass(frozen=True)
class Shallow:
    """Trains as another recipe does, but never deep."""

    recipe: gl.defences.Recipe

    def __call__(self, model, data, rng):
        return self.recipe(type(model)(max_depth=1), data, rng)

    def describe(self):
        return f"Shallow({self.recipe.describe()})"


@pytest.mark.slow
def test_a_recipe_trains_the_target_and_the_references(pool):
    deep, shallow = (
        play(pool, recipe=recipe, model=TREE) for recipe in (gl.defences.Refit(), Shallow(gl.defences.Refit()))
    )
    assert shallow.attack("loss").auc.value < deep.attack("loss").auc.value
    assert shallow.provenance.fingerprints["recipe"] != deep.provenance.fingerprints["recipe"]


@pytest.mark.slow
def test_a_torch_module_is_trained_by_fit(pool, tmp_path):
    pytest.importorskip("torch")
    letters = np.array(list("abc"))[pool[1]]
    options = {"model": gl.defences.mlp(4, 3, hidden=(16,)), "classes": list("abc"), "folder": tmp_path}
    results = play((pool[0], letters), recipe=gl.defences.Fit(epochs=30, learning_rate=0.02), **options)
    assert results.subject.accuracy_members > 0.55
    case = gl.read_case(tmp_path)
    assert case.view.references == 4
    assert case.truth.member.sum() == 80


@pytest.mark.slow
def test_regression_and_neighbours_can_be_played(pool):
    values = pool[0] @ np.arange(4.0)
    assert play((pool[0], values), recipe=LinearRegression(), attacks=["loss"]).subject.r2_members > 0.99
    results = play(pool, recipe=KNeighborsClassifier(3), attacks=None, references=0)
    assert "knn_likelihood_ratio" in {outcome.name for outcome in results.outcomes}


def test_games_that_cannot_be_played_are_reported(pool, snapshot):
    with snapshot.raises(InputError):
        play(pool, recipe=gl.defences.Refit())
    with snapshot.raises(ValueError, "240"):
        play(pool, gl.games.Sides(200, 100))
    with snapshot.raises(InputError):
        play((pool[0][:2], pool[1][:2]), gl.games.Bernoulli(0.0001))


@pytest.mark.slow
def test_a_case_holds_what_an_experiment_needs(pool, tmp_path):
    x, y = pool
    model = DecisionTreeClassifier(random_state=0).fit(x[:100], y[:100])
    sides = (x[:100], y[:100]), (x[100:200], y[100:200]), (x[200:], y[200:])
    evidence = [gl.evidence.Perturbed(2)]
    case = gl.collect(model, *sides, references=6, evidence=evidence, folder=tmp_path, jobs=1)
    order = np.argsort(case.records["row"])  # within a set, the order of the records is random
    assert case.truth.member[order].tolist() == [True] * 100 + [False] * 140
    assert case.view.population[order].tolist() == [False] * 200 + [True] * 40
    assert case.view.evidence.need("perturbed").copies == 2
    assert case.view.evidence.need("leaves") is not None  # the target is at hand
    assert case.stand_ins.member.shape == (6, 240)
    assert list(case.records.columns) == ["id", "label", "class", "row"]
    scores = gl.attacks.ATTACKS["lira"].score(case.view)
    results = gl.audit(model, *sides, references=6, folder=tmp_path, attacks=["lira"], jobs=1)
    np.testing.assert_array_equal(results.records["score_lira"], scores[order[:200]])
    again = gl.read_case(tmp_path)
    np.testing.assert_array_equal(gl.attacks.ATTACKS["lira"].score(again.view), scores)
    assert again.view.evidence.get("leaves") is None
    assert gl.read_case(tmp_path, references=3).view.references == 3


@pytest.mark.slow
def test_references_are_trained_from_the_model_and_not_from_the_target(pool):
    from sklearn.base import clone
    from sklearn.ensemble import BaggingClassifier

    trained = []

    def bagged(model, data, rng):
        trained.append(type(model).__name__)
        return BaggingClassifier(clone(model), 3, random_state=0).fit(data.x, data.y)

    play(pool, recipe=bagged, model=TREE)
    assert trained == ["DecisionTreeClassifier"] * 5


@pytest.mark.slow
def test_a_module_is_tuned_from_where_it_started(pool):
    torch = pytest.importorskip("torch")
    import copy

    start, norms = gl.defences.mlp(4, 3, hidden=(8,)), []

    def tuned(module, data, rng):
        norms.append(float(sum(p.detach().norm() for p in module.parameters())))
        module = copy.deepcopy(module)
        with torch.no_grad():
            for parameter in module.parameters():
                parameter *= 2
        return module

    play(pool, recipe=tuned, model=start, attacks=["loss"])
    assert len(set(norms)) == 1


def test_a_game_must_match_its_name(pool, snapshot):
    class Mine(gl.games.Bernoulli):
        """Another way to draw under the same name."""

    for game in (Mine(), gl.games.Bernoulli):
        with snapshot.raises(InputError):
            play(pool, game)


def test_faults_are_reported_before_anything_is_trained(pool, snapshot):
    trained = []

    def recipe(model, data, rng):
        trained.append(1)
        return model.fit(data.x, data.y)

    with pytest.raises(InputError, match="'lyra'"):
        play(pool, recipe=recipe, model=TREE, attacks=["lyra"])
    assert not trained
    with pytest.raises(gl.AuditError, match="NaN"):  # the message of scikit-learn
        play((pool[0], np.where(pool[1] == 0, np.nan, 1.0)), recipe=LinearRegression())
    torch_labels = pool[1] + 1
    pytest.importorskip("torch")
    with snapshot.raises(InputError):
        play((pool[0], torch_labels), recipe=gl.defences.Fit(epochs=1), model=gl.defences.mlp(4, 3, hidden=(4,)))
