from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import guestlist as gl
from guestlist import InputError, read_predictions
from guestlist.attacks import ROWS, balanced, hashes, learn
from guestlist.attacks.classifiers import labelled_features
from guestlist.errors import FolderError
from guestlist.risks import members_by_risk


@pytest.fixture
def outputs():
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
        outputs = published[f"{name}_{'defended_' if defended else ''}probs"].astype(np.float64)
        return gl.Predictions(
            outputs, published[f"{name}_labels"].astype(int), published[f"{name}_member"].astype(bool)
        )

    results = gl.audit_predictions(part("target"), shadow=part("shadow"))
    for name, printed in expected.items():
        # Half a percent of 1000 records is exact in tenths of a percent: round half up, as the paper's digits are.
        accuracy = 100 * results.attack(name).balanced_accuracy.value
        assert f"{np.floor(10 * accuracy + 0.5 + 1e-9) / 10:.1f}" == printed, name


@pytest.mark.slow
def test_every_file_format_gives_the_same_numbers(outputs, tmp_path):
    arrays, logits = outputs
    table = pd.DataFrame(arrays["probabilities"], columns=["p_0", "p_1", "p_2"])
    table = table.assign(label=arrays["labels"], member=arrays["member"])
    np.savez(tmp_path / "a.npz", **arrays)
    np.savez(tmp_path / "b.npz", logits=logits, labels=arrays["labels"], member=arrays["member"].astype(int))
    table.to_csv(tmp_path / "c.csv", index=False)
    table.to_parquet(tmp_path / "d.parquet")
    results = [
        gl.audit_predictions(read_predictions(tmp_path / name)) for name in ("a.npz", "b.npz", "c.csv", "d.parquet")
    ]
    aucs = [result.attacks["auc"].round(9).tolist() for result in results]
    assert aucs.count(aucs[0]) == 4
    assert results[0].attack("loss").auc.value > 0.6


@pytest.mark.slow
def test_without_a_shadow_only_bare_scores_run(outputs):
    results = gl.audit_predictions(gl.Predictions(*_fields(outputs)))
    assert {f.name for f in results.outcomes} == {"loss", "correctness", "confidence", "entropy", "mentr"}
    assert results.references is None
    assert results.attack("mentr").balanced_accuracy is None


@pytest.mark.slow
def test_a_shadow_model_fits_thresholds_on_its_own_records(outputs):
    target, shadow = gl.Predictions(*_fields(outputs)), _other(seed=1)
    results = gl.audit_predictions(target, shadow=shadow)
    assert results.attack("class_mentr").balanced_accuracy.value > 0.55
    assert len(results.records) == 300
    assert results.attack("class_mentr").unscored == 0


@pytest.mark.slow
def test_a_shadow_model_trains_networks_on_full_outputs(outputs, tmp_path):
    """Each record is scored by the network that is trained on the shadow model's outputs, written out here."""
    target, shadow = gl.Predictions(*_fields(outputs)), _other(seed=1)
    results = gl.audit_predictions(target, shadow=shadow, folder=tmp_path / "a")
    assert {"nn_shokri", "nn_nasr"} <= {outcome.name for outcome in results.outcomes}
    log_p, target_log_p = (np.log(part.outputs).astype(np.float32) for part in (shadow, target))
    taken = balanced(shadow.member, hashes(log_p, shadow.labels), ROWS)
    network = learn(labelled_features(log_p, shadow.labels)[taken], shadow.member[taken])
    expected = network(labelled_features(target_log_p, target.labels))
    rows = results.records["id"].str.removeprefix("row:").astype(int).to_numpy()
    np.testing.assert_allclose(results.records["score_nn_nasr"], expected[rows], rtol=1e-6)
    assert results.attack("nn_nasr").unscored == 0
    again = gl.read_case(tmp_path / "a")
    scores = again.attacks["nn_nasr"].score(again.view)[again.truth.evaluated]
    np.testing.assert_allclose(scores, expected[again.records["row"][again.truth.evaluated]], rtol=1e-6)


@pytest.mark.slow
def test_networks_find_what_the_true_class_does_not_tell():
    """Members differ in the probability of a wrong class: attacks that read the true class or entropy cannot see it."""
    target, shadow = (_other(seed=seed, told_by_another_class=True) for seed in (0, 1))
    results = gl.audit_predictions(target, shadow=shadow, baseline=False)
    assert abs(results.attack("class_mentr").auc.value - 0.5) < 0.1
    assert results.attack("nn_nasr").auc.value > 0.9


