"""The examples run unchanged, and print the documented output."""

import runpy
import warnings
from pathlib import Path

import pytest

import guestlist as gl

EXAMPLES = Path(__file__).parents[1] / "examples"
# What an example needs beyond guestlist itself, and a word that it prints.
NEEDS = {
    "sklearn_forest": ((), "RandomForestClassifier"),
    "boosted_trees": (("xgboost", "lightgbm"), "LGBMClassifier"),
    "native_boosters": (("xgboost", "lightgbm"), "lightgbm.Booster"),
    "catboost_categories": (("catboost",), "town"),
    "torch_network": (("torch",), "Sequential"),
    "torch_dataset": (("torch",), "Network"),
    "lightning_module": (("torch", "lightning"), "Classifier"),
    "transformers_model": (("torch", "transformers", "accelerate"), "BertForSequenceClassification"),
    "keras_model": (("keras", "torch"), "Sequential"),
    "function_model": ((), "predict"),
    "jax_function": (("jax",), "predict"),
    "text_pipeline": ((), "TfidfVectorizer"),
    "onnx_file": (("onnxruntime", "onnx", "skl2onnx"), "digits.onnx"),
    "predictions_from_r": ((), "of predictions be"),
    "knn_model": ((), "KNeighborsClassifier"),
    "private_training": (("torch", "opacus"), "Promised: epsilon"),
}


def test_every_example_is_tried_and_listed():
    names = {path.stem for path in EXAMPLES.glob("*.py")}
    assert names == set(NEEDS)
    page = (EXAMPLES.parent / "docs" / "examples.md").read_text("utf-8")
    assert all(f"../examples/{name}.py" in page for name in names)


@pytest.mark.slow
@pytest.mark.parametrize("name", NEEDS)
def test_an_example_runs(name, tmp_path, monkeypatch, capsys):
    libraries, word = NEEDS[name]
    for library in libraries:
        pytest.importorskip(library)
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("default", gl.AuditWarning)
        runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    printed = capsys.readouterr().out
    assert "be identified?" in printed
    assert word in printed
