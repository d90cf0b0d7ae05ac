"""The published JSON Schema of results.json: it is what the dataclasses give, and it is strict."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from jsonschema import Draft202012Validator, ValidationError
from tests.report.results_schema import schema_text

import guestlist as gl
from guestlist import _report

PATH = Path(_report.__file__).with_name("results.schema.json")
SCHEMA = json.loads(PATH.read_text("utf-8"))
ROW = {**SCHEMA["$defs"]["attacks_row"], "$defs": SCHEMA["$defs"]}


@pytest.fixture(scope="module")
def results():
    rng = np.random.default_rng(0)
    outputs = gl.Predictions(rng.dirichlet(np.ones(3), 80), rng.integers(3, size=80), np.arange(80) < 40)
    return gl.audit_predictions(outputs, baseline=False)


def rows(results) -> list[dict]:
    return json.loads(results.attacks.to_json(orient="records"))


def test_the_committed_schema_is_the_generated_one():
    """If this fails on purpose: ``python -m tests.report.results_schema > src/guestlist/_report/results.schema.json``."""
    assert PATH.read_text("utf-8") == schema_text()
    Draft202012Validator.check_schema(SCHEMA)


def test_results_fit_the_schema(results):
    Draft202012Validator(SCHEMA).validate(results.document())
    for row in rows(results):
        Draft202012Validator(ROW).validate(row)


def test_a_column_added_by_accident_fails(results):
    with pytest.raises(ValidationError, match="'surprise' does not match any of the regexes"):
        Draft202012Validator(ROW).validate({**rows(results)[0], "surprise": 1.0})


def test_a_key_added_or_removed_by_accident_fails(results):
    document = results.document()
    validator = Draft202012Validator(SCHEMA)
    with pytest.raises(ValidationError, match="'surprise' was unexpected"):
        validator.validate({**document, "surprise": 1.0})
    outcome = {**document["outcomes"][0], "surprise": 1.0}
    assert not validator.is_valid({**document, "outcomes": [outcome]})
    del document["sampling"]
    with pytest.raises(ValidationError, match="'sampling' is a required property"):
        validator.validate(document)


def test_a_value_of_another_type_fails(results):
    document = replace(results, untested=(1,)).document()
    assert not Draft202012Validator(SCHEMA).is_valid(document)
