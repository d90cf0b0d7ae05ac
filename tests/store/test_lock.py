"""The folder of an audit: one at a time, its owner's alone, and no trace of what came to nothing."""

import os
import sys
import types

import pytest

import guestlist as gl
from guestlist.errors import FolderError, InputError
from guestlist.store import folder_lock, lock
from guestlist.store.files import write_text

posix = pytest.mark.skipif(os.name != "posix", reason="there are no such permissions on Windows")


def modes(folder):
    return {path.relative_to(folder).as_posix(): path.stat().st_mode & 0o777 for path in [folder, *folder.rglob("*")]}


@pytest.mark.slow
@posix
def test_only_its_owner_can_read_an_audit(tree, blobs, tmp_path):
    folder = tmp_path / "audit"
    folder.mkdir(mode=0o755)
    found = gl.audit(tree, *blobs, references=2, attacks=["loss"], evidence=[gl.Perturbed(1)], jobs=1, folder=folder)
    found.to_html(folder / "report.html")
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
    with pytest.raises(FolderError, match="files that are not an audit"):
        gl.audit(tree, *blobs, references=0, folder=folder)
    assert [path.name for path in folder.iterdir()] == ["thesis.tex"]
    assert modes(folder)["."] == 0o755


def test_work_that_fails_before_anything_is_written_leaves_nothing(tmp_path):
    with pytest.raises(InputError), folder_lock(tmp_path / "new"):
        raise InputError("no")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(FolderError), folder_lock(tmp_path / "begun"):
        write_text(tmp_path / "begun" / "a.txt", "kept") or lock.check_not_a_file(tmp_path / "begun" / "a.txt")
    assert sorted(path.name for path in (tmp_path / "begun").iterdir()) == [lock.LOCK, "a.txt"]


# -- Windows -------------------------------------------------------------------------------------------------------


class Kernel32:
    """As Windows answers about one process that runs, one that has exited, and no other."""

    def __init__(self):
        self.exit_codes, self.open = {11: 259, 12: 1}, set()

    def OpenProcess(self, rights, inherited, process):  # noqa: N802
        self.open |= {process} & set(self.exit_codes)
        return process if process in self.exit_codes else 0

    def GetExitCodeProcess(self, handle, code):  # noqa: N802
        code._obj.value = self.exit_codes[handle]
        return 1

    def CloseHandle(self, handle):  # noqa: N802
        self.open.remove(handle)


def test_on_windows_a_process_is_looked_at_and_never_signalled(monkeypatch):
    system = Kernel32()
    monkeypatch.setattr(lock, "WINDOWS", True)
    monkeypatch.setattr(lock, "_kernel32", lambda: system)

    def kill(process, number):
        raise AssertionError("on Windows this ends the process")

    monkeypatch.setattr(os, "kill", kill)
    assert [lock.is_running(process) for process in (11, 12, 13)] == [True, False, False]
    assert system.open == set()


def test_on_windows_there_is_a_lock_too(monkeypatch, tmp_path):
    held = set()

    def locking(descriptor, mode, count):
        path = os.readlink(f"/proc/self/fd/{descriptor}") if os.path.exists("/proc/self/fd") else "the one"
        if path in held:
            raise PermissionError(13, "folder_lock")
        held.add(path)

    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setitem(sys.modules, "msvcrt", types.SimpleNamespace(locking=locking, LK_NBLCK=2))
    with folder_lock(tmp_path), pytest.raises(FolderError, match="Another audit is writing"), folder_lock(tmp_path):
        pass
