"""Progress on stderr, or in a notebook, with an estimate of the time left."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from inspect import signature
from threading import Timer

from guestlist.arguments import shown
from guestlist.collecting.engines.engine import Progress

WAIT = 2.0  # seconds of work before anything is shown where nobody asked


def progress_of(progress: Progress | bool | None) -> Progress | None:
    """What a function was asked for: ``True`` shows it where somebody looks, once the work takes seconds."""
    if progress is None or isinstance(progress, bool):
        return interactive_progress if progress else None
    if not callable(progress):
        raise ValueError(
            f"Expected progress={shown(progress)} to be True, False, or what wraps an iterable, such as tqdm."
        )
    return progress


def with_description(progress: Progress | None, what: str) -> Progress | None:
    """The same for another kind of work, where it can say of which kind it is."""
    if progress is None or "what" not in signature(progress).parameters:
        return progress
    return partial(progress, what=what)


def evaluation_progress(progress: Progress | None, what: str = "Judging") -> Progress | None:
    """The same for judging, if it can say what it is about: what a user gave may count models."""
    if progress is None or "what" not in signature(progress).parameters:
        return None
    more = {"wait": WAIT} if "wait" in signature(progress).parameters else {}
    return partial(progress, what=what, **more)


def show_progress(items: Iterable, *, total: int, what: str = "Training", wait: float = 0.0) -> Iterable:
    """The same items, with a bar in a terminal and a line now and then elsewhere (a log, a CI run).

    Args:
        wait: seconds of work before anything is shown.
    """
    console = _console()
    if not console.is_terminal:
        step, start = max(1, total // 10), time.monotonic()  # about every tenth of the work, and the end

        def show(done: int, line: str) -> None:
            if (done % step == 0 or done == total) and time.monotonic() - start >= wait:
                console.print(line, highlight=False)

        yield from _lines(items, total, what, show)
        return
    if wait:
        yield from _after_a_while(items, total, what, console)
        return
    with _bar(console) as bar:
        yield from bar.track(items, total=total, description=what)


def interactive_progress(items: Iterable, *, total: int, what: str = "Training") -> Iterable:
    """The same items, with a bar in a terminal or a line in a notebook after some seconds; nothing in a log or a pipe."""
    console = _console()
    if console.is_jupyter:
        yield from _in_notebook(items, total, what)
    elif console.is_terminal:
        yield from _after_a_while(items, total, what, console)
    else:
        yield from items


def _after_a_while(items: Iterable, total: int, what: str, console) -> Iterator:
    bar = _bar(console)
    task, later = bar.add_task(what, total=total), Timer(WAIT, bar.start)
    later.daemon = True
    later.start()
    try:
        for item in items:
            yield item
            bar.advance(task)
    finally:
        later.cancel()
        later.join()  # it may be about to start the bar
        bar.stop()


def _in_notebook(items: Iterable, total: int, what: str) -> Iterator:
    from IPython.display import display

    start, handle = time.monotonic(), None

    def show(done: int, line: str) -> None:
        nonlocal handle
        content = {"text/plain": line}
        if handle is not None:
            handle.update(content, raw=True)
        elif time.monotonic() - start >= WAIT:
            handle = display(content, raw=True, display_id=True)

    yield from _lines(items, total, what, show)


def _lines(items: Iterable, total: int, what: str, show: Callable[[int, str], None]) -> Iterator:
    """The same items; after each, how many are done and a line about it are shown."""
    start = time.monotonic()
    for done, item in enumerate(items, start=1):
        yield item
        taken = time.monotonic() - start
        left = taken / done * (total - done)
        show(done, f"{what}: {done}/{total}, {taken:.0f} s, about {left:.0f} s left")


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

    left = (TextColumn("left"), TimeRemainingColumn())
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), *left)
    return Progress(*columns, console=console, transient=True)
