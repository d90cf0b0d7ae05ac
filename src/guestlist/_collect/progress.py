"""Progress on stderr or in a notebook, with an estimate of the remaining time."""

import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from inspect import signature
from threading import Timer

from guestlist._collect.engines.engine import Progress
from guestlist._util import short_repr

WAIT = 2.0  # seconds of work before anything is shown by default


def progress_of(progress: Progress | bool | None) -> Progress | None:
    """Return the progress that a user chose; ``True`` shows it in a terminal or a notebook."""
    if progress is None or progress is False:
        return None
    if progress is True:
        return interactive_progress
    if not callable(progress):
        raise ValueError(
            f"progress={short_repr(progress)} must be True, False, or a function that wraps an iterable, such as tqdm."
        )
    return progress


def with_description(progress: Progress | None, what: str) -> Progress | None:
    """Set the description, if the progress accepts one."""
    if progress is None or "what" not in signature(progress).parameters:
        return progress
    return partial(progress, what=what)


def evaluation_progress(progress: Progress | None, what: str = "Evaluating") -> Progress | None:
    """Return progress of the evaluation; None if it accepts no description, because a user's progress may count models."""
    if progress is None or "what" not in signature(progress).parameters:
        return None
    if "wait" in signature(progress).parameters:
        return partial(progress, what=what, wait=WAIT)
    return partial(progress, what=what)


def show_progress(items: Iterable, *, total: int, what: str = "Training", wait: float = 0.0) -> Iterable:
    """Yield the items, with a bar in a terminal after some seconds, and two lines elsewhere (a log, a CI run).

    Args:
        items: Iterable to report on.
        total: Number of items.
        what: Description of the work.
        wait: Seconds of work before a line is shown outside a terminal.

    Yields:
        The items, unchanged.

    Examples:
        >>> sum(gl.show_progress(range(4), total=4, what="Adding", wait=60))
        6
    """
    console = _console()
    if console.is_terminal:
        yield from _delayed_bar(items, total, what, console)
        return
    start = time.monotonic()

    def show(done: int, line: str) -> None:
        if done in (max(1, total // 2), total) and time.monotonic() - start >= wait:
            console.print(line, highlight=False)

    yield from _lines(items, total, what, show)


def interactive_progress(items: Iterable, *, total: int, what: str = "Training") -> Iterable:
    """Yield the items, with a bar in a terminal or a line in a notebook after some seconds."""
    console = _console()
    if console.is_jupyter:
        yield from _in_notebook(items, total, what)
    elif console.is_terminal:
        yield from _delayed_bar(items, total, what, console)
    else:
        yield from items


def _delayed_bar(items: Iterable, total: int, what: str, console) -> Iterator:
    bar = _bar(console)
    task = bar.add_task(what, total=total)
    timer = Timer(WAIT, bar.start)
    timer.daemon = True
    timer.start()
    try:
        for item in items:
            yield item
            bar.advance(task)
    finally:
        timer.cancel()
        timer.join()  # It may be about to start the bar.
        bar.stop()


def _in_notebook(items: Iterable, total: int, what: str) -> Iterator:
    from IPython.display import display

    start = time.monotonic()
    handle = None

    def show(done: int, line: str) -> None:
        nonlocal handle
        content = {"text/plain": line}
        if handle is not None:
            handle.update(content, raw=True)
        elif time.monotonic() - start >= WAIT:
            handle = display(content, raw=True, display_id=True)

    yield from _lines(items, total, what, show)


def _lines(items: Iterable, total: int, what: str, show: Callable[[int, str], None]) -> Iterator:
    """Yield the items; after each, show the number that is done and a line about it."""
    start = time.monotonic()
    for done, item in enumerate(items, start=1):
        yield item
        elapsed = time.monotonic() - start
        remaining = elapsed / done * (total - done)
        show(done, f"{what}: {done}/{total}, {elapsed:.0f} s, about {remaining:.0f} s left")


def _console():
    from rich.console import Console

    return Console(stderr=True)


def _bar(console):
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
    )
