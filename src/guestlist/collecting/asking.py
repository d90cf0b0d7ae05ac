"""What the target says about every record, before a folder is made: a record that it cannot read stops nothing else."""

from __future__ import annotations

import numpy as np

from guestlist.arrays.threads import one_thread
from guestlist.calling import unchanged
from guestlist.checks import asked_about
from guestlist.collecting.consistency import Consistency, consistency
from guestlist.data import Data
from guestlist.targets.target import Target, answers


def query_target(target: Target, pool: Data) -> tuple[np.ndarray, Consistency | None]:
    """Return the (records, columns) outputs of the target for the whole pool, and how consistent they are.

    An error names the first record that the target cannot read.
    """
    # One thread, as references are asked: the bits do not depend on how many cores there are.
    with one_thread(), unchanged(pool, target.name):
        outputs = asked_about(pool, lambda some: answers(target.predict, some.x, target.columns, target.scale))
        return outputs, consistency(target, pool, outputs)