def test_networks_need_a_shadow_and_classes(outputs):
    target = gl.Predictions(*_fields(outputs))
    with pytest.raises(InputError, match=r"nn_nasr .*shadow= \(--shadow\)"):
        gl.audit_predictions(target, attacks=["loss", "nn_nasr"])
    values = gl.Predictions(np.arange(6.0), np.arange(6.0), np.arange(6) < 3, scale="values")
    shadow = gl.Predictions(np.arange(6.0) + 1, np.arange(6.0), np.arange(6) < 3, scale="values")
    assert "nn_nasr" not in {
        outcome.name for outcome in gl.audit_predictions(values, shadow=shadow, baseline=False).outcomes
    }


@pytest.mark.parametrize("name", ["lira", "base", "rmia_offline"])
def test_attacks_that_compare_models_on_a_record_need_the_model(name, outputs):
    target = gl.Predictions(*_fields(outputs))
    for shadow in (None, _other(seed=1)):
        with pytest.raises(InputError, match=f"{name} needs the model"):
            gl.audit_predictions(target, shadow=shadow, attacks=[name])


def test_attacks_on_thresholds_ask_for_a_shadow(outputs):
    with pytest.raises(InputError, match=r"class_mentr .*shadow= \(--shadow\)"):
        gl.audit_predictions(gl.Predictions(*_fields(outputs)), attacks=["class_mentr"])


@pytest.mark.slow
def test_other_predictions_are_refused_by_the_folder(outputs, tmp_path):
    predictions = gl.Predictions(*_fields(outputs))
    gl.audit_predictions(predictions, folder=tmp_path / "a")
    before = (tmp_path / "a" / "results.json").read_bytes()
    gl.audit_predictions(predictions, folder=tmp_path / "a")
    assert (tmp_path / "a" / "results.json").read_bytes() == before
    other = gl.Predictions(predictions.outputs[::-1].copy(), predictions.labels, predictions.member)
    with pytest.raises(FolderError, match="different records"):
        gl.audit_predictions(other, folder=tmp_path / "a")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"member": None}, "the arrays 'labels', 'member'"),
        ({"probabilities": None}, "one of 'probabilities', 'probs', 'logits'"),
        ({"member": np.ones(300)}, "All 300 records are members"),
        ({"member": np.full(300, 2)}, "true/false or 1/0; found 2"),
        ({"labels": np.full(300, 5)}, "300 labels are not in 0 … 2, first 5 in row 0"),
        ({"labels": np.zeros(300)}, "must be integers"),
        ({"labels": np.zeros(7, int)}, "'labels' must have 300 values"),
        ({"probabilities": np.ones((300, 3))}, "not probabilities"),
        ({"probabilities": np.ones(300)}, "at least two classes"),
        ({"ids": np.array(["a", "b"])}, "'ids' must have 300 values"),
    ],
)
def test_wrong_files_report_the_contents(outputs, change, message, tmp_path):
    arrays = {name: value for name, value in {**outputs[0], **change}.items() if value is not None}
    np.savez(tmp_path / "wrong.npz", **arrays)
    with pytest.raises(InputError, match=message):
        read_predictions(tmp_path / "wrong.npz")


def test_wrong_tables_report_the_contents(outputs, tmp_path):
    pd.DataFrame({"label": [0], "p_0": [1.0], "p_1": [0.0]}).to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(InputError, match="has no column 'member'"):
        read_predictions(tmp_path / "a.csv")
    pd.DataFrame({"label": [0, 3], "member": [0, 1], "p_0": 1.0, "p_1": 0.0}).to_csv(tmp_path / "b.csv", index=False)
    with pytest.raises(InputError, match="labels without an output column: 3"):
        read_predictions(tmp_path / "b.csv")
    pd.DataFrame({"label": [0, 1], "member": [0, 1], "p_0": ["x", "y"], "p_1": 0.0}).to_csv(tmp_path / "d.csv")
    with pytest.raises(InputError, match="not numbers: p_0"):
        read_predictions(tmp_path / "d.csv")
    grouped = pd.DataFrame({"label": [0, 1], "member": [0, 1], "p_0": [1.0, 0], "p_1": [0.0, 1], "p_grp": ["a", "b"]})
    grouped.to_csv(tmp_path / "e.csv", index=False)
    assert read_predictions(tmp_path / "e.csv", group=["p_grp"]).groups["p_grp"].tolist() == ["a", "b"]
    np.savez(tmp_path / "f.npz", **outputs[0])
    with pytest.raises(InputError, match="no columns to read groups"):
        read_predictions(tmp_path / "f.npz", group=["sex"])
    (tmp_path / "c.npz").write_bytes(b"")
    with pytest.raises(InputError, match="as npz"):
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


