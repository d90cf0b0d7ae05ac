"""Npz files from others: the sizes that they claim are checked before arrays of that size are made."""

from __future__ import annotations

import math
import re
import struct
import warnings
import zipfile
from typing import IO, BinaryIO

import numpy as np

from guestlist.unpacking import format_bytes

# Arrays of numbers rarely compress by more than this factor; deflate reaches 1,000 with only zeros.
MAX_COMPRESSION = 100
# Below this size, in bytes, memory is not in danger, however well an archive compresses.
HARMLESS = 1 << 28
MAX_HEADER = 10_000  # same limit as NumPy
# Offset, in the header of a part of an archive, of the lengths of its name and of the field after it.
NAME_LENGTH = 26
# Header of an array of numbers as NumPy writes it. NumPy reads any other, which takes ten times as long.
PLAIN_HEADER = re.compile(
    rb"\{'descr': '[<>|](?:b|i|u|f|c)(?P<width>(?<=b)1|(?<=[iu])[1248]|(?<=f)[248]|(?<=c)(?:8|16))', "
    rb"'fortran_order': (?:True|False), "
    rb"'shape': \((?P<shape>|(?:0|[1-9]\d{0,17}),|(?:0|[1-9]\d{0,17})(?:, (?:0|[1-9]\d{0,17}))+)\), \} *\n"
)


def checked_archive(file: BinaryIO) -> np.lib.npyio.NpzFile:
    """Open an npz file whose headers are checked, and whose arrays are not read yet.

    Raises:
        ValueError: An array is not as large as its header claims, or the archive unpacks to an unlikely size.
    """
    size = file.seek(0, 2)
    file.seek(0)
    npz = opened_archive(file)
    archive = npz.zip
    assert archive is not None  # it is until it is closed
    unpacked = sum(part.file_size for part in archive.infolist())
    if unpacked > max(HARMLESS, MAX_COMPRESSION * size):
        raise ValueError(
            f"it is {format_bytes(size)} that unpack to {format_bytes(unpacked)}; if that is right, write it with np.savez, "
            "which does not compress"
        )
    for part in archive.infolist():
        if part.filename.endswith(".npy"):
            _check_array(archive, part)
    return npz


def opened_archive(file: BinaryIO) -> np.lib.npyio.NpzFile:
    """Open an npz file whose headers were checked before."""
    try:
        return np.lib.npyio.NpzFile(file, allow_pickle=False)  # as np.load makes it, which also reads other formats
    except zipfile.BadZipFile as error:
        raise ValueError("it is not an npz archive, or a part of one") from error


def stored_array(npz: np.lib.npyio.NpzFile, name: str) -> np.ndarray:
    """Read an array whose checksum was compared before, in half the time that a comparison takes."""
    archive = npz.zip
    assert archive is not None
    part = archive.getinfo(f"{name}.npy")
    file = archive.fp
    if part.compress_type != zipfile.ZIP_STORED or file is None:
        return npz[name]
    file.seek(part.header_offset + NAME_LENGTH)
    name_length, extra_length = struct.unpack("<HH", file.read(4))
    file.seek(name_length + extra_length, 1)
    return np.lib.format.read_array(file, allow_pickle=False)


def _check_array(archive: zipfile.ZipFile, part: zipfile.ZipInfo) -> None:
    with archive.open(part) as file:
        claimed = _claimed_size(part, file)
        held = part.file_size - file.tell()
        if claimed is not None and claimed != held:
            raise ValueError(
                f"{part.filename} claims {format_bytes(claimed)} of numbers and holds {format_bytes(held)}"
            )


def _claimed_size(part: zipfile.ZipInfo, file: IO[bytes]) -> int | None:
    """Read the header of an array, and return the bytes that it claims; None for objects."""
    start = file.read(10)
    if start.startswith(b"\x93NUMPY\x01\x00") and len(start) == 10:
        plain = PLAIN_HEADER.fullmatch(file.read(int.from_bytes(start[8:], "little")))
        if plain:
            return int(plain["width"]) * math.prod(int(size) for size in plain["shape"].split(b",") if size.strip())
    file.seek(0)
    version = np.lib.format.read_magic(file)
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    if version not in readers:  # 3.0 has names of fields in other alphabets; arrays here have no fields
        raise ValueError(f"{part.filename} has version {version} of the format, which no array of numbers needs")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about headers by old Pythons
        shape, _, dtype = readers[version](file, max_header_size=MAX_HEADER)
    claimed = math.prod(shape) * dtype.itemsize
    if min(shape, default=0) < 0:
        raise ValueError(f"{part.filename} claims {format_bytes(claimed)} of numbers, which is less than none")
    return None if dtype.hasobject else claimed
