"""Records that are texts: every form of them is one audit, and whatever reads features reads texts."""

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import guestlist as gl
from guestlist import InputError
from guestlist._baseline.baseline import cross_fit_baseline
from guestlist._collect import prepare
from guestlist._report.page import _columns
from guestlist._store import fingerprint, row_hashes
from guestlist._util import grams, is_free
from guestlist.cli import main
from guestlist.data import as_data
from guestlist.evidence.perturbed import column_scales, perturbed
from guestlist.evidence.quantiles import regression_features
from guestlist.models.input_checks import near_duplicates

WORDS = np.array([f"{a}{b}{c}" for a in "bdfgk" for b in "aeiou" for c in "lmnrst"])


def texts(records: int, seed: int, often: int = 0) -> tuple[list[str], np.ndarray]:
    """Twelve words each; those of one class say some of the words more often.

    Args:
        often: the first of the words that the second class says more often.
    """
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=records)
    weight = np.ones((2, len(WORDS)))
    weight[1, often : often + 20] = 4.0
    weight /= weight.sum(axis=1, keepdims=True)
    return [" ".join(rng.choice(WORDS, 12, p=weight[k])) for k in y], np.array(["ham", "spam"])[y]


@pytest.fixture(scope="module")
def model():
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    return make_pipeline(TfidfVectorizer(), LogisticRegression(C=100.0)).fit(*texts(120, 1))


