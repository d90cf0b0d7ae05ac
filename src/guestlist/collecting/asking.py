"""What the target says about every record, before a folder is made: a record that it cannot read stops nothing else."""

from __future__ import annotations

import numpy as np

from guestlist.arrays.threads import one_thread
from guestlist.checks import asked_about
from guestlist.data import Data
from guestlist.targets.target import Target, answers


def asked(target: Target, pool: Data) -> np.ndarray:
    """(records, columns) the target's answers about the whole pool; an error names the first record that it cannot read."""
    with one_thread():  # as references are asked: the bits do not depend on how many cores there are
        return asked_about(pool, lambda some: answers(target.predict, some.x, target.columns, target.scale))
