"""An attack that works in place changes nothing that another attack sees."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.neighbors import KNeighborsClassifier

import guestlist as gl
from guestlist._views import Rotation, Signals
from guestlist.evidence import EVIDENCE
from guestlist.testing import gaussian_simulation


def within(thing, path=""):
    """Every array that can be reached from a view, and how."""
    if isinstance(thing, np.ndarray):
        yield path, thing
    elif isinstance(thing, Mapping):
        for name in thing:
            yield from within(thing[name], f"{path}[{name}]")
    elif isinstance(thing, tuple | list):
        for number, item in enumerate(thing):
            yield from within(item, f"{path}[{number}]")
    elif is_dataclass(thing):
        for field in fields(thing):
            yield from within(getattr(thing, field.name), f"{path}.{field.name}")
    if isinstance(thing, Signals | Rotation):
        for name in ("inside", "outside", "class_ecdf"):
            yield from within(getattr(thing, name)("loss"), f"{path}.{name}(loss)")
        yield from within(thing.target("loss"), f"{path}.target")
    if isinstance(thing, Signals):
        yield from within(thing.reference("loss"), f"{path}.reference")
        if thing.references > 2:
            yield from within(thing.stand_ins, f"{path}.stand_ins")
    if isinstance(thing, Rotation):
        yield from within((thing.evidence(1), thing.facing(0).values), f"{path}.of_one")


def test_every_array_of_a_view_is_read_only():
    arrays = dict(within(gaussian_simulation(1.0, records=20, models=5).facing(0)))
    made_up = [name for name, kind in EVIDENCE.items() if kind.simulate]
    assert len(made_up) > 5
    assert all(any(f".evidence.parts[{name}]" in path for path in arrays) for name in made_up)
    assert [path for path, array in arrays.items() if array.flags.writeable] == []


@pytest.mark.slow
@pytest.mark.parametrize("model", [KNeighborsClassifier(3), RandomForestClassifier(5, random_state=0)], ids=repr)
def test_an_attack_that_works_in_place_changes_no_other(model, blobs):
    """Here with what a real target gives: the space of neighbours, and the leaves of trees."""
    written = []

    def rude(signals):
        for path, array in within(signals):
            try:
                array[...] = np.zeros_like(array)
            except ValueError:
                continue
            written.append(path)
        return np.zeros(len(signals.labels))

    sides = [(x[:60], y[:60]) for x, y in blobs]
    model = model.fit(*sides[0])
    evidence = [gl.evidence.Perturbed(2), gl.evidence.FullOutputs()]
    plan = {"references": 4, "evidence": evidence, "jobs": 1, "baseline": False}
    alone = gl.audit(model, *sides, **plan)
    names = list(alone.attacks["attack"])
    assert len(names) > 10
    results = gl.audit(model, *sides, attacks=[rude, *names], **plan)
    assert written == []
    columns = [f"score_{name}" if f"score_{name}" in alone.records else name for name in names]
    assert results.records[columns].equals(alone.records[columns])
