"""Paths, optional packages and termination signals: clear errors before work starts, and a clean end."""

import errno
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from guestlist.errors import WRITE_ERROR_REASONS, InputError, PathError


def path_exists(path: Path) -> bool:
    """Return whether a path exists; raise PathError if access is denied or the path is invalid.

    Depending on the Python version, ``Path.exists`` raises the system's error, or returns False if access is denied.
    """
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError, ValueError):  # a path with a zero byte cannot exist
        return False
    except OSError as error:
        raise path_error(path, error) from error
    return True


def check_exists(path: Path) -> None:
    """Raise if there is no file or folder at a path."""
    if not path_exists(path):
        raise InputError(f"There is no file {path}. Check the path.")


def path_error(path: str | Path, error: OSError) -> PathError:
    """Return the error for a ``path`` that the system refuses."""
    code = error.errno or 0
    default = (error.strerror or type(error).__name__, "Choose another path")
    why, remedy = _WHY.get(code) or WRITE_ERROR_REASONS.get(code) or default
    return PathError(f"Cannot open {path}: {why}. {remedy}.")


_FORBIDDEN = ("permission denied", "Change the permissions, or choose another path")
_WHY = {
    errno.EACCES: _FORBIDDEN,
    errno.EPERM: _FORBIDDEN,
    errno.ENOENT: ("it does not exist", "Check the path"),
    errno.ELOOP: ("its symbolic links form a loop", "Pass the path of the file itself"),
    errno.EISDIR: ("it is a folder", "Pass a file"),
}


# Package to extra. Opacus and captum depend on torch.
EXTRAS = {
    "torch": "torch",
    "opacus": "dp",
    "captum": "attribution",
    "ray": "ray",
    "onnxruntime": "onnx",
    "onnx": "onnx",
    "matplotlib": "plot",
    "mlflow": "mlflow",
    "lightning": "lightning",
    "transformers": "transformers",
}


def extra(module: str, purpose: str) -> Any:
    """Import a module of an optional package.

    Args:
        module: Full name, such as ``opacus.accountants``.
        purpose: Subject of the message if the package is missing, such as ``gl.defences.mlp``.

    Raises:
        InputError: The package cannot be imported. The message names the extra and the command that installs it.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise InputError(missing(error, module, purpose)) from error


def missing(error: ImportError, module: str, purpose: str) -> str:
    """Return the sentence for an optional package that cannot be imported."""
    package = module.partition(".")[0]
    absent = isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] == package
    why = "which is not installed" if absent else f"which cannot be imported ({error})"
    return (
        f"{purpose} needs {package}, {why}. Install the extra {EXTRAS[package]} from a checkout of guestlist: "
        f'pip install ".[{EXTRAS[package]}]"'
    )


class LazyModule:
    """A module that is imported when one of its attributes is read, so that guestlist starts without it."""

    def __init__(self, name: str):
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(import_module(self._name), attribute)


torch: Any = LazyModule("torch")


# Signals of schedulers and of closed terminals. Python already turns Ctrl-C into an exception.
SIGNALS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


class Stopped(SystemExit):
    """A signal requested termination; the exit status is 128 plus its number, as for a killed process."""

    def __init__(self, number: int):
        super().__init__(128 + number)


@contextmanager
def stoppable() -> Iterator[None]:
    """Raise at SIGTERM and SIGHUP within this context, so that processes and files with people's records are removed.

    A signal that is ignored (as under ``nohup``), or that other code handles, is not changed.
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
    before = {}
    if threading.current_thread() is threading.main_thread():
        before = {number: signal.getsignal(number) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def resume_hint(sentence: str) -> Iterator[None]:
    """Add a hint on how to resume to the message of a stop; the hint of the outermost context replaces the others."""
    try:
        yield
    except (KeyboardInterrupt, Stopped) as stop:
        stop.__notes__ = [sentence]
        raise


def _stop(number: int, _frame) -> None:
    raise Stopped(number)