FORMS = {
    "list": list,
    "series": pd.Series,
    "array": np.array,
    "objects": lambda x: np.array(x, dtype=object),
    "one column": lambda x: np.array(x, dtype=object)[:, None],
    "frame": lambda x: pd.DataFrame({"message": x}),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_texts_is_one_audit(model, form):
    (x, y), (x_out, y_out) = texts(60, 1), texts(50, 2)
    prepared = prepare(model, (FORMS[form](x), y), (FORMS[form](x_out), y_out))
    expected = prepare(model, (x, y), (x_out, y_out))
    assert list(prepared.pool.x) == list(expected.pool.x)
    assert fingerprint(prepared.pool, prepared.hashes) == fingerprint(expected.pool, expected.hashes)
    assert prepared.duplicate_counts == expected.duplicate_counts


@pytest.mark.slow
def test_references_train_on_texts_and_the_model_leaks(model):
    attacks, sides = ["loss", "lira", "label_only"], [(pd.Series(x), y) for x, y in (texts(120, 1), texts(120, 2))]
    results = gl.audit(
        model, *sides, references=6, jobs=2, attacks=attacks, evidence=[gl.evidence.Perturbed(5)], progress=False
    )
    assert (results.attacks["auc"] > 0.6).all()
    assert {check.code for check in results.checks if check.state == "issue"} <= {"GL105", "GL117", "GL119"}


@pytest.mark.slow
def test_a_table_may_have_groups_ids_and_one_column_of_texts(model):
    def table(records, seed):
        x, y = texts(records, seed)
        return pd.DataFrame(
            {"who": np.arange(records) + 1000 * seed, "land": ["a", "b"] * (records // 2), "text": x, "y": y}
        )

    results = gl.audit(
        model,
        table(120, 1),
        table(120, 2),
        label="y",
        id="who",
        group="land",
        references=0,
        attacks=["loss"],
        baseline=False,
    )
    assert set(results.records["group_land"]) == {"a", "b"}
    with pytest.raises(InputError, match="reads one text per record, but members has the columns who, land, text"):
        gl.audit(model, table(120, 1), table(120, 2), label="y", references=0)


@pytest.mark.slow
def test_the_command_line_reads_a_table_of_texts(model, tmp_path):
    import skops.io

    skops.io.dump(model, tmp_path / "m.skops")
    for side, seed, name in (("members", 1, "in.parquet"), ("nonmembers", 2, "out.csv")):
        x, y = texts(120, seed)
        table = pd.DataFrame({"message, as sent": x, "kind": y})
        table.to_parquet(tmp_path / name) if side == "members" else table.to_csv(tmp_path / name, index=False)
    sides = ["--members", str(tmp_path / "in.parquet"), "--nonmembers", str(tmp_path / "out.csv"), "--label", "kind"]
    options = [
        "--references",
        "2",
        "--jobs",
        "1",
        "--attack",
        "loss",
        "--quiet",
        "--no-baseline",
        "--out",
        str(tmp_path / "audit"),
    ]
    done = CliRunner().invoke(main, ["audit", "--model", str(tmp_path / "m.skops"), *sides, *options])
    assert done.exit_code == 0, done.output
    # It stores no text, and shows some on request.
    assert all(texts(120, 1)[0][0].encode() not in path.read_bytes() for path in (tmp_path / "audit").rglob("*.*"))


@pytest.mark.slow
def test_a_pipeline_on_a_column_takes_texts_too():
    from sklearn.compose import make_column_transformer
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    x, y = texts(60, 1)
    model = make_pipeline(make_column_transformer((TfidfVectorizer(), "message")), LogisticRegression())
    fitted = model.fit(pd.DataFrame({"message": x}), y)
    results = gl.audit(fitted, (x, y), texts(60, 2), references=0, attacks=["loss"], baseline=False)
    assert results.attacks["auc"].iloc[0] > 0.5


@pytest.mark.parametrize("wrap", ["search", "calibrated", "vote", "union"])
def test_a_wrapped_pipeline_is_known_to_read_texts(model, wrap):
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.ensemble import VotingClassifier
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline, make_union

    from guestlist.models.estimators import reads_of

    around = {
        "search": lambda: GridSearchCV(model, {}),
        "calibrated": lambda: CalibratedClassifierCV(model),
        "vote": lambda: VotingClassifier([("one", model)]),
        "union": lambda: make_pipeline(make_union(model[0]), model[1]),
    }
    assert reads_of(around[wrap]()).documents
    assert not reads_of(model[-1]).documents


@pytest.mark.slow
def test_members_drawn_from_a_table_of_texts(model):
    from sklearn.base import clone

    x, y = texts(120, 3)
    played = gl.play(
        gl.games.Sides(50, 50), clone(model), pd.DataFrame({"t": x, "y": y}), label="y", references=0, attacks=["loss"]
    )
    assert played.attacks["auc"].iloc[0] > 0.6


def test_numbers_in_a_row_are_no_texts():
    with pytest.raises(InputError, match=r"one text per record; found \(3,\)"):
        as_data(([1.0, 2.0, 3.0], [0, 1, 0]), side="members")
    with pytest.raises(InputError, match=r"record 1 has none \(int\)"):
        as_data((pd.Series(["a", 1]), [0, 1]), side="members")


def test_a_series_has_its_index_as_ids_and_a_missing_text_is_reported(model):
    data = as_data((pd.Series(["a", "b"], index=["x1", "x2"]), [0, 1]), side="members")
    assert list(data.ids) == ["x1", "x2"]
    x, y = texts(20, 1)
    with pytest.raises(InputError, match=r"1 records with NaN or infinite features \(missing texts\)"):
        gl.audit(model, ([None, *x[1:]], y), texts(20, 2), references=0)


def test_equal_texts_have_equal_hashes():
    x, y = texts(30, 1)
    hashes = row_hashes(as_data(([*x, x[0]], [*y, y[0]]), side="members"))
    assert hashes[0] == hashes[-1]
    assert len(set(hashes)) == 30


@pytest.mark.slow
def test_different_words_in_one_set_are_detected_without_the_model():
    def p_value(often: int, table: bool) -> float:
        sides = [texts(100, 5), texts(100, 6, often=often)]
        x = np.array(sides[0][0] + sides[1][0], dtype=object)
        frame = pd.DataFrame({"t": x, "n": np.ones(200)}) if table else x
        y, member = np.concatenate([side[1] for side in sides]), np.repeat([True, False], 100)
        return cross_fit_baseline(frame, y, member, rng=np.random.default_rng(0)).baseline.p_value

    assert p_value(0, table=False) > 0.05
    assert p_value(60, table=True) <= 0.01


def test_a_text_with_one_changed_word_is_a_near_duplicate():
    (members, _), (others, _) = texts(200, 1), texts(100, 2)
    members, others = np.array(members, dtype=object), np.array(others, dtype=object)
    assert near_duplicates(members, others, np.random.default_rng(0)).p_value > 0.01
    changed = np.array([text.replace("a", "e", 1) for text in members[:100]], dtype=object)
    assert near_duplicates(members, changed, np.random.default_rng(0)).p_value == 0.001


def test_a_share_of_the_words_is_drawn_again():
    x = np.array([*texts(200, 1)[0], None], dtype=object)
    changed = perturbed(x, np.arange(201), column_scales(x), np.random.default_rng(0), noise=0.25, flips=0.25)
    assert changed.shape == x.shape
    assert changed[-1] is None or pd.isna(changed[-1])
    unchanged = [
        a == b
        for text, two in zip(x[:-1], changed[:-1], strict=True)
        for a, b in zip(text.split(), two.split(), strict=True)
    ]
    assert 0.7 < np.mean(unchanged) < 0.8  # a word is drawn as itself once in a hundred times
    assert {word for text in changed[:-1] for word in text.split()} <= set(WORDS)


def test_grams_are_counts_of_three_letters():
    """Against the plain count: texts that share no sequence of letters are at right angles, up to collisions."""
    x = texts(40, 1)[0]
    computed = grams([*x, "", None])
    assert (computed[-1] == 0).all()

    def counted(text):
        padded = f" {text} "
        return pd.Series([padded[i : i + 3] for i in range(len(padded) - 2)]).value_counts()

    counts = pd.DataFrame([counted(text) for text in x]).fillna(0).to_numpy()
    counts = counts / np.linalg.norm(counts, axis=1, keepdims=True)
    off = (computed[:40] @ computed[:40].T - counts @ counts.T)[np.triu_indices(40, 1)]
    assert abs(off.mean()) < 0.05  # all pairs share the same collisions
    assert off.std() < 0.1  # 1 / sqrt(192) is .07


def test_free_text_is_distinguished_from_categories():
    assert is_free(pd.Series(texts(50, 1)[0]))
    assert is_free(pd.Series([*texts(50, 1)[0], None]))
    assert not is_free(pd.Series([f"person {k}" for k in range(50)]))
    assert not is_free(pd.Series(["red", "green"] * 20))
    assert not is_free(pd.Series(texts(50, 1)[0]).astype("category"))
    assert not is_free(pd.Series(np.arange(50.0)))
    assert not is_free(pd.Series([None, None], dtype=object))


def test_a_quantile_regression_and_a_report_read_texts():
    x = np.array(texts(50, 1)[0], dtype=object)
    read = regression_features(x, np.zeros(50, dtype=int))
    assert read.values.shape == (50, 193)
    assert not read.categorical[:-1].any()
    assert _columns(gl.Data(x, np.zeros(50))) == {"text": list(x)}
