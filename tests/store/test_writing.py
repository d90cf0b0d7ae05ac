"""A file that cannot be written: one sentence, and nothing half done."""

import errno
import os
import stat
import subprocess
import sys
import threading

import numpy as np
import pytest

import guestlist as gl
from guestlist import Local
from guestlist._store import audit_folder, files, temporary_folder, write_bytes, write_text
from guestlist._store.files import LOCK
from guestlist.cli import main
from guestlist.errors import WriteError


@pytest.mark.parametrize("call", ["fsync", "replace"])
@pytest.mark.parametrize(
    ("number", "message"),
    [
        (errno.ENOSPC, "the disk is full"),
        (errno.EDQUOT, "your disk quota is used up"),
        (errno.EROFS, "the disk is read-only"),
        (errno.EACCES, "permission denied"),
        (errno.EIO, os.strerror(errno.EIO)),
    ],
)
def test_why_a_file_cannot_be_written(call, number, message, tmp_path, monkeypatch):
    def fails(*_):
        raise OSError(number, os.strerror(number))

    write_text(tmp_path / "a.txt", "before")
    monkeypatch.setattr(files.os, call, fails)
    with pytest.raises(WriteError, match=message) as caught:
        write_text(tmp_path / "a.txt", "after")
    assert str(tmp_path / "a.txt") in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "before"


def test_temporary_files_are_not_flushed_to_the_disk_and_saved_files_are(tmp_path, monkeypatch):
    flushed = []
    monkeypatch.setattr(files.os, "fsync", lambda number: flushed.append(number))
    with audit_folder(None) as folder:
        write_text(folder / "signals" / "a.txt", "gone soon")
        assert flushed == []
    with audit_folder(tmp_path / "audit") as folder:
        write_text(folder / "signals" / "a.txt", "kept")
    assert len(flushed) == 1


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_a_disk_that_is_really_full(tmp_path, monkeypatch):
    plain = os.open
    monkeypatch.setattr(files.os, "open", lambda name, flags, mode=0o777: plain("/dev/full", os.O_WRONLY))
    with pytest.raises(WriteError, match="the disk is full"):
        write_bytes(tmp_path / "a.bin", b"x" * 100_000)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["results.json", "records.parquet", "manifest.json", "split.npz", files.LOCK])
def test_a_folder_instead_of_a_file_is_reported(name, tree, blobs, tmp_path):
    (tmp_path / "a").mkdir()
    if name != "manifest.json":
        gl.audit(tree, *blobs, references=0, attacks=["loss"], folder=tmp_path / "a", baseline=False)
        (tmp_path / "a" / name).unlink()
    (tmp_path / "a" / name / "x").mkdir(parents=True)
    with pytest.raises(gl.AuditError) as caught:
        gl.audit(tree, *blobs, references=0, attacks=["loss"], folder=tmp_path / "a", baseline=False)
    assert str(tmp_path / "a") in str(caught.value)


def test_a_file_instead_of_a_folder_is_reported(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(WriteError, match="a folder or a file of that name exists"):
        write_text(tmp_path / "file" / "a.txt", "x")


def test_a_command_reports_it_in_one_line(tree, blobs, tmp_path):
    from click.testing import CliRunner

    gl.audit(tree, *blobs, references=0, attacks=["loss"], folder=tmp_path / "a", baseline=False)
    (tmp_path / "file").touch()
    result = CliRunner().invoke(main, ["export", str(tmp_path / "a"), "--out", str(tmp_path / "file" / "card.md")])
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    assert "a folder or a file of that name exists" in result.stderr


def test_records_that_do_not_fit_on_the_disk_end_the_work_with_a_sentence(tmp_path, monkeypatch):
    from engine_tasks import check_nothing_is_left, make_task, run

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("guestlist._collect.engines.local.joblib.dump", full)
    with pytest.raises(WriteError, match="the disk is full"):
        run(make_task(tmp_path), tmp_path, Local(2), numbers=[1, 2])
    check_nothing_is_left(tmp_path)


def test_folders_of_killed_processes_are_removed(tmp_path):
    abandoned, living, others = (tmp_path / f"guestlist-{name}-x" for name in (999999999, os.getppid(), "notes"))
    for path in (abandoned, living, others):
        path.mkdir()
    with temporary_folder("guestlist-", str(tmp_path)) as folder:
        np.savez(folder / "people.npz", x=np.zeros(1))
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([living.name, others.name])


def test_a_link_stays_and_the_file_that_it_points_to_is_replaced(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "a.txt").write_text("before")
    for name, target in {"link": "there/a.txt", "dangling": "there/b.txt"}.items():
        (tmp_path / name).symlink_to(target)
        write_text(tmp_path / name, "after")
        assert (tmp_path / name).is_symlink()
        assert (tmp_path / target).read_text() == "after"
    assert sorted(path.name for path in (tmp_path / "there").iterdir()) == ["a.txt", "b.txt"]


def test_a_link_in_the_folder_of_an_audit_overwrites_nothing_else(tmp_path):
    """Another user may have created the folder: their link must not decide which of our files is replaced."""
    (tmp_path / "precious").write_text("mine")
    (tmp_path / "audit").mkdir()
    (tmp_path / "audit" / LOCK).touch()
    (tmp_path / "audit" / "results.json").symlink_to("../precious")
    write_text(tmp_path / "audit" / "results.json", "after")
    assert (tmp_path / "precious").read_text() == "mine"
    assert not (tmp_path / "audit" / "results.json").is_symlink()
    assert (tmp_path / "audit" / "results.json").read_text() == "after"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
@pytest.mark.parametrize("through_a_link", [False, True])
def test_a_pipe_is_written_to_and_stays_one(through_a_link, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append((tmp_path / "pipe").read_bytes()), daemon=True)
    reader.start()
    write_text(tmp_path / ("link" if through_a_link else "pipe"), "whole")
    reader.join(timeout=60)
    assert read == [b"whole"]
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "pipe"]


def test_an_output_stream_is_appended_to_and_not_replaced(tmp_path):
    """Like /dev/stdout, if a shell redirects it to a file; here a link represents it."""
    (tmp_path / "stdout").symlink_to("said.txt")
    write = (
        "import sys; from pathlib import Path; from guestlist._store.files import write_text; print('one', flush=True); "
        "write_text(Path(sys.argv[1]), 'two\\n'); print('three')"
    )
    with open(tmp_path / "said.txt", "w") as file:
        subprocess.run([sys.executable, "-c", write, str(tmp_path / "stdout")], stdout=file, check=True)
    assert (tmp_path / "said.txt").read_text() == "one\ntwo\nthree\n"
