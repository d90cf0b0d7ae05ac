"""Models that change their input, or the state of the process: audits have the same results."""

import os
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, PowerTransformer
from sklearn.tree import DecisionTreeClassifier

import guestlist as gl
from engine_tasks import run
from guestlist import AuditError, Data, Here, InputError
from guestlist._store import spot_digest
from guestlist.data import copied

RNG = np.random.default_rng(0)
X = np.exp(RNG.normal(size=(160, 3)))
Y = (X[:, 0] + RNG.normal(size=160) > 1.3).astype(int)
HALF = 80


class Logarithm(TransformerMixin, BaseEstimator):
    """Takes logarithms; ``inplace`` writes them over the columns of the table that it is given."""

    def __init__(self, inplace=False):
        self.inplace = inplace

    def fit(self, x, y=None):
        self.fitted_ = True
        return self

    def transform(self, x):
        output = x if self.inplace else x.copy()
        for name in output.columns:
            output[name] = (
                np.log1p(np.abs(output[name])) if output[name].dtype.kind == "f" else output[name].map(self._length)
            )
        return output

    def _length(self, tokens):
        tokens = tokens if self.inplace else list(tokens)
        tokens.append("end")
        return len(tokens)


class Lower(TransformerMixin, BaseEstimator):
    """Writes texts in lower case, and drops their first letter; ``inplace`` does so in the array that it is given."""

    def __init__(self, inplace=False):
        self.inplace = inplace

    def fit(self, x, y=None):
        return self

    def transform(self, x):
        output = x if self.inplace else x.copy()
        output[:] = [text[1:].lower() for text in output]
        return output

    def __sklearn_is_fitted__(self):
        return True


def log1p(x, inplace=False):
    change = np.abs(x, out=x if inplace else None)
    return np.log1p(change, out=change)


def power(writes):
    return make_pipeline(PowerTransformer(copy=not writes), KNeighborsClassifier(5))


def imputer(writes):
    return make_pipeline(SimpleImputer(copy=not writes), DecisionTreeClassifier(max_depth=4))


def function(writes):
    return make_pipeline(FunctionTransformer(log1p, kw_args={"inplace": writes}), LogisticRegression())


def table(writes):
    return make_pipeline(Logarithm(writes), GaussianNB())


def texts(writes):
    return make_pipeline(Lower(writes), CountVectorizer(), LogisticRegression())


HOLES = np.where(np.arange(480).reshape(160, 3) % 7 == 0, np.nan, X)
TABLE = pd.DataFrame(X, columns=["a", "b", "c"])
LISTS = TABLE.assign(tokens=pd.Series([["t"] * n for n in RNG.integers(1, 9, size=160)]))
TEXTS = np.array([" ".join(RNG.choice(["Xash", "Yoak", "Zelm", "xfir"], size=12)) for _ in range(160)], dtype=object)
MODELS = {"power": (power, X), "imputer": (imputer, HOLES), "function": (function, X), "table": (table, TABLE)}
MODELS |= {"lists": (table, LISTS), "texts": (texts, TEXTS)}


def sides(x):
    return (x[:HALF], Y[:HALF]), (x[HALF:], Y[HALF:])


def audited(name, writes, engine, folder, **options):
    """The signals and evidence of an audit, and the records as they are afterwards."""
    make, x = MODELS[name]
    x = copied(x)
    members, others = sides(x)
    model = make(writes).fit(copied(members[0]), members[1])
    gl.audit(
        model, members, others, references=3, engine=engine, folder=folder, progress=False, attacks=["loss"], **options
    )
    return arrays_in(folder), x


def arrays_in(folder):
    """The bytes of all arrays in a folder, but for checksums, which hold the name of the recipe too."""
    contents = {}
    for path in sorted(folder.rglob("*.npz")):
        with np.load(path) as arrays:
            values = {name: arrays[name].tobytes() for name in arrays.files if not name.startswith("_")}
        contents[str(path.relative_to(folder))] = values
    return contents


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_a_model_that_writes_on_its_input_is_audited_as_one_that_does_not(name, tmp_path):
    evidence = [
        gl.evidence.LeftOut(records=1, models=2),
        *([gl.evidence.Perturbed(copies=2)] if name != "lists" else []),
    ]
    evidence += [gl.evidence.Distilled(models=2)] if name == "function" else []
    expected, _ = audited(name, False, gl.Here(), tmp_path / "plain", evidence=evidence)
    written, x = audited(name, True, gl.Here(), tmp_path / "writes", evidence=evidence)
    assert {path for path in expected if expected[path] != written[path]} == set()
    assert set(written) == set(expected)
    before = MODELS[name][1]
    pd.testing.assert_frame_equal(pd.DataFrame(x), pd.DataFrame(before))  # what the user passed is as it was


@pytest.mark.slow
def test_processes_pass_nothing_from_one_model_to_the_next(tmp_path):
    expected, _ = audited("power", False, gl.Here(), tmp_path / "plain", baseline=False)
    written, _ = audited("power", True, gl.Local(2), tmp_path / "writes", baseline=False)
    assert written == expected


