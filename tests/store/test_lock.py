"""The folder of an audit: one at a time, its owner's alone, and no trace of what came to nothing."""

import errno
import os
import subprocess
import sys

import pytest

import guestlist as gl
from guestlist import InputError
from guestlist._store import files, folder_lock, write_text
from guestlist.errors import FolderError, WriteError

posix = pytest.mark.skipif(os.name != "posix", reason="there are no such permissions on Windows")


def modes(folder):
    return {path.relative_to(folder).as_posix(): path.stat().st_mode & 0o777 for path in [folder, *folder.rglob("*")]}


@pytest.mark.slow
@posix
def test_only_its_owner_can_read_an_audit(tree, blobs, tmp_path):
    folder = tmp_path / "audit"
    folder.mkdir(mode=0o755)
    results = gl.audit(
        tree, *blobs, references=2, attacks=["loss"], evidence=[gl.evidence.Perturbed(1)], jobs=1, folder=folder
    )
    results.to_html(folder / "report.html")
    write_text(folder / "export" / "card.md", "members")
    wrong = {name: oct(mode) for name, mode in modes(folder).items() if mode not in (0o700, 0o600)}
    assert wrong == {}
    with folder_lock(tmp_path / "new" / "audit"):
        assert modes(tmp_path / "new")["audit"] == 0o700
    assert {"results.json", "report.html", "records.parquet", "evidence/perturbed/copy-0001.npz"} < set(modes(folder))


@posix
def test_a_file_that_the_user_names_elsewhere_follows_the_umask(tmp_path):
    before = os.umask(0o027)
    try:
        write_text(tmp_path / "card.md", "x")
        write_text(tmp_path / "new" / "card.md", "x")
    finally:
        os.umask(before)
    assert modes(tmp_path)["card.md"] == modes(tmp_path)["new/card.md"] == 0o640
    assert modes(tmp_path)["new"] == 0o750


@posix
def test_a_folder_with_files_of_others_keeps_its_permissions_and_gets_no_lock(tree, blobs, tmp_path):
    folder = tmp_path / "thesis"
    folder.mkdir(mode=0o755)
    (folder / "thesis.tex").write_text("years of work")
    with pytest.raises(FolderError, match="files that do not belong to an audit"):
        gl.audit(tree, *blobs, references=0, folder=folder)
    assert [path.name for path in folder.iterdir()] == ["thesis.tex"]
    assert modes(folder)["."] == 0o755


def test_work_that_fails_before_anything_is_written_leaves_nothing(tmp_path):
    with pytest.raises(InputError), folder_lock(tmp_path / "new"):
        raise InputError("no")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(FolderError), folder_lock(tmp_path / "begun"):
        write_text(tmp_path / "begun" / "a.txt", "kept") or files.check_not_a_file(tmp_path / "begun" / "a.txt")
    assert sorted(path.name for path in (tmp_path / "begun").iterdir()) == [files.LOCK, "a.txt"]


def test_a_folder_has_one_audit_at_a_time(tmp_path):
    with folder_lock(tmp_path), pytest.raises(FolderError, match="Another audit is writing"), folder_lock(tmp_path):
        pass
    with folder_lock(tmp_path):
        assert (tmp_path / files.LOCK).exists()
    assert (tmp_path / files.LOCK).exists()  # it marks the folder as private


def test_a_killed_process_leaves_no_lock_behind(tmp_path):
    code = (
        "import sys, time; from pathlib import Path; from guestlist._store import folder_lock\n"
        "with folder_lock(Path(sys.argv[1])): print('held', flush=True); time.sleep(600)"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE)
    try:
        assert process.stdout.readline().strip() == b"held"
        with pytest.raises(FolderError, match="Another audit is writing"), folder_lock(tmp_path):
            pass
    finally:
        process.kill()
        process.communicate()
    with folder_lock(tmp_path):
        pass


@pytest.mark.parametrize("number", [errno.EROFS, errno.ENOSYS, errno.ENOLCK])
def test_a_folder_that_cannot_be_locked_is_named(tmp_path, monkeypatch, number):
    """A disk that can only be read, and a network file system without locks."""

    def fail(self):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(files.FileLock, "_acquire", fail)
    with pytest.raises(WriteError, match="Cannot write"), folder_lock(tmp_path):
        pass


# -- Windows -------------------------------------------------------------------------------------------------------


def test_on_windows_a_process_is_never_signalled(monkeypatch):
    monkeypatch.setattr(sys, "platform", "win32")

    def kill(process, number):
        raise AssertionError("on Windows this ends the process")

    monkeypatch.setattr(os, "kill", kill)
    assert files.is_running(11)
