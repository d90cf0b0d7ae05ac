import json
import os
import shutil
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import guestlist as gl
from guestlist import Data
from guestlist._store import Manifest, folder, model_path, open_store
from guestlist.errors import FolderError
from guestlist.games import Sides, draw, options_of, single_target_split

GAME = options_of(Sides(1, 1, rate=0.5))
MANIFEST = Manifest(data="d", split="s", recipe="r", seed=0, game=GAME, scale="probabilities", classes=("a", "b"))


@pytest.fixture
def store(tmp_path):
    store = open_store(tmp_path / "audit", MANIFEST)
    store.write_pool(pd.DataFrame({"id": list("xyz"), "label": list("aba"), "class": [0, 1, 0]}))
    target = single_target_split(np.array([True, False, False]), np.array([True, True, False]))
    pool = Data(np.zeros((3, 1)), np.zeros(3), np.array(list("xyz")))
    store.write_split(draw(MANIFEST.make_game(), pool, 3, seed=0, start=target))
    for k in range(3):
        store.write_model(k, {"loss": np.arange(3.0) + k})
    return store


def test_what_was_written_is_read_back(store):
    again = open_store(store.folder)
    assert again.manifest == MANIFEST
    assert again.models() == [0, 1, 2]
    assert again.split.evaluated[0].tolist() == [True, True, False]
    assert again.manifest.make_game() == Sides(1, 1, rate=0.5)
    rotation = again.rotation()
    assert rotation.target("loss")[2].tolist() == [2, 3, 4]
    assert rotation.member[0].tolist() == [True, False, False]


def test_the_pool_is_the_same_for_its_writer_and_for_others(store):
    pd.testing.assert_frame_equal(store.pool, open_store(store.folder).pool)


def test_a_changed_pool_is_refused_by_its_writer(store):
    pd.DataFrame({"id": list("xyz"), "label": list("aba"), "class": [1, 1, 1]}).to_parquet(
        store.folder / "pool.parquet"
    )
    with pytest.raises(FolderError, match="was changed after it was written"):
        _ = store.pool


def test_the_adversarys_view_holds_no_membership_of_its_target(store):
    signals = store.rotation().facing(1)
    member = store.rotation().member
    assert signals.target("loss").tolist() == [1, 2, 3]
    assert (signals.reference_member == member[[0, 2]]).all()


def test_the_first_references_can_be_used_separately(store):
    assert store.rotation(1).facing(0).references == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"data": "e"}, "different records or labels"),
        ({"split": "t"}, "different members or non-members"),
        ({"game": options_of(Sides(1, 1, rate=0.25))}, "different share of records per reference"),
        ({"recipe": "s"}, "a different model"),
        ({"seed": 1}, "a different seed"),
        ({"data": "e", "seed": 1}, "different records or labels and a different seed"),
    ],
)
def test_a_folder_of_another_audit_is_refused(store, change, message):
    with pytest.raises(FolderError, match=message):
        open_store(store.folder, replace(MANIFEST, **change))


def test_a_folder_with_other_files_is_refused_and_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(FolderError, match="files that do not belong to an audit"):
        open_store(tmp_path, MANIFEST)
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_missing_folder_is_no_audit(tmp_path):
    with pytest.raises(FolderError, match=r"no manifest\.json"):
        open_store(tmp_path / "nowhere")


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"format": 2}', "\x00\x01"])
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
    with pytest.raises(FolderError, match=r"model-0001\.npz (is damaged|does not belong).*Delete this file"):
        store.rotation().target("loss")


def test_a_model_that_was_never_planned_is_no_model(store):
    for name in ("model-99999999", "model-3", "model-00001", "model-²", "model-x"):
        shutil.copy(model_path(store.folder, 1), store.folder / "signals" / f"{name}.npz")
    assert store.models() == [0, 1, 2]
    assert len(store.rotation().member) == 3


