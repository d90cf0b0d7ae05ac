"""Progress on stderr, with an estimate of the time left."""

from __future__ import annotations

from collections.abc import Iterable


def show_progress(items: Iterable, *, total: int, what: str = "Training") -> Iterable:
    """The same items, with a bar in a terminal and a line now and then elsewhere (a log, a CI run)."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    if not console.is_terminal:
        yield from _lines(items, total, what, console)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        yield from bar.track(items, total=total, description=what)


def _lines(items: Iterable, total: int, what: str, console) -> Iterable:
    """A line at the start, about every tenth of the work, and at the end."""
    import time

    start, step = time.monotonic(), max(1, total // 10)
    for done, item in enumerate(items, start=1):
        yield item
        if done % step == 0 or done == total:
            taken = time.monotonic() - start
            console.print(
                f"{what}: {done}/{total}, {taken:.0f} s, about {taken / done * (total - done):.0f} s left",
                highlight=False,
            )
