"""Ways in which evidence could mislead or get in the way, each shown not to."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import guestlist as gl
from guestlist import AuditError, InputError
from guestlist._findings.hypothesis_tests import levels_of, smallest_p_value
from guestlist._report.diagnostics import sentence
from guestlist._store import open_store
from guestlist._views import Evidence, QuantilesView, Signals
from guestlist.metrics import auc


def draw(records, seed, features=4):
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=records)
    return rng.normal(size=(records, features)) + y[:, None], y


MEMBERS, NONMEMBERS = draw(60, 0), draw(60, 1)


def guessing(seed=0):
    """A target that learns nothing: whatever an attack finds in it is not there."""

    def train(data, rng):
        shift = rng.normal()
        return lambda x: np.column_stack([np.zeros(len(x)), shift + np.sin(1e6 * x[:, 0])])

    rng = np.random.default_rng(seed)
    return gl.function_target(train(None, rng), classes=[0, 1], train=train, scale="logits", recipe="guess")


@pytest.mark.slow
def test_growing_what_is_left_out_leaves_every_record_as_many_models(tmp_path):
    """With fewer models for members than for non-members, their number alone would tell them apart."""
    audit = {"references": 0, "attacks": ["leave_one_out_empirical"], "folder": tmp_path, "jobs": 1}
    gl.audit(guessing(), MEMBERS, NONMEMBERS, evidence=[gl.evidence.LeftOut(records=12, models=2)], **audit)
    gl.audit(guessing(), MEMBERS, NONMEMBERS, evidence=[gl.evidence.LeftOut(records=1, models=6)], **audit)
    models = gl.evidence.LeftOut.read(open_store(tmp_path))
    models_per_record = np.isfinite(models.values["loss"]).sum(axis=0)
    assert sorted(models_per_record[models_per_record > 0]) == [6] * 24
    path = next((tmp_path / "evidence" / "left_out").glob("record-*.npz"))
    path.unlink()  # as after a kill: what there is, is cut to what all have
    store, other = open_store(tmp_path), path.with_name(sorted(_records(path))[0])
    store.write(other, {name: values[:3] for name, values in store.read(other).items()})
    assert len(gl.evidence.LeftOut.read(store).member) == 3


def _records(path):
    return [other.name for other in path.parent.glob("record-*.npz")]


@pytest.mark.slow
def test_training_without_randomness_is_reported():
    model = LogisticRegression().fit(*MEMBERS)
    results = gl.audit(
        model,
        MEMBERS,
        NONMEMBERS,
        draw(60, 2),
        references=0,
        jobs=1,
        evidence=[gl.evidence.LeftOut(records=10, models=2), gl.evidence.Distilled(models=3, records="population")],
    )
    assert results.attack("leave_one_out").auc.value == 1
    for code in ("GL107", "GL108"):
        assert results.check(code).state == "issue"
        assert "training has no randomness" in sentence(results.check(code))


@pytest.mark.slow
def test_distilled_models_do_not_all_train_on_the_same_records(tmp_path):
    model = DecisionTreeClassifier(random_state=0).fit(*MEMBERS)
    population = draw(60, 2)
    gl.audit(
        model,
        MEMBERS,
        NONMEMBERS,
        population,
        references=0,
        jobs=1,
        evidence=[gl.evidence.Distilled(models=3)],
        folder=tmp_path,
    )
    member = gl.evidence.Distilled.read(open_store(tmp_path)).member
    assert len({row.tobytes() for row in member}) == 3


def test_a_quantile_test_reaches_what_its_calibration_allows():
    signals = Signals({"margin": np.zeros((1, 40))}, np.zeros((0, 40), bool), np.zeros(40, int))
    view = QuantilesView(np.zeros(40), np.full(40, 0.5), np.linspace(-2, 2, 999))
    signals = replace(signals, evidence=Evidence({"quantiles": view}))
    attack, evaluated, member = gl.attacks.ATTACKS["quantile"], np.ones(40, bool), np.arange(40) < 20
    assert smallest_p_value(attack, signals, evaluated) == 1 / 1000
    assert [level.alpha for level in levels_of(attack, attack.p_value(signals), signals, evaluated, member)] == [
        0.01,
        0.05,
        0.1,
        0.3,
    ]


@pytest.mark.slow
def test_what_was_begun_is_finished_by_the_next_run(tmp_path):
    model = DecisionTreeClassifier(random_state=0).fit(*MEMBERS)
    audit = {"references": 0, "jobs": 1, "folder": tmp_path}
    also = [gl.evidence.Distilled(models=4), gl.evidence.Perturbed(copies=3)]
    first = gl.audit(model, MEMBERS, NONMEMBERS, evidence=also, **audit)
    for name in ("distilled/model-0002.npz", "distilled/model-0003.npz", "perturbed/copy-0001.npz"):
        (tmp_path / "evidence" / name).unlink()
    again = gl.audit(model, MEMBERS, NONMEMBERS, **audit)
    assert again.document() == first.document()


def test_another_way_to_distil_is_another_recipe(tmp_path):
    def first(data, soft, rng):
        return lambda x: np.full((len(x), 2), 0.5)

    def other(data, soft, rng):
        return lambda x: np.full((len(x), 2), [0.4, 0.6])

    def train(data, rng):
        return lambda x: np.full((len(x), 2), 0.5)

    targets = [
        gl.function_target(lambda x: np.full((len(x), 2), 0.5), classes=[0, 1], train=train, distil=distil)
        for distil in (first, other)
    ]
    assert targets[0].recipe != targets[1].recipe


@pytest.mark.slow
def test_a_plan_that_fails_leaves_the_folder_usable(tmp_path):
    table = pd.DataFrame({"a": MEMBERS[0][:, 0], "b": np.where(MEMBERS[0][:, 1] > 0, "x", "y")})

    def predict(x):
        known = x["a"].isin(table["a"])
        if not known.all():
            raise RuntimeError("a value that was never seen")
        return np.full((len(x), 2), 0.5)

    target = gl.function_target(predict, classes=[0, 1])
    half = (table[:30], MEMBERS[1][:30]), (table[30:], MEMBERS[1][30:])
    with pytest.raises(AuditError, match="never seen"):
        gl.audit(target, *half, references=0, evidence=[gl.evidence.Perturbed(copies=2)], folder=tmp_path)
    assert gl.audit(target, *half, references=0, folder=tmp_path).attack("loss")


@pytest.mark.slow
def test_the_split_is_there_before_any_model(tmp_path, monkeypatch):
    """Killed while references predict every class, the folder can still be read."""
    model = DecisionTreeClassifier(random_state=0).fit(*MEMBERS)
    audit = {"jobs": 1, "folder": tmp_path}
    gl.audit(model, MEMBERS, NONMEMBERS, references=2, **audit)
    monkeypatch.setattr("guestlist._audit.flow.train_references", _interrupted)
    with pytest.raises(KeyboardInterrupt):
        gl.audit(model, MEMBERS, NONMEMBERS, references=4, evidence=[gl.evidence.FullOutputs()], **audit)
    assert open_store(tmp_path).rotation().facing(0).references == 4


def _interrupted(*arguments, **options):
    raise KeyboardInterrupt


@pytest.mark.slow
def test_a_white_box_keeps_no_features(tmp_path):
    torch = pytest.importorskip("torch")

    class Keyword(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.last = torch.nn.Linear(4, 2)

        def forward(self, x):
            return self.last(input=x)

    target = gl.torch_target(Keyword())
    x = MEMBERS[0].astype(np.float32), MEMBERS[1]
    gl.audit(
        target,
        x,
        (NONMEMBERS[0].astype(np.float32), NONMEMBERS[1]),
        references=0,
        evidence=[gl.evidence.WhiteBox()],
        folder=tmp_path,
    )
    features = np.load(tmp_path / "evidence" / "white_box" / "features.npz")["features"]
    assert not any(np.allclose(features[:60, i], x[0][:, j]) for i in range(features.shape[1]) for j in range(4))


@pytest.mark.slow
def test_a_users_attack_may_read_evidence():
    def mine(signals):
        return signals.evidence.need("perturbed").share

    model = DecisionTreeClassifier(random_state=0).fit(*MEMBERS)
    also = [gl.evidence.Perturbed(copies=3)]
    results = gl.audit(model, MEMBERS, NONMEMBERS, references=9, jobs=1, attacks=["loss", mine], evidence=also)
    assert results.headline.name == "loss"
    records = results.records
    assert auc(records["score_mine"].to_numpy(), records["member"].to_numpy()).value == results.attack("mine").auc.value


@pytest.mark.slow
def test_what_was_not_run_was_not_tested():
    model = DecisionTreeClassifier(random_state=0).fit(*MEMBERS)
    results = gl.audit(model, MEMBERS, NONMEMBERS, references=0, attacks=["loss"])
    both = gl.audit(model, MEMBERS, NONMEMBERS, references=0, attacks=["leaf_shares", "loss"])
    assert "parameters" in results.untested
    assert "parameters" not in both.untested
    assert both.headline.name == "loss"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:pandas.DataFrame with sparse")
def test_sparse_columns_are_perturbed():
    frames = [
        pd.get_dummies(pd.Series(y.astype(str)), sparse=True, dtype=float).assign(a=x[:, 0])
        for x, y in (MEMBERS, NONMEMBERS)
    ]
    model = DecisionTreeClassifier(random_state=0).fit(frames[0], MEMBERS[1])
    sides = (frames[0], MEMBERS[1]), (frames[1], NONMEMBERS[1])
    assert gl.audit(model, *sides, references=0, evidence=[gl.evidence.Perturbed(copies=2)]).attack("label_only")


def test_slips_are_reported_in_words():
    model = DecisionTreeClassifier(random_state=0).fit(*MEMBERS)
    with pytest.raises(InputError, match="evidence="):
        gl.audit(model, MEMBERS, NONMEMBERS, evidence=gl.evidence.Perturbed())
    with pytest.raises(ValueError, match=r"models=2\.5 to be an integer"):
        gl.evidence.Distilled(models=2.5)
    predictions = gl.Predictions(np.full((4, 2), 0.5), np.zeros(4, int), np.arange(4) < 2)
    with pytest.raises(InputError, match="needs the model"):
        gl.audit_predictions(predictions, attacks=["distillation"])
    with pytest.raises(InputError, match="cannot read members"):
        gl.risks.leaf_risk(model, (np.zeros((5, 7)), np.zeros(5, int)))
    with pytest.raises(InputError, match="is empty"):
        gl.risks.leaf_risk(model, (np.zeros((0, 4)), np.zeros(0, int)))
