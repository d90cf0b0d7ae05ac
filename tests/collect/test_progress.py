"""Progress is shown on a terminal once the work takes seconds, and changes no result."""

import io
import sys
import time
from types import SimpleNamespace

import pytest
from rich.console import Console

from guestlist import show_progress
from guestlist._collect import evaluation_progress, progress, progress_of
from guestlist._collect.progress import interactive_progress


@pytest.fixture
def screen(monkeypatch):
    """A terminal that is a text."""
    text = io.StringIO()
    monkeypatch.setattr(progress, "_console", lambda: Console(file=text, force_terminal=True, force_jupyter=False))
    return text


def slowly(count: int, seconds: float):
    for number in range(count):
        time.sleep(seconds)
        yield number


def test_values_of_the_progress_option():
    def custom(items, *, total):
        return items

    assert progress_of(True) is interactive_progress
    assert progress_of(custom) is custom
    assert progress_of(False) is None
    assert progress_of(None) is None


def test_seconds_of_work_are_shown_in_a_terminal_and_less_is_not(screen, monkeypatch):
    assert list(interactive_progress(range(5), total=5)) == list(range(5))
    assert "Training" not in screen.getvalue()
    monkeypatch.setattr(progress, "WAIT", 0.0)
    assert list(interactive_progress(slowly(3, 0.05), total=3)) == [0, 1, 2]
    assert "Training" in screen.getvalue()


def test_work_that_fails_leaves_no_bar(screen, monkeypatch):
    monkeypatch.setattr(progress, "WAIT", 0.0)
    with pytest.raises(ZeroDivisionError):
        list(interactive_progress((1 / (1 - number) for number in slowly(3, 0.05)), total=3))
    assert "\x1b[?25h" in screen.getvalue()  # the cursor is back


def test_nothing_is_shown_in_a_log_by_default(capsys):
    assert list(interactive_progress(range(20), total=20)) == list(range(20))
    assert capsys.readouterr().err == ""
    assert list(show_progress(range(20), total=20)) == list(range(20))
    assert capsys.readouterr().err.count("Training: ") == 2


def test_a_notebook_has_one_line_that_changes(monkeypatch):
    lines = []

    def display(content, *, raw, display_id):
        lines.append(("new", content["text/plain"]))
        return SimpleNamespace(update=lambda content, raw: lines.append(("same", content["text/plain"])))

    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(display=sys.modules["IPython.display"]))
    monkeypatch.setattr(progress, "_console", lambda: Console(force_jupyter=True))
    assert list(interactive_progress(range(3), total=3)) == [0, 1, 2]
    assert lines == []  # it took no time
    monkeypatch.setattr(progress, "WAIT", 0.0)
    assert list(interactive_progress(range(3), total=3)) == [0, 1, 2]
    assert [kind for kind, _ in lines] == ["new", "same", "same"]
    assert lines[-1][1].startswith("Training: 3/3")


def test_evaluation_shows_progress_where_the_callback_supports_it():
    assert evaluation_progress(None) is None
    assert evaluation_progress(lambda items, total: items) is None  # it may count models
    reported = []

    def record(items, *, total, what="Training"):
        reported.append((what, total))
        return items

    assert list(evaluation_progress(record)([1, 2], total=2)) == [1, 2]
    assert reported == [("Evaluating", 2)]


def test_judging_that_takes_no_time_is_silent(capsys):
    assert list(evaluation_progress(show_progress)(range(3), total=3)) == [0, 1, 2]
    assert capsys.readouterr().err == ""


def test_a_long_evaluation_shows_progress(capsys, monkeypatch):
    monkeypatch.setattr("guestlist._collect.progress.WAIT", 1e-9)
    assert list(evaluation_progress(show_progress)(range(3), total=3)) == [0, 1, 2]
    assert "Evaluating: 1/3" in capsys.readouterr().err