def test_a_damaged_split_is_named(store):
    np.savez(store.folder / "split.npz", member=np.ones((3, 3), bool))
    with pytest.raises(FolderError, match=r"split\.npz does not belong to this audit: it has no checksum"):
        open_store(store.folder).split  # noqa: B018


def test_signals_are_read_on_first_access(store, monkeypatch):
    for k in range(3):
        store.write_model(k, {"loss": np.zeros(3), "margin": np.ones(3)})
    (view := store.rotation().facing(0)).target("loss")
    for k in range(3):
        store.write_model(k, {"loss": np.zeros(3)})
    with pytest.raises(FolderError, match="margin"):
        view.target("margin")


def test_a_file_is_checked_once_as_long_as_it_stays_as_it_is(store, monkeypatch):
    for k in range(3):
        store.write_model(k, {"loss": np.zeros(3), "margin": np.ones(3)})
    looked, plain = [], folder.check_npz
    monkeypatch.setattr(
        folder, "check_npz", lambda path, provenance: looked.append(path.name) or plain(path, provenance)
    )
    path = folder.model_path(store.folder, 1)
    assert store.check(path) == ["loss", "margin"]
    assert looked == []  # it wrote them itself
    store = open_store(store.folder)
    store.split  # noqa: B018  # it is read as well, and before
    looked.clear()
    assert store.check(path) == store.check(path) == ["loss", "margin"]
    store.rotation()
    assert sorted(looked) == ["model-0000.npz", "model-0001.npz", "model-0002.npz"]
    store.write_model(1, {"loss": np.zeros(3)})
    assert store.check(path) == ["loss"]
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(FolderError, match="does not belong to this audit"):
        store.check(path)
    path.unlink()
    with pytest.raises(FolderError, match="is damaged"):
        store.check(path)


def test_a_file_is_checked_again_if_it_changes(store, monkeypatch):
    values = {"loss": np.arange(3.0), "correct": np.array([True, False, True])}
    store.write_model(1, values)
    path, again = folder.model_path(store.folder, 1), open_store(store.folder)
    again.check(path)
    plain, known = folder.read_checked_npz, []

    def noted(*arguments, **options):
        known.append(options["known"])
        return plain(*arguments, **options)

    monkeypatch.setattr(folder, "read_checked_npz", noted)
    for name, expected in values.items():
        assert np.array_equal(again.read(path, name)[name], expected)
    os.utime(path, ns=(0, 2))
    assert np.array_equal(again.read(path, "loss")["loss"], values["loss"])
    assert known == [True, True, False]
    monkeypatch.undo()
    content = bytearray(path.read_bytes())
    at = content.index(np.arange(3.0).tobytes())
    for turned in (0, 1):  # the same bytes once more, then others
        content[at] ^= turned
        path.write_bytes(content)
        os.utime(path, ns=(0, turned))
        for reader in (again, open_store(store.folder)):
            if not turned:
                assert reader.read(path, "loss")["loss"].tolist() == [0, 1, 2]
                continue
            with pytest.raises(FolderError, match=r"is damaged.*CRC"):
                reader.read(path, "loss")


@pytest.mark.slow
def test_only_the_requested_signals_are_read(tree, blobs, tmp_path, monkeypatch):
    gl.audit(tree, *blobs, references=2, attacks=["loss"], folder=tmp_path, jobs=1)
    read = []
    plain = folder.read_checked_npz

    def noted(path, provenance, *names, **options):
        read.append((path.name, names))
        return plain(path, provenance, *names, **options)

    monkeypatch.setattr(folder, "read_checked_npz", noted)
    rotation = folder.open_store(tmp_path).rotation(preload=["loss", "p_y", "nothing"])
    assert set(rotation.values) == set(gl.models.SIGNALS)
    rotation.facing(0).target("loss")
    rotation.target("p_y")
    together = [(name, set(names)) for name, names in read if name.startswith("model-")]
    assert together == [(f"model-000{k}.npz", {"loss", "p_y"}) for k in range(3)]
    rotation.target("margin")
    assert [names for name, names in read if name.startswith("model-")][3:] == [("margin",)] * 3