def _fields(outputs):
    return outputs[0]["probabilities"], outputs[0]["labels"], outputs[0]["member"]


# -- a table as it comes -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def people():
    """60 records, two classes that are words, members answered more surely."""
    rng = np.random.default_rng(1)
    yes, member = rng.random(60) < 0.5, np.arange(60) % 2 == 0
    sure = np.clip(np.where(yes, 0.6, 0.4) + np.where(yes, 0.2, -0.2) * member + rng.normal(0, 0.05, 60), 0, 1)
    return pd.DataFrame({"y_true": np.where(yes, "yes", "no"), "is_train": member.astype(int), "prob_yes": sure})


def written(table, path, **options):
    table.to_csv(path, index=False, **options)
    return path


OWN = {"label": "y_true", "member": "is_train", "probability": "prob_yes"}


def test_a_user_defined_table_is_read_unchanged(people, tmp_path):
    expected = np.column_stack([1 - people["prob_yes"], people["prob_yes"]])
    predictions = read_predictions(written(people, tmp_path / "a.csv"), **OWN)
    assert np.allclose(predictions.outputs, expected)
    assert predictions.classes.tolist() == ["no", "yes"]
    assert predictions.labels.tolist() == (people["y_true"] == "yes").astype(int).tolist()
    both = people.assign(prob_no=1 - people["prob_yes"])
    as_pattern = read_predictions(written(both, tmp_path / "b.csv"), **{**OWN, "probability": "prob_{}"})
    assert dict(zip(as_pattern.classes, as_pattern.outputs.T.tolist(), strict=True)) == {
        "yes": pytest.approx(both["prob_yes"].tolist(), rel=1e-14),  # older versions of pandas miss the last digit
        "no": pytest.approx(both["prob_no"].tolist(), rel=1e-14),
    }
    assert [as_pattern.classes[k] for k in as_pattern.labels] == people["y_true"].tolist()


@pytest.mark.parametrize(
    ("columns", "named"),
    [
        ({"member": "y_true"}, ("the label", "the member")),
        ({"probability": "y_true"}, ("the label", "the probability")),
        ({"probability": "is_train"}, ("the member", "the probability")),
        ({"id": "y_true"}, ("the label", "the id")),
        ({"person": "is_train"}, ("the member", "the person")),
        ({"group": ["sex", "is_train"]}, ("the member", "a group")),
        ({"group": ["y_true"]}, ("the label", "a group")),
        ({"id": "prob_yes"}, ("the probability", "the id")),
        ({"probability": None, "label": "predicted", "scale": "values"}, ("the label", "the probability")),
    ],
)
def test_one_column_in_two_roles_is_refused(columns, named, people, tmp_path):
    path = written(people.assign(sex="f", predicted=0.5), tmp_path / "a.csv")
    with pytest.raises(InputError, match=r"Column '\w+' is passed both as .*another column") as caught:
        read_predictions(path, **{**OWN, **columns})
    assert all(role in str(caught.value) for role in named)
    shared = read_predictions(path, **OWN, id="sex", person="sex", group=["sex"])
    assert shared.ids.tolist() == shared.persons.tolist()


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_any_separator_will_do_and_a_decimal_comma(people, tmp_path, separator):
    path = written(people, tmp_path / "a.csv", sep=separator, decimal="," if separator == ";" else ".")
    assert np.allclose(read_predictions(path, **OWN).outputs[:, 1], people["prob_yes"])


