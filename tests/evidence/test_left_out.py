"""Models without a record: the right records, the right training sets, and the same bytes however they are collected."""

import os
import signal
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest
from benchmarks.error_rates import left_out as simulations
from click.testing import CliRunner
from sklearn.neighbors import KNeighborsClassifier

import guestlist as gl
from guestlist import AuditError, InputError
from guestlist._store import open_store
from guestlist.cli import main
from guestlist.errors import FolderError
from guestlist.evidence import LeftOut, parse_plan

pytestmark = pytest.mark.usefixtures("in_the_order_given")

# Records 0 … 11 are the members, 12 … 21 the non-members, 22 … 24 the population.
MEMBERS, NONMEMBERS, POPULATION = range(12), range(12, 22), range(22, 25)
RECORDS = np.column_stack([np.arange(25.0), np.random.default_rng(0).normal(size=25)])
LABELS = np.arange(25) % 2


class Counting:
    """A recipe that records its inputs: the records, and a number from the seed."""

    def __init__(self):
        self.trained = []

    def __call__(self, data, rng):
        draw = rng.normal()
        self.trained.append((frozenset(data.x[:, 0].astype(int)), draw))
        mean = data.x[:, 1].mean()
        return lambda x: np.column_stack([np.zeros(len(x)), x[:, 1] - mean + draw])


def collect(folder, train=None, *, jobs=1, evidence=None, **options):
    sides = [(RECORDS[list(rows)], LABELS[list(rows)]) for rows in (MEMBERS, NONMEMBERS, POPULATION)]
    predict = lambda x: np.column_stack([np.zeros(len(x)), x[:, 1]])  # noqa: E731
    target = gl.function_target(predict, classes=[0, 1], train=train or Counting(), scale="logits", recipe="r")
    plan = evidence or gl.evidence.LeftOut(**{"records": 3, "models": 2, **options})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gl.AuditWarning)
        results = gl.audit(target, *sides, references=0, evidence=[plan], folder=folder, jobs=jobs)
    return results, LeftOut.read(open_store(folder))


def contents(folder):
    files = [*sorted((folder / "evidence").rglob("*.*")), folder / "results.json", folder / "records.parquet"]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def evaluated(models):
    return set(np.flatnonzero(~np.isnan(models.values["margin"]).all(axis=0)))


@pytest.mark.slow
def test_every_selected_record_has_models_trained_without_it(tmp_path):
    train = Counting()
    results, models = collect(tmp_path, train)
    inside, outside = evaluated(models) & set(MEMBERS), evaluated(models) & set(NONMEMBERS)
    assert (len(inside), len(outside)) == (3, 3)
    assert evaluated(models) == inside | outside
    sets = [records for records, _ in train.trained]
    assert sets.count(frozenset(MEMBERS)) == 3 * 2  # two for each non-member
    assert all(sets.count(frozenset(MEMBERS) - {i}) == 2 for i in inside)
    assert len(sets) == 3 * 2 + 3 * 2
    assert len({draw for _, draw in train.trained}) == len(sets)  # every model has a seed of its own
    assert not models.member.any()
    # 3 of 12 members and 3 of 10 non-members have a score.
    assert results.attack("leave_one_out").unscored == 22 - 6


@pytest.mark.slow
def test_one_set_is_nothing_to_compare_and_the_others_are_collected(tmp_path):
    collect(tmp_path)
    before, folder = contents(tmp_path), tmp_path / "evidence" / "left_out"
    paths = [path for path in sorted(folder.glob("record-*.npz")) if int(path.stem[-5:]) in NONMEMBERS]
    for path in paths:
        path.unlink()
    assert LeftOut.read(open_store(tmp_path)) is None
    train = Counting()
    collect(tmp_path, train)
    assert [records for records, _ in train.trained] == [frozenset(MEMBERS)] * 6
    assert contents(tmp_path) == before


