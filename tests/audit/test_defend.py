"""Defences: identical results if interrupted, results of plain training if nothing changes, and failures reported."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

import guestlist as gl
from guestlist import Here, InputError
from guestlist._audit.config import AuditConfig
from guestlist._audit.defence_candidates import AGAIN
from guestlist._audit.defend import DefenceStarted, estimate_runtime

REFERENCES = 3
OPTIONS = {"references": REFERENCES, "attacks": ["loss"], "baseline": False, "seed": 5}


class Counted(DecisionTreeClassifier):
    """A tree that counts how often any of its kind was trained."""

    fits = 0

    def fit(self, x, y):
        Counted.fits += 1
        return super().fit(x, y)


class Interrupted(Here):
    """An engine that is stopped after some models."""

    remaining = 0

    def run(self, task, numbers, pool, work):
        for k in numbers:
            if not Interrupted.remaining:
                raise KeyboardInterrupt
            Interrupted.remaining -= 1
            yield from Here.run(self, task, [k], pool, work)


def broken(model, data, rng):
    raise ArithmeticError("no such luck")


OWN = {
    "present": gl.defences.Regularised({"max_depth": None}),
    "none": gl.defences.Removal(0.0, "loss_tail"),
    "shallow": gl.defences.Regularised({"max_depth": 2}),
    "broken": broken,
    "some": gl.defences.Removal(0.1, "loss_tail"),
    "label": gl.defences.LabelOnly(),
}


@pytest.fixture(scope="module")
def model(blobs):
    return Counted(random_state=0).fit(*blobs[0])


@pytest.fixture(scope="module")
def tried(model, blobs, tmp_path_factory):
    """A whole run: its folder, its results, the number of trained models, and the warnings."""
    folder, events = tmp_path_factory.mktemp("defended"), []
    Counted.fits = 0
    defended = gl.defend(model, *blobs, defences=OWN, folder=folder, engine=Here(), on_event=events.append, **OPTIONS)
    return folder, defended, Counted.fits, events


def bits(folder, name=""):
    """Path to bytes of collected files and results, without checksums and durations."""
    parts = {"signals", "outputs.npz", "split.npz", "results.json", "defence.json", "defended.json"}
    paths = (path for path in sorted((folder / name).rglob("*")) if path.is_file())
    return {str(p.relative_to(folder / name)): _bytes(p) for p in paths if parts & {p.name, p.parent.name}}


def _bytes(path):
    if path.suffix != ".npz":
        return path.read_bytes()
    with np.load(path) as arrays:
        return {name: arrays[name].tobytes() for name in arrays.files}


@pytest.mark.slow
def test_the_present_value_and_no_removal_are_identical_to_plain(tried):
    folder, comparison, _, _ = tried
    for name in ("present", "none"):
        for kind in ("signals", "outputs.npz", "split.npz"):
            first, other = (
                {p: b for p, b in bits(folder, part).items() if kind in p} for part in (name, "trained_again")
            )
            assert first == other
            assert first
    plain, again = (bits(folder, name) for name in ("plain", "trained_again"))
    for k in range(1, 1 + REFERENCES):  # the same references: only the target was trained again
        assert plain[f"signals/model-{k:04d}.npz"] == again[f"signals/model-{k:04d}.npz"]
    assert bits(folder, "shallow")["signals/model-0001.npz"] != plain["signals/model-0001.npz"]
    assert (
        comparison.audits["shallow"].provenance.fingerprints["recipe"]
        != comparison.plain.provenance.fingerprints["recipe"]
    )


@pytest.mark.slow
def test_a_run_that_is_stopped_goes_on_and_trains_nothing_twice_but_one_target(tried, model, blobs, tmp_path):
    folder, _, fits, _ = tried
    Counted.fits, Interrupted.remaining = 0, 3 * REFERENCES + 1
    with pytest.raises(KeyboardInterrupt):
        gl.defend(model, *blobs, defences=OWN, folder=tmp_path, engine=Interrupted(), **OPTIONS)
    gl.defend(model, *blobs, defences=OWN, folder=tmp_path, engine=Here(), **OPTIONS)
    assert Counted.fits == fits + 1  # the target of the audit that was interrupted
    assert bits(tmp_path) == bits(folder)


@pytest.mark.slow
def test_a_second_run_trains_nothing_and_gives_the_same_results(tried, model, blobs):
    folder, comparison, _, _ = tried
    before, Counted.fits, events = bits(folder), 0, []
    again = gl.defend(model, *blobs, defences=OWN, folder=folder, engine=Here(), on_event=events.append, **OPTIONS)
    assert Counted.fits == 0
    assert not [event for event in events if isinstance(event, DefenceStarted) and event.name != "broken"]
    assert again.document() == comparison.document()
    assert bits(folder) == before


@pytest.mark.slow
def test_a_failing_defence_is_reported_and_does_not_stop_the_others(tried):
    _, comparison, _, _ = tried
    rows = {row.name: row for row in comparison.rows}
    assert list(rows) == [AGAIN, *OWN]
    assert rows["broken"].failed == "ArithmeticError: no such luck"
    assert {name for name, row in rows.items() if row.failed} == {"broken"}
    assert rows["shallow"].leaks_less
    assert not rows[AGAIN].leaks_less
    assert "shallow" in comparison.helps
    assert len(comparison.table) == len(rows)


@pytest.mark.slow
def test_removed_members_are_no_members_and_are_reported_separately(tried):
    _, comparison, _, _ = tried
    row = next(row for row in comparison.rows if row.name == "some")
    plain, records = comparison.plain.records, comparison.audits["some"].records
    removed = set(plain["id"]) - set(records["id"])
    members = plain[plain["member"]]
    assert len(removed) == row.removed.records == 24 == int(0.1 * len(members))
    assert removed == set(gl.defences.Removal(0.1, "loss_tail").leaving(plain))
    assert row.members == len(members) - 24
    assert row.removed.right_before.value == members[members["id"].isin(removed)]["correct"].mean()
    assert row.removed.right_after.value < 1  # it memorised them, and has not seen them now
    staying = plain[~plain["id"].isin(removed)]
    assert row.accuracy.first.value == staying[~staying["member"]]["correct"].mean()


@pytest.mark.slow
def test_the_estimated_time_is_reported_first(tried):
    _, _, fits, events = tried
    forecast, *begun = events
    assert [event.name for event in begun] == [AGAIN, *OWN]
    assert forecast.models == (1 + REFERENCES) * (1 + len(OWN))
    assert forecast.seconds == pytest.approx(
        forecast.models * forecast.times.training + forecast.audits * forecast.times.evaluation
    )
    # All estimated models were trained, except references of the failed defence and targets whose outputs alone change.
    assert fits == REFERENCES + forecast.models - (1 + REFERENCES) - 1


def test_an_estimate_alone_trains_one_model(model, blobs):
    Counted.fits = 0
    forecast = estimate_runtime(
        model, *blobs, config=AuditConfig.from_options(references=10, jobs=1), defences=["regularised", "label_only"]
    )
    assert Counted.fits == 1
    assert forecast.models == 10 + 11 * (1 + 5 + 1)  # the plain audit; again, two sizes of leaves, three depths, labels
    assert forecast.times.evaluation is None


def test_wrong_input_is_refused_before_anything_is_trained(model, blobs, tmp_path):
    Counted.fits = 0
    twice = gl.Data(*blobs[0], ids=np.array(["same"] * len(blobs[0][1]), dtype=object))
    for arguments, options, message in (
        (blobs, {"defences": ["rouned"]}, "no defence 'rouned'"),
        (blobs, {"defences": "rounded"}, "a list of names"),
        (blobs, {"defences": {AGAIN: gl.defences.Refit()}}, "used by the target's own training"),
        (blobs, {"defences": {"plain": gl.defences.Refit()}}, "used by the undefended model"),
        (blobs, {"defences": {"a b": gl.defences.Refit(), "a/b": gl.defences.Refit()}}, "already used by 'a b'"),
        (blobs, {"defences": {"..": gl.defences.Refit()}}, "name of a folder"),
        (blobs, {"defences": {"x": 3}}, "recipe"),
        ((twice, blobs[1]), {}, "record by record"),
    ):
        with pytest.raises(InputError, match=message):
            gl.defend(model, *arguments, folder=tmp_path / "none", **OPTIONS, **options)
    assert Counted.fits == 0
    assert not (tmp_path / "none").exists()
