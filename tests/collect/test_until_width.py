from types import SimpleNamespace

import pytest

import guestlist as gl
from guestlist import AuditError, UntilWidth
from guestlist._case import Check
from guestlist._collect import grow_references
from guestlist._report import prose
from guestlist._report.diagnostics import sentence


def runs(width):
    """A stand-in for collecting and evaluating whose interval has ``width(count)``; it records the requested counts."""
    counts = []

    def run(count):
        counts.append(count)
        return SimpleNamespace(width=width(count), count=count)

    return run, counts


def width_of(results):
    return results.width


def test_it_stops_at_the_first_number_that_is_enough():
    run, counts = runs(lambda count: 1 / count)
    results = grow_references(run, width_of, UntilWidth(0.02, start=16))
    assert counts == [16, 24, 36, 54]
    assert results.count == 54


def test_it_stops_where_references_no_longer_help():
    run, counts = runs(lambda count: 0.05 + 0.1 / count)
    results = grow_references(run, width_of, UntilWidth(0.02, start=16))
    assert counts[-1] < 100
    assert results.count == counts[-1]


def test_attacks_without_stand_in_targets_cannot_decide_when_to_stop():
    with pytest.raises(AuditError, match="stand-in targets"):
        grow_references(lambda count: count, lambda results: None, UntilWidth(0.02))


def test_it_stops_at_the_most():
    run, counts = runs(lambda count: 4 / count)
    results = grow_references(run, width_of, UntilWidth(0.02, start=16, at_most=40))
    assert counts == [16, 24, 36, 40]
    assert results.count == 40


@pytest.mark.slow
def test_an_audit_grows_and_keeps_what_it_has(tree, blobs, tmp_path):
    results = gl.audit(tree, *blobs, references=gl.UntilWidth(0.01, start=8, at_most=18), jobs=1, folder=tmp_path / "a")
    assert results.references.count > 8
    again = gl.audit(tree, *blobs, references=results.references.count, jobs=1, folder=tmp_path / "a")
    assert again.document()["outcomes"] == results.document()["outcomes"]
    wide = results.check("GL111")
    assert wide.state == "issue"
    assert (wide.values["wanted"], wide.values["references"]) == (0.01, results.references.count)
    assert f"wide with {results.references.count} reference models; 0.01" in sentence(wide)
    assert again.check("GL111").state == "not applicable"


def test_a_wide_interval_comes_with_advice():
    figures = {"width": 0.05, "wanted": 0.02, "references": 24, "at_most": 512}
    assert "would hardly narrow it" in sentence(Check("GL111", "issue", figures))
    assert "maximum number of reference models" in sentence(Check("GL111", "issue", {**figures, "references": 512}))


@pytest.mark.parametrize(
    "wrong", [{"width": 0}, {"width": 0.1, "start": 3}, {"width": 0.1, "start": 20, "at_most": 10}]
)
def test_settings_check_themselves(wrong):
    with pytest.raises(ValueError, match="Expected"):
        UntilWidth(**wrong)


@pytest.mark.slow
def test_the_recipe_is_judged_on_models_other_than_the_target(tree, blobs):
    results = gl.audit(tree, *blobs, references=10, jobs=1)
    same_recipe = results.headline.same_recipe
    assert len(results.headline.same_recipe.aucs) == 10
    assert same_recipe.auc.low < sum(same_recipe.aucs) / 10 < same_recipe.auc.high
    assert (results.headline.measure, results.headline.stand_ins) == ("auc", 10)
    assert "reference models, not on this model" in prose("headline.selection", results)
    assert gl.audit(tree, *blobs, references=4, jobs=1).headline.same_recipe is None


def test_a_target_without_a_recipe_cannot_grow(blobs):
    target = gl.function_target(lambda x: __import__("numpy").full((len(x), 3), 1 / 3), classes=[0, 1, 2])
    with pytest.raises(AuditError, match="no training recipe"):
        gl.audit(target, *blobs, references=gl.UntilWidth(0.1))