@pytest.mark.slow
def test_saved_values_are_the_outputs_of_those_models_for_the_record(tmp_path):
    train = Counting()
    _, models = collect(tmp_path, train)
    for position, i in enumerate(sorted(evaluated(models))):
        without, trained = (
            frozenset(MEMBERS) - {i},
            train.trained[2 * position : 2 * position + 2],
        )  # one after the other
        assert [records for records, _ in trained] == [without] * 2
        draws = [draw for _, draw in trained]
        mean = RECORDS[sorted(without), 1].mean()
        margin = (2 * LABELS[i] - 1) * (RECORDS[i, 1] - mean + np.array(draws))
        np.testing.assert_allclose(models.values["margin"][:, i], margin, rtol=1e-12)
        np.testing.assert_allclose(models.values["loss"][:, i], np.logaddexp(0, -margin), rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("larger", [{"records": 5}, {"models": 4}, {"records": 5, "models": 4}])
def test_more_records_or_models_train_only_the_missing_ones(larger, tmp_path):
    first, second = Counting(), Counting()
    _, before = collect(tmp_path / "grown", first)
    _, after = collect(tmp_path / "grown", second, **larger)
    counter = Counting()
    collect(tmp_path / "whole", counter, **larger)
    assert evaluated(before) <= evaluated(after)
    assert contents(tmp_path / "grown") == contents(tmp_path / "whole")
    assert len(first.trained) + len(second.trained) == len(counter.trained)
    assert set(first.trained) | set(second.trained) == set(counter.trained)


@pytest.mark.slow
def test_asking_for_fewer_trains_nothing_and_keeps_what_is_there(tmp_path):
    collect(tmp_path)
    before, train = contents(tmp_path), Counting()
    collect(tmp_path, train, records=1, models=1)
    assert not train.trained
    assert contents(tmp_path) == before


@pytest.mark.slow
def test_resumed_after_files_were_lost_the_bytes_are_the_same(tmp_path):
    collect(tmp_path)
    before, train = contents(tmp_path), Counting()
    path, *_ = sorted(tmp_path.glob("evidence/left_out/record-*.npz"))
    path.unlink()
    collect(tmp_path, train)
    assert len(train.trained) == 2
    assert contents(tmp_path) == before


@pytest.mark.slow
@pytest.mark.long
def test_one_and_two_jobs_give_the_same_bytes(tree, blobs, tmp_path):
    for jobs in (1, 2):
        plan = gl.evidence.LeftOut(records=4, models=2)
        gl.audit(tree, *blobs, references=0, evidence=[plan], folder=tmp_path / str(jobs), jobs=jobs)
    assert contents(tmp_path / "1") == contents(tmp_path / "2")


@pytest.mark.slow
def test_records_may_be_named(tmp_path):
    train = Counting()
    _, models = collect(tmp_path, train, ids=("members:3", "nonmembers:0"))
    assert evaluated(models) == {3, 12}
    assert {records for records, _ in train.trained} == {frozenset(MEMBERS), frozenset(MEMBERS) - {3}}
    _, again = collect(tmp_path, ids=["members:3", "nonmembers:0"])
    np.testing.assert_array_equal(again.values["loss"], models.values["loss"])
    with pytest.raises(FolderError, match="collected with ids="):
        collect(tmp_path)
    # Only members may be requested: each has separate models.
    alone = Counting()
    collect(tmp_path / "alone", alone, ids=("members:3",))
    assert [records for records, _ in alone.trained] == [frozenset(MEMBERS) - {3}] * 2


@pytest.mark.parametrize("name", ["members:12", "population:0", "Ada"])
def test_ids_that_are_not_evaluated_are_reported_before_anything_is_trained(name, tmp_path):
    train = Counting()
    with pytest.raises(InputError, match=f"No member or non-member has the id '{name}'"):
        collect(tmp_path, train, ids=("members:3", name))
    assert not train.trained
    assert not (tmp_path / "evidence").exists()


def test_whole_numbers_as_ids_are_matched_as_text(tmp_path):
    data = gl.Data(RECORDS, LABELS, ids=np.arange(100, 125))
    chosen = [LeftOut(models=1, ids=("103", "104"))]
    model = KNeighborsClassifier(3)
    options = {"references": 0, "attacks": ["loss"], "jobs": 1, "folder": tmp_path / "audit"}
    gl.play(gl.games.Bernoulli(), model, data, evidence=chosen, **options)
    files = (tmp_path / "audit" / "evidence" / "left_out").glob("record-*")
    assert {file.name for file in files} == {"record-00003.npz", "record-00004.npz"}


@pytest.mark.slow
def test_all_records_where_there_are_no_more(tmp_path):
    _, models = collect(tmp_path, records=1000, models=1)
    assert evaluated(models) == set(MEMBERS) | set(NONMEMBERS)


@pytest.mark.slow
def test_a_recipe_that_fails_names_the_model_and_keeps_the_others(tmp_path):
    class Failing(Counting):
        def __call__(self, data, rng):
            if len(self.trained) == 5:
                raise RuntimeError("out of luck")
            return super().__call__(data, rng)

    with pytest.raises(AuditError, match=r"Model 2 without record 'members:\d+' could not be trained .*out of luck"):
        collect(tmp_path / "a", Failing())
    assert len(list(tmp_path.glob("a/evidence/left_out/record-*.npz"))) == 2
    collect(tmp_path / "a")
    collect(tmp_path / "b")
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


def test_a_target_without_a_recipe_is_refused(blobs):
    target = gl.function_target(lambda x: np.full((len(x), 3), 1 / 3), classes=[0, 1, 2])
    with pytest.raises(InputError, match="has no training recipe"):
        gl.audit(target, *blobs, references=0, evidence=[gl.evidence.LeftOut()])


def test_options_are_checked_and_read_from_a_command_line():
    assert parse_plan("left_out:records=7,models=3") == gl.evidence.LeftOut(records=7, models=3)
    assert parse_plan("left_out:ids=a+b") == gl.evidence.LeftOut(ids=("a", "b"))
    with pytest.raises(InputError, match="of type integer, found 'many'"):
        parse_plan("left_out:models=many")
    for wrong in ({"records": 0}, {"models": 0}, {"ids": "members:1"}):
        with pytest.raises(ValueError, match=f"{next(iter(wrong))}="):
            gl.evidence.LeftOut(**wrong)
    result = CliRunner().invoke(main, ["show", "evidence"])
    assert "left_out" in result.output


@pytest.mark.slow
@pytest.mark.parametrize("name", simulations.NAMES)
def test_variation_between_models_is_not_taken_for_membership(name):
    """Models differ as much as records do, and nothing leaks: 5 % of 400 intervals may exclude 0.5."""
    assert simulations.excluded(name, 1.0, shared=False, repeats=400) <= 0.08
    assert simulations.excluded(name, 1.0, shared=True, repeats=100) >= 0.12  # what the models of one set would do


@pytest.mark.slow
def test_the_audit_of_the_benchmark_scores_every_record():
    attack = simulations.audit(1.0, 0, records=12, models=3).attack("leave_one_out")
    assert attack.unscored == 0
    assert attack.auc.low < attack.auc.value < attack.auc.high


@pytest.mark.slow
def test_leave_one_out_detects_members_of_a_nearest_neighbour_model(blobs):
    """One neighbour: a member's label decides its prediction, and without it another record's label does."""
    model = KNeighborsClassifier(1).fit(*blobs[0])
    results = gl.audit(model, *blobs, references=0, evidence=[gl.evidence.LeftOut(records=60, models=2)], jobs=1)
    assert results.attack("leave_one_out").auc.low > 0.5


@pytest.mark.slow
@pytest.mark.long
def test_killed_at_random_moments_and_resumed_it_ends_with_the_same_bytes(tmp_path, monkeypatch):
    """Killed with two processes that train, and resumed with one: how many there are changes no byte."""
    code = (
        "import sys, warnings, numpy as np, guestlist as gl; from guestlist._collect import inputs;"
        "inputs.shuffle_rows = lambda rows, seed: rows;"  # as in this process
        "from sklearn.ensemble import RandomForestClassifier as Forest; warnings.simplefilter('ignore');"
        "rng = np.random.default_rng(0); x = rng.normal(size=(200, 4)); y = (x[:, 0] + rng.normal(size=200) > 0) * 1;"
        "model = Forest(8, random_state=0).fit(x[:100], y[:100]);"
        "gl.audit(model, (x[:100], y[:100]), (x[100:], y[100:]), references=0, folder=sys.argv[1],"
        "         jobs=int(sys.argv[2]), attacks=['leave_one_out'], baseline=False,"
        "         evidence=[gl.evidence.LeftOut(records=8, models=4)])"
    )

    def command(folder, jobs):
        return [sys.executable, "-c", code, str(tmp_path / folder), str(jobs)]

    def run_here(folder):
        monkeypatch.setattr(sys, "argv", ["-c", str(tmp_path / folder), "1"])
        with warnings.catch_warnings():
            exec(code, {})

    run_here("whole")
    killed = 0
    for wait in (0.0, 0.3):
        process = subprocess.Popen(command("killed", 2), start_new_session=True, stderr=subprocess.DEVNULL)
        written = len(list(tmp_path.glob("killed/evidence/left_out/*.npz")))
        while process.poll() is None and len(list(tmp_path.glob("killed/evidence/left_out/*.npz"))) <= written:
            time.sleep(0.01)
        time.sleep(wait)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            killed += 1
        process.wait()
    assert killed >= 1
    run_here("killed")
    assert contents(tmp_path / "killed") == contents(tmp_path / "whole")
    assert not list((tmp_path / "killed").rglob(".*.part"))
