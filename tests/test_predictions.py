import numpy as np
import pandas as pd
import pytest

import guestlist as gl
from guestlist.attacks.classifiers import labelled_features
from guestlist.attacks.learning import ROWS, balanced, hashes, learn
from guestlist.errors import FolderError, InputError
from guestlist.targets.predictions import read_predictions


@pytest.fixture
def answers():
    """300 records, 3 classes, members answered more surely; labels are positions."""
    rng = np.random.default_rng(0)
    labels, member = rng.integers(3, size=300), rng.random(300) < 0.5
    logits = rng.normal(size=(300, 3))
    logits[np.arange(300), labels] += 1 + member
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return {"probabilities": probabilities, "labels": labels, "member": member}, logits


@pytest.mark.slow
@pytest.mark.parametrize("defended", [False, True])
def test_published_predictions_give_the_published_table(defended, real_data):
    """Song & Mittal 2021, Table 4, Location30: balanced accuracy of the metric attacks, to the last printed digit."""
    published = np.load(real_data("location30_predictions.npz"))
    expected = {
        False: {"correctness": "68.7", "class_confidence": "76.3", "class_entropy": "61.6", "class_mentr": "78.1"},
        True: {"correctness": "68.7", "class_confidence": "69.1", "class_entropy": "52.1", "class_mentr": "68.8"},
    }[defended]

    def part(name):
        answers = published[f"{name}_{'defended_' if defended else ''}probs"].astype(np.float64)
        return gl.Predictions(
            answers, published[f"{name}_labels"].astype(int), published[f"{name}_member"].astype(bool)
        )

    found = gl.audit_predictions(part("target"), shadow=part("shadow"))
    for name, printed in expected.items():
        # Half a percent of 1000 records is exact in tenths of a percent: round half up, as the paper's digits are.
        accuracy = 100 * found.attack(name).balanced_accuracy.value
        assert f"{np.floor(10 * accuracy + 0.5 + 1e-9) / 10:.1f}" == printed, name


@pytest.mark.slow
def test_every_file_format_gives_the_same_numbers(answers, tmp_path):
    arrays, logits = answers
    table = pd.DataFrame(arrays["probabilities"], columns=["p_0", "p_1", "p_2"])
    table = table.assign(label=arrays["labels"], member=arrays["member"])
    np.savez(tmp_path / "a.npz", **arrays)
    np.savez(tmp_path / "b.npz", logits=logits, labels=arrays["labels"], member=arrays["member"].astype(int))
    table.to_csv(tmp_path / "c.csv", index=False)
    table.to_parquet(tmp_path / "d.parquet")
    found = [
        gl.audit_predictions(read_predictions(tmp_path / name)) for name in ("a.npz", "b.npz", "c.csv", "d.parquet")
    ]
    aucs = [one.attacks["auc"].round(9).tolist() for one in found]
    assert aucs.count(aucs[0]) == 4
    assert found[0].attack("loss").auc.value > 0.6


def test_without_a_shadow_only_bare_scores_run(answers):
    found = gl.audit_predictions(gl.Predictions(*_fields(answers)))
    assert {f.name for f in found.outcomes} == {"loss", "correctness", "confidence", "entropy", "mentr"}
    assert found.references is None
    assert found.attack("mentr").balanced_accuracy is None


def test_a_shadow_teaches_thresholds_on_records_of_its_own(answers):
    target, shadow = gl.Predictions(*_fields(answers)), gl.Predictions(*_fields(answers))
    found = gl.audit_predictions(target, shadow=shadow)
    assert found.attack("class_mentr").balanced_accuracy.value > 0.55
    assert len(found.records) == 300
    assert found.attack("class_mentr").unscored == 0


def test_a_shadow_teaches_networks_of_whole_answers(answers, tmp_path):
    """Each record is scored by the network that the shadow's own answers teach, written out here."""
    target, shadow = gl.Predictions(*_fields(answers)), _other(seed=1)
    found = gl.audit_predictions(target, shadow=shadow, folder=tmp_path / "a")
    assert {"nn_shokri", "nn_nasr"} <= {one.name for one in found.outcomes}
    log_p, own = (np.log(part.answers).astype(np.float32) for part in (shadow, target))
    taken = balanced(shadow.member, hashes(log_p, shadow.labels), ROWS)
    network = learn(labelled_features(log_p, shadow.labels)[taken], shadow.member[taken])
    expected = network(labelled_features(own, target.labels))
    rows = found.records["id"].str.removeprefix("row:").astype(int).to_numpy()
    np.testing.assert_allclose(found.records["score_nn_nasr"], expected[rows], rtol=1e-6)
    assert found.attack("nn_nasr").unscored == 0
    again = gl.read_case(tmp_path / "a")
    scores = again.attacks["nn_nasr"].score(again.view)[again.truth.asked]
    np.testing.assert_allclose(scores, expected[again.records["row"][again.truth.asked]], rtol=1e-6)


def test_networks_find_what_the_true_class_does_not_tell():
    """Members are told by a class that is not theirs: nothing that reads the true class, or entropy, knows of it."""
    target, shadow = (_other(seed=seed, told_by_another_class=True) for seed in (0, 1))
    found = gl.audit_predictions(target, shadow=shadow, blind=False)
    assert abs(found.attack("class_mentr").auc.value - 0.5) < 0.1
    assert found.attack("nn_nasr").auc.value > 0.9


