"""Optional packages, and the extra of guestlist that installs each."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from guestlist.errors import InputError

# Package to extra. Opacus and captum depend on torch.
EXTRAS = {
    "torch": "torch",
    "opacus": "dp",
    "captum": "attribution",
    "ray": "ray",
    "onnxruntime": "onnx",
    "onnx": "onnx",
}


def extra(module: str, purpose: str) -> Any:
    """Import a module of an optional package.

    Args:
        module: Full name, such as ``opacus.accountants``.
        purpose: Subject of the message if the package is missing, such as ``gl.mlp``.

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
