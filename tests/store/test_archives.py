"""Npz files with false headers: reported in a sentence, before their claims are used."""

import io
import zipfile

import numpy as np
import pytest

from guestlist import InputError, read_predictions
from guestlist._store import files, read_npz


def npz(path, **parts):
    """An archive of members as they are given, in bytes."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(f"{name}.npy", content)
    return path


def npy(array=(1.0, 2.0), claims=None):
    """The bytes of an array, with another shape in its header."""
    buffer = io.BytesIO()
    array = np.asarray(array)
    shape = array.shape if claims is None else claims
    np.lib.format.write_array_header_1_0(
        buffer, {"descr": np.lib.format.dtype_to_descr(array.dtype), "fortran_order": False, "shape": shape}
    )
    return buffer.getvalue() + array.tobytes()


@pytest.mark.parametrize(
    ("claims", "words"),
    [
        ((10**13 * 2,), "declares 146 TiB of numbers but holds 16 bytes"),
        ((1,), "declares 8 bytes"),
        ((-2,), "negative array size"),
    ],
)
def test_a_header_that_claims_what_is_not_there(tmp_path, claims, words):
    path = npz(tmp_path / "a.npz", probs=npy(claims=claims), labels=npy([0, 1]), member=npy([True, False]))
    with pytest.raises(ValueError, match=words):
        read_npz(path)
    with pytest.raises(InputError, match=f"{path.name} as npz.*{words}"):
        read_predictions(path)


def test_sizes_in_headers_are_those_of_the_arrays(tmp_path):
    shapes, kinds = (
        [(), (3,), (0, 4), (2, 1, 3)],
        ["?", "i1", ">u2", "i8", "f2", "f4", ">f8", "c8", "c16", "U3", "S2", "M8[s]"],
    )
    arrays = {f"{kind} {len(shape)}": np.zeros(shape, kind) for kind in kinds for shape in shapes}
    arrays["fortran"] = np.asfortranarray(np.zeros((2, 3)))
    np.savez(tmp_path / "all.npz", **arrays)
    with zipfile.ZipFile(tmp_path / "all.npz") as archive:
        claimed = {part.filename: files._claimed_size(part, archive.open(part)) for part in archive.infolist()}
    assert claimed == {f"{name}.npy": array.nbytes for name, array in arrays.items()}


def test_little_that_unpacks_to_much(tmp_path, monkeypatch):
    zeros = npy(np.zeros(400_000))  # 3.2 MB that deflate to a thousandth
    monkeypatch.setattr(files, "HARMLESS", 1 << 20)
    path = npz(tmp_path / "bomb.npz", probs=zeros)
    with pytest.raises(ValueError, match=r"KiB unpack to 3.05 MiB; .* np.savez"):
        read_npz(path)
    np.savez(tmp_path / "plain.npz", probs=np.zeros(400_000))  # the remedy
    assert not read_npz(tmp_path / "plain.npz")["probs"].any()
    monkeypatch.setattr(files, "HARMLESS", 1 << 28)
    assert read_npz(path)["probs"].shape == (400_000,)


def test_what_is_written_is_read(tmp_path):
    arrays = {
        "a": np.arange(6.0).reshape(2, 3),
        "b": np.array("text"),
        "c": np.zeros((0, 4)),
        "d": np.array(["x", "yz"]),
    }
    np.savez_compressed(tmp_path / "all.npz", **arrays)
    stored = read_npz(tmp_path / "all.npz")
    assert all(np.array_equal(stored[name], array) for name, array in arrays.items())


@pytest.mark.parametrize("compressed", [True, False])
def test_any_damage_is_a_value_error(tmp_path, compressed):
    rng = np.random.default_rng(0)
    write = np.savez_compressed if compressed else np.savez
    write(tmp_path / "whole.npz", probs=rng.random((40, 3)), labels=np.zeros(40, int))
    stored = (tmp_path / "whole.npz").read_bytes()
    damaged, refused = tmp_path / "damaged.npz", 0
    for _ in range(150):
        content = bytearray(stored)
        for index in rng.integers(len(content), size=rng.integers(1, 4)):
            content[index] = rng.integers(256)
        damaged.write_bytes(content[: rng.integers(1, len(content) + 1)] if rng.random() < 0.3 else content)
        try:
            read_npz(damaged)
        except (ValueError, OSError, KeyError):
            refused += 1
    assert refused > 75  # a changed date of an entry is harmless; a changed number is not
