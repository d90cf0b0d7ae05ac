"""Common mistakes are reported in one sentence, and no message contains values of records."""

import math

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import guestlist as gl
from guestlist import AuditError, InputError
from guestlist._util import reason
from guestlist._util.text import LONGEST
from guestlist.data import as_data

X = np.random.default_rng(0).normal(size=(80, 3))
Y = (X[:, 0] > 0).astype(int)
MEMBERS, OTHERS = (X[:40], Y[:40]), (X[40:], Y[40:])
MODEL = LogisticRegression().fit(*MEMBERS)


def answer_half(x):
    return np.full((len(x), 2), 0.5)


def complex_scores(signals):
    return signals.target("loss") + 1j


def worded_scores(signals):
    return [str(loss) for loss in signals.target("loss")]


@pytest.mark.parametrize(
    ("mistake", "words"),
    [
        (
            lambda: gl.audit(MODEL, MEMBERS, None),
            r"Cannot read nonmembers from an object of type NoneType\. Pass nonmembers=\(x, y\)",
        ),
        (
            lambda: gl.audit(MODEL, None, OTHERS),
            r"Cannot read members from an object of type NoneType\. Pass members=\(x, y\)",
        ),
        (
            lambda: gl.play(gl.games.Sides(20, 20), LogisticRegression(), None),
            r"Cannot read data from .*\. Pass data=\(x, y\)",
        ),
        (lambda: gl.audit(LogisticRegression, MEMBERS, OTHERS), r"LogisticRegression is a class.*\.fit\(x, y\)"),
        (lambda: gl.play(gl.games.Sides(20, 20), LogisticRegression, (X, Y)), "LogisticRegression is a class"),
        (lambda: gl.function_target(answer_half, classes=2), r"classes=2 must be a list of labels"),
        (lambda: gl.function_target(answer_half, classes=2, scale="values"), "has no classes; found classes=2"),
        (lambda: gl.Data(None, None), "x must be an array or a table with one row per record; found None"),
        (lambda: gl.Data(X, 5), "y must be an array or a table with one row per record; found 5"),
        (lambda: gl.read_results(None), "Expected folder=None to be a path"),
        (lambda: gl.read_case(None), "Expected folder=None to be a path"),
        (lambda: gl.read_predictions(None), "Expected path=None to be a path"),
        (lambda: gl.read_predictions(5.0), "Expected path=5.0 to be a path"),
        (lambda: gl.onnx_target(None), "Expected path=None to be a path"),
        (lambda: gl.defences.Fit(epochs=math.nan), "Expected epochs=nan to be an integer, 1 or more"),
        (lambda: gl.defences.Fit(batch_size=2.5), "Expected batch_size=2.5 to be an integer"),
        (lambda: gl.defences.Fit(learning_rate=math.nan), "Expected learning_rate=nan"),
        (lambda: gl.defences.Fit(weight_decay=math.nan), "Expected weight_decay=nan"),
        (lambda: gl.defences.DpSgd(epochs=math.nan), r"Expected epochs=nan in \(0, inf\)"),
    ],
)
def test_a_natural_mistake_is_reported(mistake, words):
    with pytest.raises((InputError, ValueError), match=words) as caught:
        mistake()
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize(("score", "kind"), [(complex_scores, "complex128"), (worded_scores, "<U")])
def test_scores_are_numbers(score, kind):
    words = rf"Attack '{score.__name__}' must return numbers that increase with membership\. .*{kind}"
    with pytest.raises(InputError, match=words):
        gl.audit(MODEL, MEMBERS, OTHERS, references=0, attacks=[score])


def test_features_for_a_page_are_data(tmp_path):
    results = gl.audit(MODEL, MEMBERS, OTHERS, references=0, attacks=["loss"])
    with pytest.raises(InputError, match="features=3 must be the members of the audit"):
        results.to_html(tmp_path / "report.html", features=3)
    with pytest.raises(ValueError, match="Expected path=None to be a path"):
        results.to_html(None)


def test_complex_features_are_refused_without_their_values():
    features = X[:40] + 0j
    columns = pd.DataFrame(X[:40], columns=["a", "b", "c"]).assign(b=features[:, 1])
    for x, where in ((features, "in the array"), (columns, "in b")):
        for data in ((x, Y[:40]), gl.Data(x, Y[:40])):
            with pytest.raises(InputError, match=rf"members has complex numbers as features {where}") as caught:
                gl.audit(MODEL, data, OTHERS)
            assert str(X[0, 1])[:5] not in str(caught.value)


@pytest.mark.parametrize("form", [list, pd.Series, lambda texts: np.array(texts, dtype=object)])
def test_a_value_that_is_no_text_is_reported_by_its_position(form):
    texts = ["a day", None, "a night", 3.5, "a week"]
    with pytest.raises(InputError, match=r"members has texts, but record 3 has none \(float\)"):
        as_data((form(texts), [0, 1, 0, 1, 0]), side="members")
    assert as_data((form([*texts[:3], "3.5", "a week"]), [0, 1, 0, 1, 0]), side="members").x[3] == "3.5"


def test_messages_of_libraries_are_cut_to_a_short_first_line():
    assert reason(ValueError("No.\n0.125 0.5")) == "ValueError: No."
    assert reason(ValueError("\n  ")) == reason(ValueError()) == "ValueError"
    assert len(reason(KeyError("x" * 1000))) == len("KeyError: ") + LONGEST


def test_a_model_that_prints_its_records_does_not_print_them_through_us():
    def talkative(x):
        raise RuntimeError(f"This cannot be read:\n{x}")

    with pytest.raises(InputError, match=r"\(RuntimeError: This cannot be read:\)") as caught:
        gl.audit(gl.function_target(talkative, classes=[0, 1]), MEMBERS, OTHERS, references=0)
    assert "[[" not in str(caught.value)

    def train(data, rng):
        raise RuntimeError(f"This cannot be learnt\n{data.x}")

    target = gl.function_target(answer_half, classes=[0, 1], train=train)
    with pytest.raises(AuditError, match=r"Reference 1 .*\(RuntimeError: This cannot be learnt\)") as caught:
        gl.audit(target, MEMBERS, OTHERS, references=2, engine=gl.Here())
    assert "[[" not in str(caught.value)
