"""What the target says about every record, before a folder is made: a record that it cannot read stops nothing else."""

from __future__ import annotations

import numpy as np

from guestlist.arrays.threads import one_thread
from guestlist.calling import unchanged
from guestlist.checks import asked_about
from guestlist.data import Data
from guestlist.targets.target import Target, answers


def asked(target: Target, pool: Data) -> np.ndarray:
    """(records, columns) the target's answers about the whole pool; an error names the first record that it cannot read."""
    # One thread, as references are asked: the bits do not depend on how many cores there are.
    with one_thread(), unchanged(pool, target.name):
        return asked_about(pool, lambda some: answers(target.predict, some.x, target.columns, target.scale))
