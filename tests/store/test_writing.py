"""A file that cannot be written: one sentence, and nothing half done."""

import errno
import os

import numpy as np
import pytest

import guestlist as gl
from guestlist.cli import main
from guestlist.collecting.engines.local import Local
from guestlist.errors import UnwrittenError
from guestlist.store import files, lock
from guestlist.store.files import write_bytes, write_text
from guestlist.store.passing import passing


@pytest.mark.parametrize("call", ["fsync", "replace"])
@pytest.mark.parametrize(
    ("number", "message"),
    [
        (errno.ENOSPC, "the disk is full. Make room, and run again: what was written before is kept"),
        (errno.EDQUOT, "your share of the disk is used up"),
        (errno.EROFS, "the disk can only be read"),
        (errno.EACCES, "you may not write there"),
        (errno.EIO, os.strerror(errno.EIO)),
    ],
)
def test_why_a_file_cannot_be_written(call, number, message, tmp_path, monkeypatch):
    def fails(*_):
        raise OSError(number, os.strerror(number))

    write_text(tmp_path / "a.txt", "before")
    monkeypatch.setattr(files.os, call, fails)
    with pytest.raises(UnwrittenError, match=message) as caught:
        write_text(tmp_path / "a.txt", "after")
    assert str(tmp_path / "a.txt") in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "before"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_a_disk_that_is_really_full(tmp_path, monkeypatch):
    plain = os.open
    monkeypatch.setattr(files.os, "open", lambda name, flags, mode=0o777: plain("/dev/full", os.O_WRONLY))
    with pytest.raises(UnwrittenError, match="the disk is full"):
        write_bytes(tmp_path / "a.bin", b"x" * 100_000)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["results.json", "records.parquet", "manifest.json", "split.npz", lock.LOCK])
def test_a_folder_in_a_files_place_is_told(name, tree, blobs, tmp_path):
    (tmp_path / "a").mkdir()
    if name != "manifest.json":
        gl.audit(tree, *blobs, references=0, attacks=["loss"], folder=tmp_path / "a", blind=False)
        (tmp_path / "a" / name).unlink()
    (tmp_path / "a" / name / "x").mkdir(parents=True)
    with pytest.raises(gl.AuditError) as caught:
        gl.audit(tree, *blobs, references=0, attacks=["loss"], folder=tmp_path / "a", blind=False)
    assert str(tmp_path / "a") in str(caught.value)


def test_a_file_in_a_folders_place_is_told(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(UnwrittenError, match="a folder or a file stands in its way"):
        write_text(tmp_path / "file" / "a.txt", "x")


def test_a_command_says_it_in_one_line(tree, blobs, tmp_path):
    from click.testing import CliRunner

    gl.audit(tree, *blobs, references=0, attacks=["loss"], folder=tmp_path / "a", blind=False)
    (tmp_path / "file").touch()
    found = CliRunner().invoke(main, ["export", str(tmp_path / "a"), "--out", str(tmp_path / "file" / "card.md")])
    assert found.exit_code == 2, found.output
    assert found.stderr.startswith("Error: ")
    assert found.stderr.count("\n") == 1
    assert "cannot be written: a folder or a file stands in its way. Move that away, and run again" in found.stderr


def test_records_that_do_not_fit_on_the_disk_end_the_work_with_a_sentence(tmp_path, monkeypatch):
    from errands import check_nothing_is_left, errand, run

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("guestlist.collecting.engines.local.joblib.dump", full)
    with pytest.raises(UnwrittenError, match="the disk is full"):
        run(errand(tmp_path), tmp_path, Local(2), numbers=[1, 2])
    check_nothing_is_left(tmp_path)


def test_folders_of_killed_processes_are_removed(tmp_path):
    left, living, others = (tmp_path / f"guestlist-{name}-x" for name in (999999999, os.getppid(), "notes"))
    for path in (left, living, others):
        path.mkdir()
    with passing("guestlist-", str(tmp_path)) as place:
        np.savez(place / "people.npz", x=np.zeros(1))
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([living.name, others.name])