@pytest.mark.slow
def test_a_torch_module_that_writes_on_its_input(tmp_path):
    torch = pytest.importorskip("torch")

    class Module(torch.nn.Module):
        def __init__(self, writes):
            super().__init__()
            self.writes, self.layer = writes, torch.nn.Linear(3, 2)

        def forward(self, x):
            return self.layer(x.log1p_() if self.writes else x.log1p())

    by_folder = {}
    for writes in (False, True):
        torch.manual_seed(0)
        x = X.astype(np.float32)
        members, others = sides(x)
        fit = gl.defences.Fit(epochs=2)
        target = gl.torch_target(Module(writes), train=fit, recipe="the same")
        folder = tmp_path / str(writes)
        gl.audit(target, members, others, references=2, engine=gl.Here(), folder=folder, progress=False, baseline=False)
        by_folder[writes] = arrays_in(folder)
        assert np.array_equal(x, X.astype(np.float32))
    assert by_folder[True] == by_folder[False]


@pytest.mark.slow
def test_a_game_and_a_defence_keep_the_records(tmp_path):
    for writes in (False, True):
        x, y = X.copy(), Y.copy()
        gl.play(gl.games.Sides(60, 60), power(writes), (x, y), references=2, jobs=1, folder=tmp_path / f"play-{writes}")
        held_out = Data(x[120:].copy(), y[120:])
        members, others = (x[:60], y[:60]), (x[60:120], y[60:120])
        small = gl.defences.Fit(epochs=1)
        guard = gl.defences.MemGuard(held_out, classifier=small, hidden=(4,), steps=2)
        target = gl.models.with_output_defence(power(writes).fit(members[0].copy(), members[1]), guard, members=members)
        gl.audit(target, members, others, references=2, jobs=1, folder=tmp_path / f"guard-{writes}", baseline=False)
        assert np.array_equal(x, X)
        assert np.array_equal(held_out.x, X[120:])
    for kind in ("play", "guard"):
        assert arrays_in(tmp_path / f"{kind}-True") == arrays_in(tmp_path / f"{kind}-False")


def test_records_that_change_during_the_work_stop_it(tmp_path):
    class Rewriting:
        def files(self, k, pool):
            pool.x[:] += 1
            return {}

    with pytest.raises(AuditError, match="Model 1 changed the records of the audit"):
        run(Rewriting(), tmp_path, Here())
    from engine_tasks import POOL

    POOL.x[:] -= 1


def test_a_checksum_detects_records_that_models_change():
    pools = [
        Data(X.copy(), Y), Data(TABLE.copy(), Y), Data(TEXTS.copy(), Y),
        Data(TABLE.assign(a=TABLE["a"].astype("Float64"), b=pd.Series(list("xy") * 80)), Y),
        Data(TABLE.assign(c=pd.Series(list("xy") * 80, dtype="category")), Y),
    ]  # fmt: skip
    for pool in pools:
        assert spot_digest(pool) == spot_digest(pool)
        changed = pool.take(np.arange(len(pool)))
        x = changed.x
        if isinstance(x, pd.DataFrame):
            x[x.columns[-1]] = x[x.columns[-1]].to_numpy()[::-1]
        else:
            x[:] = x[::-1].copy()
        assert spot_digest(changed) != spot_digest(pool)
    wide = np.zeros((5000, 1000))  # more than is read: some rows are
    before = spot_digest(Data(wide, np.zeros(5000)))
    wide += 1
    assert spot_digest(Data(wide, np.zeros(5000))) != before


def test_a_copy_keeps_its_memory_layout():
    for x in (np.asfortranarray(X), X, X[:, :2].T):
        assert copied(x).strides == np.array(x, order="K").strides
        assert not np.shares_memory(copied(x), x)
    taken = Data(TABLE, Y).take(np.arange(len(Y)))
    assert not np.shares_memory(taken.x["a"].to_numpy(), TABLE["a"].to_numpy())


class Leaving(LogisticRegression):
    """Changes the directory, or ends the process, in its training."""

    def __init__(self, action="chdir", destination="/"):
        super().__init__()
        self.action, self.destination = action, destination

    def fit(self, x, y):
        if self.action == "chdir":
            os.chdir(self.destination)
        elif self.action == "exit":
            sys.exit(3)
        return super().fit(x, y)


@pytest.mark.parametrize("when", ["fit", "query"])
def test_sys_exit_in_a_model_is_an_error_that_names_it(when):
    members, others = sides(X)
    if when == "fit":
        model = Leaving().fit(*members).set_params(action="exit")
        with pytest.raises(AuditError, match=r"Reference 1 .*sys\.exit\(3\)"):
            gl.audit(model, members, others, references=1, jobs=1, baseline=False)
        with pytest.raises(AuditError, match=r"Cannot train the target .*sys\.exit\(3\)"):
            gl.play(gl.games.Sides(40, 40), Leaving("exit"), (X, Y), references=0)
        return
    target = gl.function_target(lambda x: sys.exit("no licence"), classes=[0, 1])
    with pytest.raises(InputError, match=r"sys\.exit\('no licence'\)"):
        gl.audit(target, members, others, references=0)


@pytest.mark.slow
def test_a_fit_that_changes_the_directory_leaves_the_folder_where_it_was(tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    members, others = sides(X)
    model = Leaving(destination=str(tmp_path / "elsewhere")).fit(*members)
    os.chdir(tmp_path / "here")
    gl.audit(model, members, others, references=2, jobs=1, folder="audit", progress=False, baseline=False)
    assert Path.cwd() == tmp_path / "here"
    assert (tmp_path / "here" / "audit" / "results.json").exists()
    assert not list((tmp_path / "elsewhere").iterdir())