def test_the_probability_of_one_class_must_name_the_class(people, tmp_path):
    path = written(people.rename(columns={"prob_yes": "score"}), tmp_path / "a.csv")
    with pytest.raises(InputError, match=r"'score' .*no, yes.*--positive"):
        read_predictions(path, **{**OWN, "probability": "score"})
    predictions = read_predictions(path, **{**OWN, "probability": "score"}, positive="no")
    assert predictions.classes.tolist() == ["yes", "no"]
    numbers = people.assign(y_true=(people["y_true"] == "yes"), score=people["prob_yes"])
    for kind in (bool, int, float):
        path = written(numbers.assign(y_true=numbers["y_true"].astype(kind)), tmp_path / "n.csv")
        predictions = read_predictions(path, **{**OWN, "probability": "score"})
        assert predictions.labels.tolist() == numbers["y_true"].astype(int).tolist()


def test_labels_are_matched_with_their_own_column(tmp_path):
    base = pd.DataFrame({"member": [1, 0, 1, 0], "p_0": [0.9, 0.2, 0.6, 0.3], "p_1": [0.1, 0.8, 0.4, 0.7]})
    truth = [0, 1, 0, 1]
    for labels in (
        truth,
        [0.0, 1.0, 0.0, 1.0],
        pd.Categorical(truth),
        pd.array(truth, "Int64"),
        [False, True, False, True],
    ):
        path = tmp_path / "a.parquet"
        base.assign(label=labels).to_parquet(path)
        assert read_predictions(path).labels.tolist() == truth
    renamed = base.rename(columns={"p_0": "p_FALSE", "p_1": "p_TRUE"}).assign(label=[False, True, False, True])
    assert read_predictions(written(renamed, tmp_path / "r.csv")).labels.tolist() == truth
    for labels, message in (
        (pd.to_datetime(["2020-01-01"] * 4), "dates as labels"),
        ([0, None, 1, 1], "1 records without a label, first in row 1"),
        ([0.5, 1, 0, 1], "labels without an output column: 0.0, 0.5, 1.0"),
        (["no", "yes", "no", "yes"], "labels without an output column: no, yes"),
    ):
        base.assign(label=labels).to_parquet(tmp_path / "b.parquet")
        with pytest.raises(InputError, match=message):
            read_predictions(tmp_path / "b.parquet")


def test_a_column_that_only_resembles_a_prediction_is_refused(tmp_path):
    table = pd.DataFrame({"label": [0, 1], "member": [1, 0], "z_0": [1.0, 2], "z_1": [3.0, 1], "z_score": [9.0, 9]})
    with pytest.raises(InputError, match="match no label: z_score"):
        read_predictions(written(table.drop(columns="label"), tmp_path / "c.csv"), labelled=False)
    with pytest.raises(InputError, match="match no label: z_score"):
        read_predictions(written(table, tmp_path / "a.csv"))
    unseen = table.rename(columns={"z_score": "z_2"})  # a class that no record has
    assert read_predictions(written(unseen, tmp_path / "b.csv")).outputs.shape == (2, 3)


def test_arrays_are_read_row_by_row_and_missing_values_refused(outputs):
    arrays, _ = outputs
    inputs = arrays["probabilities"], arrays["labels"], arrays["member"]
    turned = pd.Series(np.where(arrays["member"], "in", "out"), index=np.arange(300)[::-1])
    predictions = gl.Predictions(*inputs, groups={"side": turned})
    assert (predictions.groups["side"] == np.where(arrays["member"], "in", "out")).all()
    unsure = np.where(arrays["labels"] == 0, np.nan, arrays["member"])
    hidden = np.ma.masked_array(arrays["labels"], mask=arrays["labels"] == 0)
    for wrong, message in (
        ((inputs[0], inputs[1], unsure), "'member' must hold true/false or 1/0; found nan"),
        ((inputs[0], inputs[1], pd.array(arrays["member"], "boolean").copy()), None),
        ((inputs[0], hidden, inputs[2]), "'labels' without masked values"),
        ((inputs[0], inputs[1], np.ma.masked_array(inputs[2], hidden.mask)), "'member' without masked values"),
        (
            (inputs[0], inputs[1], pd.array([None, *inputs[2][1:]], "boolean")),
            "true/false or 1/0; found <NA> in 1 records",
        ),
        ((inputs[0], pd.array([None, *inputs[1][1:]], "Int64"), inputs[2]), "labels"),
        ((inputs[0], pd.to_datetime(inputs[1]), inputs[2]), "'labels' as numbers, found datetime64"),
        ((inputs[0], pd.Categorical(inputs[1].astype(str)), inputs[2]), "'labels' as numbers"),
        ((inputs[0], pd.array(inputs[1].astype(str), "string"), inputs[2]), "'labels' as numbers"),
        ((inputs[0], arrays["labels"] == 1, inputs[2]), "'labels' must be numbers; found bool"),
        ((inputs[0], arrays["labels"] + 0.5, inputs[2]), "not in 0 … 2, first"),
        ((inputs[0], arrays["labels"].astype(str), inputs[2]), "'labels' as numbers, found <U"),
        ((inputs[0], arrays["labels"].astype(str).astype(object), inputs[2]), "'labels' as numbers, found object"),
        (
            ([*inputs[0].tolist()[:-1], [1.0]], inputs[1], inputs[2]),
            "'outputs' as an array, one value or one row per record",
        ),
    ):
        if message is None:
            gl.Predictions(*wrong)
        else:
            with pytest.raises(InputError, match=message):
                gl.Predictions(*wrong)
    with pytest.raises(ValueError, match="scale='Logits'"):
        gl.Predictions(*inputs, scale="Logits")


