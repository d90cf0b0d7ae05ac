"""Clean up on Ctrl-C and termination signals before the process ends."""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

# What a scheduler sends, and a terminal that is closed. Ctrl-C unwinds by itself.
SIGNALS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


class Stopped(SystemExit):
    """A signal asked for the end; the exit status is 128 and its number, as that of a process it had killed."""

    def __init__(self, number: int):
        super().__init__(128 + number)


@contextmanager
def stoppable() -> Iterator[None]:
    """Unwind at SIGTERM and SIGHUP for as long as this lasts: processes and files with people's records do not stay behind.

    A signal that is ignored (as under ``nohup``), or that other code handles, is left alone.
    """
    main = threading.current_thread() is threading.main_thread()  # Only the main thread may set handlers.
    handled = [number for number in SIGNALS if main and signal.getsignal(number) == signal.SIG_DFL]
    for number in handled:
        signal.signal(number, _stop)
    try:
        yield
    except Stopped as stop:
        if handled:  # The code that handles a signal also reports it.
            print(stop_message(stop), file=sys.stderr)
        raise
    finally:
        for number in handled:
            signal.signal(number, signal.SIG_DFL)


def stop_message(stop: BaseException) -> str:
    """Return the final message: that the run was stopped, and how to resume it."""
    return " ".join(["Stopped.", *getattr(stop, "__notes__", ())])


@contextmanager
def preserve_handlers() -> Iterator[None]:
    """Restore signal handlers that other code replaces."""
    main = threading.current_thread() is threading.main_thread()
    if main:
        before = {number: signal.getsignal(number) for number in SIGNALS}
    else:
        before = {}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def resume_hint(sentence: str) -> Iterator[None]:
    """Add a hint on how to resume to the message of a stop."""
    try:
        yield
    except (KeyboardInterrupt, Stopped) as stop:
        stop.add_note(sentence)
        raise


def _stop(number: int, _frame) -> None:
    raise Stopped(number)
