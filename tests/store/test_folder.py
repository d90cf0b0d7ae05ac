import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from guestlist.errors import FolderError
from guestlist.store import Manifest, model_path, open_store

MANIFEST = Manifest(data="d", recipe="r", seed=0, rate=0.5, scale="probabilities", classes=("a", "b"))


@pytest.fixture
def store(tmp_path):
    store = open_store(tmp_path / "audit", MANIFEST)
    sides = ["members", "nonmembers", "population"]
    store.write_pool(pd.DataFrame({"id": list("xyz"), "label": list("aba"), "class": [0, 1, 0], "side": sides}))
    store.write_split(store.design().rows(3))
    for k in range(3):
        store.write_model(k, {"loss": np.arange(3.0) + k})
    return store


def test_what_was_written_is_read_back(store):
    again = open_store(store.folder)
    assert again.manifest == MANIFEST
    assert again.models() == [0, 1, 2]
    assert again.asked().tolist() == [True, True, False]
    rotation = again.rotation()
    assert rotation.target("loss")[2].tolist() == [2, 3, 4]
    assert rotation.member[0].tolist() == [True, False, False]


def test_the_adversarys_view_holds_no_membership_of_its_target(store):
    signals = store.facing(1)
    member = store.rotation().member
    assert signals.target("loss").tolist() == [1, 2, 3]
    assert (signals.reference_member == member[[0, 2]]).all()


def test_the_first_references_can_be_taken_alone(store):
    assert store.facing(0, references=1).references == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"data": "e"}, "other records, labels or membership"),
        ({"recipe": "s"}, "another model or other parameters"),
        ({"seed": 1}, "another seed"),
        ({"data": "e", "seed": 1}, "other records, labels or membership and another seed"),
    ],
)
def test_a_folder_of_another_audit_is_refused(store, change, message):
    with pytest.raises(FolderError, match=message):
        open_store(store.folder, replace(MANIFEST, **change))


def test_a_folder_with_other_files_is_refused_and_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(FolderError, match="files that are no audit"):
        open_store(tmp_path, MANIFEST)
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_missing_folder_is_no_audit(tmp_path):
    with pytest.raises(FolderError, match=r"no manifest\.json"):
        open_store(tmp_path / "nowhere")


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"format": 1}', "\x00\x01"])
def test_a_damaged_manifest_is_named(store, content):
    (store.folder / "manifest.json").write_text(content)
    with pytest.raises(FolderError, match="damaged"):
        open_store(store.folder)


def test_a_manifest_of_another_format_says_which(store):
    path = store.folder / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "format": 99}))
    with pytest.raises(FolderError, match="has format 99"):
        open_store(store.folder)


@pytest.mark.parametrize("cut", [0, 10, -5])
def test_a_truncated_signal_file_is_named(store, cut):
    path = model_path(store.folder, 1)
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(FolderError, match=r"model-0001\.npz is damaged.*Remove that file"):
        store.rotation()
