"""Npz files as they come from others: what they claim is looked at before anything of that size is made."""

from __future__ import annotations

import math
import re
import struct
import warnings
import zipfile
from typing import IO, BinaryIO

import numpy as np

from guestlist.unpacking import in_bytes

# Arrays of numbers rarely compress by more than this; deflate reaches 1,000 with nothing but zeros.
MOST_TIMES = 100
# Below this nobody's memory is in danger, however well it compresses.
HARMLESS = 1 << 28
# Longer names of fields are nobody's: as numpy's own limit.
LONGEST_HEADER = 10_000
# Where the head of a part of an archive says how long its name is, and what follows the name; both stand before the part.
NAME_LENGTH = 26
# The header of an array of numbers as numpy writes it. Any other is read by numpy, for ten times as long.
PLAIN = re.compile(
    rb"\{'descr': '[<>|](?:b|i|u|f|c)(?P<width>(?<=b)1|(?<=[iu])[1248]|(?<=f)[248]|(?<=c)(?:8|16))', "
    rb"'fortran_order': (?:True|False), "
    rb"'shape': \((?P<shape>|(?:0|[1-9]\d{0,17}),|(?:0|[1-9]\d{0,17})(?:, (?:0|[1-9]\d{0,17}))+)\), \} *\n"
)


def checked_archive(file: BinaryIO) -> np.lib.npyio.NpzFile:
    """The arrays in an npz file, none of which is read yet.

    ValueError unless it holds what its headers claim, and unpacks to a size that its own makes likely.
    """
    size = file.seek(0, 2)
    file.seek(0)
    found = opened_archive(file)
    archive = found.zip
    assert archive is not None  # it is until it is closed
    unpacked = sum(part.file_size for part in archive.infolist())
    if unpacked > max(HARMLESS, MOST_TIMES * size):
        raise ValueError(
            f"it is {in_bytes(size)} that unpack to {in_bytes(unpacked)}; if that is right, write it with np.savez, which "
            "does not compress"
        )
    for part in archive.infolist():
        if part.filename.endswith(".npy"):
            _check_array(archive, part)
    return found


def opened_archive(file: BinaryIO) -> np.lib.npyio.NpzFile:
    """The same of a file whose headers are known to be true."""
    try:
        return np.lib.npyio.NpzFile(file, allow_pickle=False)  # as np.load makes it, which would also take other files
    except zipfile.BadZipFile as error:
        raise ValueError("it is not an npz archive, or a part of one") from error


def stored_array(found: np.lib.npyio.NpzFile, name: str) -> np.ndarray:
    """An array as it lies in the file, whose checksum was compared before and is not again; the same array in half the time."""
    archive = found.zip
    assert archive is not None
    part, file = archive.getinfo(f"{name}.npy"), archive.fp
    if part.compress_type != zipfile.ZIP_STORED or file is None:
        return found[name]
    file.seek(part.header_offset + NAME_LENGTH)
    name_length, more = struct.unpack("<HH", file.read(4))
    file.seek(name_length + more, 1)
    return np.lib.format.read_array(file, allow_pickle=False)


def _check_array(archive: zipfile.ZipFile, part: zipfile.ZipInfo) -> None:
    with archive.open(part) as file:
        claimed, there = _claimed(part, file), part.file_size - file.tell()
        if claimed is not None and claimed != there:
            raise ValueError(f"{part.filename} claims {in_bytes(claimed)} of numbers and holds {in_bytes(there)}")


def _claimed(part: zipfile.ZipInfo, file: IO[bytes]) -> int | None:
    """How many bytes the header of an array claims, which is read; None of objects, of which nobody can say."""
    start = file.read(10)
    if start.startswith(b"\x93NUMPY\x01\x00") and len(start) == 10:
        plain = PLAIN.fullmatch(file.read(int.from_bytes(start[8:], "little")))
        if plain:
            return int(plain["width"]) * math.prod(int(size) for size in plain["shape"].split(b",") if size.strip())
    file.seek(0)
    version = np.lib.format.read_magic(file)
    read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}.get(version)
    if read is None:  # 3.0 has names of fields in other alphabets; arrays here have no fields
        raise ValueError(f"{part.filename} has version {version} of the format, which no array of numbers needs")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of headers by old Pythons
        shape, _, dtype = read(file, max_header_size=LONGEST_HEADER)
    claimed = math.prod(shape) * dtype.itemsize
    if min(shape, default=0) < 0:
        raise ValueError(f"{part.filename} claims {in_bytes(claimed)} of numbers, which is less than none")
    return None if dtype.hasobject else claimed
