"""Query of the target before a folder is made, so that an unreadable record leaves nothing behind."""

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
    # One thread, as for references: the outputs do not depend on the number of cores.
    with one_thread(), unchanged(pool, target.name):
        outputs = asked_about(pool, lambda records: answers(target.predict, records.x, target.columns, target.scale))
        return outputs, consistency(target, pool, outputs)
