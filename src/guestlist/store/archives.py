"""Npz files as they come from others: what they claim is looked at before anything of that size is made."""

from __future__ import annotations

import math
import warnings
import zipfile
from typing import BinaryIO

import numpy as np

from guestlist.unpacking import in_bytes

# Arrays of numbers rarely compress by more than this; deflate reaches 1,000 with nothing but zeros.
MOST_TIMES = 100
# Below this nobody's memory is in danger, however well it compresses.
HARMLESS = 1 << 28
# Longer names of fields are nobody's: as numpy's own limit.
LONGEST_HEADER = 10_000


def check_archive(file: BinaryIO) -> None:
    """Raise ValueError unless an npz file holds what its headers claim, and unpacks to a size that its own makes likely."""
    size = file.seek(0, 2)
    file.seek(0)
    if not zipfile.is_zipfile(file):
        raise ValueError("it is no npz archive, or a part of one")
    with zipfile.ZipFile(file) as archive:
        unpacked = sum(part.file_size for part in archive.infolist())
        if unpacked > max(HARMLESS, MOST_TIMES * size):
            raise ValueError(
                f"it is {in_bytes(size)} that unpack to {in_bytes(unpacked)}; if that is right, write it with np.savez, which "
                "does not compress"
            )
        for part in archive.infolist():
            if part.filename.endswith(".npy"):
                _check_array(archive, part)
    file.seek(0)


def _check_array(archive: zipfile.ZipFile, part: zipfile.ZipInfo) -> None:
    with archive.open(part) as file:
        version = np.lib.format.read_magic(file)
        read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}.get(version)
        if read is None:  # 3.0 has names of fields in other alphabets; arrays here have no fields
            raise ValueError(f"{part.filename} has version {version} of the format, which no array of numbers needs")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of headers by old Pythons
            shape, _, dtype = read(file, max_header_size=LONGEST_HEADER)
        claimed = math.prod(shape) * dtype.itemsize
        there = part.file_size - file.tell()
        if min(shape, default=0) < 0 or (claimed != there and not dtype.hasobject):
            raise ValueError(f"{part.filename} claims {in_bytes(claimed)} of numbers and holds {in_bytes(there)}")