def test_networks_need_a_shadow_and_classes(answers):
    target = gl.Predictions(*_fields(answers))
    with pytest.raises(InputError, match=r"nn_nasr learns from what a shadow model answers .* give shadow="):
        gl.audit_predictions(target, attacks=["loss", "nn_nasr"])
    values = gl.Predictions(np.arange(6.0), np.arange(6.0), np.arange(6) < 3, scale="values")
    assert "nn_nasr" not in {one.name for one in gl.audit_predictions(values, shadow=values, blind=False).outcomes}


def test_other_predictions_are_refused_by_the_folder(answers, tmp_path):
    predictions = gl.Predictions(*_fields(answers))
    gl.audit_predictions(predictions, folder=tmp_path / "a")
    before = (tmp_path / "a" / "results.json").read_bytes()
    gl.audit_predictions(predictions, folder=tmp_path / "a")
    assert (tmp_path / "a" / "results.json").read_bytes() == before
    other = gl.Predictions(predictions.answers[::-1].copy(), predictions.labels, predictions.member)
    with pytest.raises(FolderError, match="other records"):
        gl.audit_predictions(other, folder=tmp_path / "a")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"member": None}, "Expected the arrays 'labels', 'member'"),
        ({"probabilities": None}, "one of 'probabilities', 'probs', 'logits'"),
        ({"member": np.ones(300)}, "All 300 records are members"),
        ({"member": np.full(300, 2)}, "true/false or 1/0, found 2"),
        ({"labels": np.full(300, 5)}, "300 labels are not in 0 … 2, first 5 in row 0"),
        ({"labels": np.zeros(300)}, "as whole numbers"),
        ({"labels": np.zeros(7, int)}, "Expected 300 values of 'labels'"),
        ({"probabilities": np.ones((300, 3))}, "not probabilities"),
        ({"probabilities": np.ones(300)}, "two classes or more"),
        ({"ids": np.array(["a", "b"])}, "Expected 300 values of 'ids'"),
    ],
)
def test_wrong_files_say_what_was_found(answers, change, message, tmp_path):
    arrays = {name: value for name, value in {**answers[0], **change}.items() if value is not None}
    np.savez(tmp_path / "wrong.npz", **arrays)
    with pytest.raises(InputError, match=message):
        read_predictions(tmp_path / "wrong.npz")


def test_wrong_tables_say_what_was_found(answers, tmp_path):
    pd.DataFrame({"label": [0], "p_0": [1.0], "p_1": [0.0]}).to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(InputError, match="lacks the columns 'member'"):
        read_predictions(tmp_path / "a.csv")
    pd.DataFrame({"label": [0, 3], "member": [0, 1], "p_0": 1.0, "p_1": 0.0}).to_csv(tmp_path / "b.csv", index=False)
    with pytest.raises(InputError, match="labels without a column p_<label>: 3"):
        read_predictions(tmp_path / "b.csv")
    pd.DataFrame({"label": [0, 1], "member": [0, 1], "p_0": ["x", "y"], "p_1": 0.0}).to_csv(tmp_path / "d.csv")
    with pytest.raises(InputError, match="not numbers: p_0"):
        read_predictions(tmp_path / "d.csv")
    grouped = pd.DataFrame({"label": [0, 1], "member": [0, 1], "p_0": [1.0, 0], "p_1": [0.0, 1], "p_grp": ["a", "b"]})
    grouped.to_csv(tmp_path / "e.csv", index=False)
    assert read_predictions(tmp_path / "e.csv", group=["p_grp"]).groups["p_grp"].tolist() == ["a", "b"]
    np.savez(tmp_path / "f.npz", **answers[0])
    with pytest.raises(InputError, match="no columns to take groups"):
        read_predictions(tmp_path / "f.npz", group=["sex"])
    (tmp_path / "c.npz").write_bytes(b"")
    with pytest.raises(InputError, match="cannot be read as npz"):
        read_predictions(tmp_path / "c.npz")


def _other(seed, *, told_by_another_class=False):
    """300 other records; or ones whose members prefer, of the two wrong classes, the one after their own."""
    rng = np.random.default_rng(seed)
    labels, member = rng.integers(3, size=300), rng.random(300) < 0.5
    rows, logits = np.arange(300), rng.normal(size=(300, 3))
    if told_by_another_class:
        larger = np.sort(logits[:, :2], axis=1)  # the same two values, whichever class has the larger one
        after, before = (labels + 1) % 3, (labels + 2) % 3
        logits[rows, after], logits[rows, before] = (
            larger[rows, member.astype(int)],
            larger[rows, 1 - member.astype(int)],
        )
        logits[rows, labels] = rng.normal(size=300)
    else:
        logits[rows, labels] += 1 + member
    powers = np.exp(logits)
    return gl.Predictions(powers / powers.sum(axis=1, keepdims=True), labels, member)


def _fields(answers):
    return answers[0]["probabilities"], answers[0]["labels"], answers[0]["member"]
