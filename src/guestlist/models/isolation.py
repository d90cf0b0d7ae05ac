"""Run code of a model: it gets copies of the records, and what it does to the process is undone.

A model may write on its input (``PowerTransformer(copy=False)``), change the working directory or call ``sys.exit``. None of
these may reach the records, the audit folder or the next model.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from guestlist._store import spot_digest
from guestlist._util import Stopped
from guestlist.data import Data, copied
from guestlist.errors import AuditError


@contextmanager
def model_code() -> Iterator[None]:
    """Restore the working directory and NumPy's error handling afterwards; report ``sys.exit`` as an error."""
    try:
        before = os.getcwd()
    except OSError:  # the directory was removed: there is nothing to return to
        before = None
    try:
        with numpy_defaults():
            yield
    except Stopped:  # a signal to this process, not the model
        raise
    except SystemExit as error:
        raise RuntimeError(f"the model's code called sys.exit({error.code!r})") from error
    finally:
        if before is not None:
            with suppress(OSError):
                os.chdir(before)


def numpy_defaults() -> np.errstate:
    """Use NumPy's own error handling: ``np.seterr(all="raise")`` of a script must not stop an audit half-way."""
    return np.errstate(divide="warn", over="warn", under="ignore", invalid="warn")


def query(predict: Callable[[Any], Any], x) -> Any:
    """Return a model's outputs for a copy of the records.

    A function that never writes on its input says so by ``leaves_input = True``, and gets the records themselves.
    """
    with model_code():
        return predict(x if getattr(predict, "leaves_input", False) else copied(x))


@dataclass(frozen=True)
class OnCopies:
    """A model's function that is called with copies of the records."""

    predict: Callable[[Any], Any]

    def __call__(self, x) -> Any:
        return query(self.predict, x)


@contextmanager
def unchanged(pool: Data, who: str) -> Iterator[None]:
    """Raise if the records differ afterwards: every later model would be trained on and queried with other records.

    Args:
        who: the model at work, for the message.
    """
    before = spot_digest(pool)
    yield
    if spot_digest(pool) != before:
        raise AuditError(
            f"{who} changed the records of the audit while it was trained or queried, although it was given copies. Find "
            "the code that keeps and changes the arrays passed to guestlist, and pass copies of them."
        )