@pytest.mark.slow
def test_without_labels_only_attacks_that_need_none_run(people, tmp_path):
    path = written(people.drop(columns="y_true"), tmp_path / "a.csv")
    with pytest.raises(InputError, match=r"label= \(--label\).*labelled=False \(--no-labels\)"):
        read_predictions(path, member="is_train", probability="prob_yes")
    results = gl.audit_predictions(read_predictions(path, member="is_train", probability="prob_yes", labelled=False))
    assert [outcome.name for outcome in results.outcomes] == ["entropy"]
    assert results.attack("entropy").auc.value > 0.8
    assert results.subject.accuracy_members is None
    assert results.check("GL122").state == "issue"
    assert "without labels" in results.summary(verbose=True)
    assert results.baseline is None  # without a query the output of the model is not known


def test_without_labels_only_features_are_known_without_the_model(people):
    outputs = np.column_stack([1 - people["prob_yes"], people["prob_yes"]])
    features = pd.DataFrame({"age": np.random.default_rng(0).normal(size=60)})
    options = {"member": people["is_train"].astype(bool), "features": features}
    baselines = {
        labelled: gl.audit_predictions(
            gl.Predictions(outputs, (people["y_true"] == "yes").astype(int), **options, labelled=labelled)
        ).baseline
        for labelled in (True, False)
    }
    assert baselines[True].inputs == ("features", "label")
    assert baselines[False].inputs == ("features",)


def test_without_labels_no_prediction_is_used_as_a_label(people, tmp_path):
    outputs = np.column_stack([1 - people["prob_yes"], people["prob_yes"]])
    member, sex = people["is_train"].astype(bool), np.where(np.arange(60) % 3, "f", "m")
    predictions = gl.Predictions(outputs, None, member, classes=["no", "yes"], groups={"sex": sex}, labelled=False)
    results = gl.audit_predictions(predictions, folder=tmp_path / "a")
    assert (results.records["label"] == "").all()
    assert {kind.kind for kind in (*results.group_risks.judged, *results.group_risks.small)} == {"group"}
    page = results.to_html(tmp_path / "a.html").read_text()
    assert "label = " not in page
    assert ">Label</th>" not in page
    alone = gl.audit_predictions(replace(predictions, groups={}))
    assert alone.group_risks is None
    assert "Risk by group and class" not in alone.to_html(tmp_path / "b.html").read_text()
    again = gl.read_results(tmp_path / "a")  # the folder can still be read
    assert (again.records["label"] == "").all()
    with pytest.raises(InputError, match="'shapr'"):
        members_by_risk(gl.read_case(tmp_path / "a"), ["shapr"])
    audited_results = gl.audit_predictions(
        replace(predictions, labels=people["y_true"].eq("yes").to_numpy(int), labelled=True)
    )
    assert {"no", "yes"} == set(audited_results.records["label"])
    assert "class" in {group.kind for group in audited_results.group_risks.judged}
    assert ">Label</th>" in audited_results.to_html(tmp_path / "c.html").read_text()
