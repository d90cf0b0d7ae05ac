"""A category that a reference has not seen, and an encoder that refuses it."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder, StandardScaler

import guestlist as gl
from guestlist import AuditError, InputError

ROWS = 120


def people(seed, rare=1):
    """Return two columns and labels; some records have a job that no other record has."""
    rng = np.random.default_rng(seed)
    job = rng.choice(["nurse", "clerk"], size=ROWS).astype(object)
    job[:rare] = "Other"
    x = pd.DataFrame({"age": rng.normal(size=ROWS), "job": job})
    return x, (x["age"] + 0.3 * rng.normal(size=ROWS) > 0).astype(int).to_numpy()


def pipeline(*encoders):
    columns = make_column_transformer(
        (StandardScaler(), ["age"]), (make_pipeline(*encoders) if len(encoders) > 1 else encoders[0], ["job"])
    )
    return make_pipeline(columns, LogisticRegression())


def audit(model, folder=None, references=4, **options):
    members, others = people(0), people(1, rare=0)
    return gl.audit(
        model.fit(*members), members, others, references=references, attacks=["loss", "lira"][: 1 + (references > 0)],
        folder=folder, engine=gl.Here(), baseline=False, progress=False, **options,
    )  # fmt: skip


@pytest.mark.parametrize("encoders", [(OneHotEncoder(),), (SimpleImputer(strategy="most_frequent"), OneHotEncoder())])
def test_rare_categories_are_reported_before_there_is_a_folder(encoders, tmp_path):
    model = pipeline(*encoders)
    words = r"Reference model \d would train without a value of 'job' that 1 of 240 records .* references=0 \(--references 0\)"
    with pytest.raises(InputError, match=words) as caught:
        audit(model, tmp_path / "audit")
    assert not (tmp_path / "audit").exists()
    assert "Other" not in str(caught.value)
    text = str(caught.value).partition("model.set_params(")[2].partition(")")[0]
    option, _, value = text.partition("=")
    assert (option.rpartition("__")[2], value) == ("handle_unknown", "'ignore'")
    model.set_params(**{option: "ignore"})  # as it says
    assert audit(model).references.count == 4


def test_an_ordinal_encoder_has_its_own_message():
    with pytest.raises(InputError, match=r"handle_unknown='use_encoded_value', .*unknown_value=-1\)"):
        audit(pipeline(OrdinalEncoder()))


def common(jobs):
    """The jobs, of which those that are rare have one name."""
    return jobs.where(jobs != "Other", "clerk")


def test_categories_that_no_reference_refuses_are_not_reported():
    listed = OneHotEncoder(categories=[["nurse", "clerk", "Other"]])
    grouped = (FunctionTransformer(common), OneHotEncoder())
    for encoders in ((OneHotEncoder(handle_unknown="ignore"),), (listed,), grouped):
        assert audit(pipeline(*encoders)).references.count == 4
    assert audit(pipeline(OneHotEncoder()), references=0).references is None


def test_an_unforeseen_error_has_the_remedy():
    """A custom recipe: its training records are not known in advance."""
    model = pipeline(OneHotEncoder()).fit(*people(0))
    target = gl.estimator_target(model, train=lambda data, rng: pipeline(OneHotEncoder()).fit(data.x, data.y))
    words = r"could not be trained or queried \(ValueError: Found unknown .*handle_unknown='ignore'.*references=0"
    with pytest.raises(AuditError, match=words):
        gl.audit(target, people(0), people(1, rare=0), references=4, attacks=["lira"], engine=gl.Here(), baseline=False)
