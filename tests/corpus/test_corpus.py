"""A refactoring changes no number: small audits against their committed numbers."""

import pytest
from tests.corpus.audits import AUDITS
from tests.corpus.numbers import differences
from tests.corpus.running import EXPECTED, compare, run, schema_errors

NEEDS = {"torch": ("torch",), "onnx": ("onnxruntime", "skl2onnx")}


@pytest.mark.slow
@pytest.mark.parametrize("name", AUDITS)
def test_an_audit_has_the_committed_numbers_and_fits_the_schema(name):
    for package in NEEDS.get(name, ()):
        pytest.importorskip(package)
    ran = run(name)
    lines = compare(name, ran.numbers)
    omitted = f"\n... and {len(lines) - 30} more" if len(lines) > 30 else ""
    assert not lines, f"{name} differs in {len(lines)} numbers:\n" + "\n".join(lines[:30]) + omitted
    assert not schema_errors(ran)


def test_every_file_belongs_to_an_audit():
    assert {path.stem for path in EXPECTED.glob("*.json")} == set(AUDITS)


def test_differences_are_found():
    expected = {"a": 1.0, "b": 0.5, "c": "GL101", "d": None, "e": True, "f": 1}
    assert differences(expected, {**expected, "a": 1.0 + 1e-12}) == []
    assert differences(expected, {**expected, "a": 1.0 + 1e-6}) == ["a: expected 1.0, found 1.000001"]
    assert differences(expected, {**expected, "c": "GL102"}) == ["c: expected GL101, found GL102"]
    assert differences(expected, {**expected, "d": 0.0}) == ["d: expected None, found 0.0"]
    assert differences(expected, {**expected, "e": 1}) == ["e: expected True, found 1"]
    assert differences(expected, {**expected, "g": 2}) == ["g: new, found 2"]
    del expected["f"]
    assert differences({**expected, "f": 1}, expected) == ["f: missing, expected 1"]
