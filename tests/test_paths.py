"""Paths without permission or that are too long: commands report them in one line, functions raise one type of error."""

import errno
import os
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import guestlist as gl
from guestlist._util import path_exists
from guestlist.cli import main
from guestlist.cli.common import Commands
from guestlist.errors import PathError

LONG = "x" * 300
COMMANDS = {
    "audit of predictions": ["audit", "--predictions", f"{LONG}.npz"],
    "audit of a table of predictions": ["audit", "--predictions", f"{LONG}.csv"],
    "audit of a model": ["audit", "--model", f"{LONG}.skops", "--members", "a.csv", "--nonmembers", "b.csv"],
    "audit of an ONNX file": ["audit", "--model", f"{LONG}.onnx", "--members", "a.csv", "--nonmembers", "b.csv"],
    "gate": ["gate", LONG, "--max-auc", "0.6"],
    "knn values": ["knn", "values", f"{LONG}.csv", "--label", "y", "--out", "values.csv"],
    "report": ["report", LONG],
    "export": ["export", LONG],
    "collect": ["collect", LONG, "--references", "4"],
    "defend": ["defend", LONG],
    "forget": ["forget", LONG, "--ids", "1"],
    "epsilon": ["epsilon", LONG],
    "risks": ["risks", LONG],
    "trees": ["trees", "--model", f"{LONG}.skops", "--members", "a.csv", "--label", "y"],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_name_that_is_too_long_is_reported_in_one_line(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, COMMANDS[name])
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    assert result.stderr.endswith(": its name is too long. Choose a shorter one.\n")
    assert list(tmp_path.iterdir()) == []


def test_an_output_folder_with_a_name_that_is_too_long(tmp_path):
    (tmp_path / "p.csv").write_text("label,member,p_0,p_1\n" + "0,1,0.6,0.4\n1,0,0.3,0.7\n" * 20)
    arguments = ["audit", "--predictions", str(tmp_path / "p.csv"), "--no-baseline", "--out", str(tmp_path / LONG)]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2, result.output
    assert "its name is too long. Choose a shorter one" in result.stderr


def test_a_folder_that_may_not_be_entered(tmp_path):
    theirs = tmp_path / "theirs"
    theirs.mkdir(mode=0)
    if os.access(theirs, os.X_OK):
        pytest.skip("every folder is open to this user")
    with pytest.raises(PathError, match="permission denied"):
        gl.assert_private(theirs, max_auc=0.6)
    for arguments in (
        ["gate", str(theirs / "a"), "--max-auc", "0.6"],
        ["audit", "--predictions", str(theirs / "p.csv")],
    ):
        result = CliRunner().invoke(main, arguments)
        assert result.exit_code == 2, result.output
        assert "permission denied" in result.stderr


def test_functions_raise_an_error_that_a_user_can_act_on(monkeypatch):
    with pytest.raises(gl.AuditError, match="its name is too long"):
        gl.assert_private(LONG, max_auc=0.6)

    def forbidden(*_, **__):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), "theirs")

    monkeypatch.setattr(Path, "stat", forbidden)
    with pytest.raises(gl.AuditError, match=r"theirs.*permission denied"):
        gl.assert_private("theirs", max_auc=0.6)


def test_what_is_there(tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "circle").symlink_to("circle")
    assert path_exists(tmp_path / "file")
    assert not path_exists(tmp_path / "nothing")
    assert not path_exists(tmp_path / "file" / "below")
    with pytest.raises(PathError, match="symbolic links form a loop"):
        path_exists(tmp_path / "circle")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (PermissionError(errno.EACCES, "Permission denied", "a.csv"), "Error: Cannot open a.csv: permission denied"),
        (OSError(errno.ENOSPC, "No space", Path("a.csv")), "Error: Cannot open a.csv: the disk is full. Free some space.\n"),
        (OSError(errno.EIO, "Input/output error", "a\x1b.csv"), "Error: Cannot open a\N{REPLACEMENT CHARACTER}.csv: Input"),
        (OSError("no file is named: this is a bug"), None),
        (BrokenPipeError(errno.EPIPE, "Broken pipe"), ""),
    ],
)  # fmt: skip
def test_the_message_of_the_operating_system_becomes_one_line(error, message):
    @click.group(cls=Commands)
    def group(): ...

    @group.command()
    def fails():
        raise error

    result = CliRunner().invoke(group, ["fails"])
    if message is None:
        assert result.exception is error
    else:
        assert result.stderr.startswith(message)
        assert result.exit_code == (2 if message else 1)
        assert result.stderr.count("\n") == bool(message)
