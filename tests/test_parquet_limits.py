"""Parquet files that unpack to more than the memory: reported in a sentence, before anything of that size is allocated."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import guestlist as gl
from guestlist import InputError
from guestlist._util import format_bytes, read_parquet, read_table, tables
from guestlist._util.tables import available_memory
from guestlist.cli import main
from guestlist.errors import FolderError

MANY = 300_000


@pytest.fixture
def small(monkeypatch):
    """A machine with a megabyte of memory."""
    monkeypatch.setattr(tables, "available_memory", lambda: 1 << 20)


def written(path, **columns):
    pq.write_table(pa.table(columns), path, compression="zstd")
    return path


def test_one_number_many_times(tmp_path, small):
    path = written(tmp_path / "zeros.parquet", x=np.zeros(MANY), y=np.zeros(MANY, dtype=np.int64))
    assert path.stat().st_size < 10_000
    with pytest.raises(
        InputError, match=r"zeros.parquet as parquet.* 300,000 rows of 2 columns .* to 4.58 MiB.* 1 MiB of"
    ):
        read_table(path)
    result = CliRunner().invoke(main, ["audit", "--predictions", str(path), "--out", str(tmp_path / "out")])
    assert result.exit_code == 2
    assert "fewer rows or columns" in result.stderr
    assert not (tmp_path / "out").exists()


def test_a_file_that_claims_more_rows_than_it_has(tmp_path):
    """The count of rows in the footer, encoded as a varint: seven bits at a time, doubled."""
    path = written(tmp_path / "claims.parquet", **{f"x{i}": np.zeros(70_000, dtype=np.int64) for i in range(50)})
    content = path.read_bytes()
    path.write_bytes(content.replace(varint(2 * 70_000), varint(2 * 1_000_000)))
    assert pq.read_metadata(path).num_rows == 1_000_000
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "available_memory", lambda: 100 << 20)
        with pytest.raises(InputError, match=r"1,000,000 rows of 50 columns unpack from .* to 381 MiB"):
            read_table(path)


def varint(number):
    content = bytearray()
    while number > 127:
        content.append(number & 127 | 128)
        number >>= 7
    return bytes([*content, number])


def test_tables_of_an_audit_are_checked_too(tmp_path, small):
    member = np.arange(40) < 20
    gl.audit_predictions(
        gl.Predictions(np.full((40, 2), 0.5), np.arange(40) % 2, member),
        folder=tmp_path,
        attacks=["loss"],
        baseline=False,
    )
    assert len(gl.read_results(tmp_path).records) == 40
    written(tmp_path / "records.parquet", id=np.zeros(MANY))
    with pytest.raises(FolderError, match=r"records.parquet is damaged \(its 300,000 rows"):
        gl.read_results(tmp_path)


def test_what_fits_is_read_as_it_was(tmp_path):
    table = pd.DataFrame({"a": [1.5, None], "b": ["x", "y"], "c": pd.Categorical(["u", "v"]), "d": [True, False]})
    table.to_parquet(tmp_path / "t.parquet")
    pd.testing.assert_frame_equal(read_parquet(tmp_path / "t.parquet"), table)


def test_memory_is_that_of_the_machine_or_of_the_container(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "CGROUP_LIMIT", tmp_path / "none")
    memory = available_memory()
    assert memory > 1 << 28
    (tmp_path / "max").write_text("max\n")
    monkeypatch.setattr(tables, "CGROUP_LIMIT", tmp_path / "max")
    assert available_memory() == memory
    (tmp_path / "less").write_text("1048576\n")
    monkeypatch.setattr(tables, "CGROUP_LIMIT", tmp_path / "less")
    assert format_bytes(available_memory()) == "1 MiB"
