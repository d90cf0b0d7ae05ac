"""Arrays and texts inside a model: every attribute that its file stores, with its path."""

import copy
import json
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.lib import recfunctions
from scipy import sparse

from guestlist._util import check_exists, extra, reason
from guestlist.data import copied
from guestlist.errors import InputError
from guestlist.models.estimators import reads_of
from guestlist.models.files import load_model

ATOMS = (
    type(None),
    bool,
    int,
    float,
    complex,
    str,
    bytes,
    bytearray,
    type,
    types.ModuleType,
    types.BuiltinFunctionType,
)
MAX_DEPTH = 60  # nested parts; deeper ones are the links of a long chain, such as the nodes of a Python tree


@dataclass(frozen=True)
class ModelPart:
    """An array, a table or a list of texts inside a model.

    Attributes:
        path: Path of attributes from the model, such as ``named_steps.knn._fit_X``.
        value: Array, sparse matrix, DataFrame or list of texts; for an encoder with ``values_of``, the encoder itself.
        records: The original records, and the records after the steps of a pipeline in front of this part.
        values_of: ``"categories"`` or ``"vocabulary"`` if the value is a fitted encoder; empty otherwise.
    """

    path: str
    value: Any
    records: tuple[Any, ...]
    values_of: str = ""


def parts_of_file(path: str | Path, x: Any, *, trust: Sequence[str], allow_pickle: bool) -> Iterator[ModelPart]:
    """Yield the parts of a model file.

    Args:
        path: ``.skops``, ``.onnx``, ``.pt``, ``.pth`` or ``.json`` file; a pickle only if allowed.
        x: Records, for models with steps in front of other steps.
        trust, allow_pickle: As for :func:`guestlist.models.files.load_model`.
    """
    path = Path(path)
    check_exists(path)
    suffix = path.suffix.lower()
    readers = {".onnx": _onnx_content, ".pt": torch_content, ".pth": torch_content, ".json": _json_content}
    if suffix in readers:
        content = readers[suffix](path)
    elif suffix in (".skops", ".pkl", ".pickle", ".joblib"):
        content = load_model(path, trust=trust, allow_pickle=allow_pickle)
    else:
        raise InputError(
            f"Cannot scan {path.name}: its suffix is not .skops, .onnx, .pt, .pth or .json, nor .pkl, .pickle or .joblib "
            "(with --allow-pickle). Save the model in one of these formats."
        )
    yield from parts_of(content, x)


def parts_of(model: Any, x: Any) -> Iterator[ModelPart]:
    """Yield the parts of a fitted model, a state dictionary or any other object.

    Args:
        model: Object to traverse: attributes, items, and the state that pickle would store of compiled objects.
        x: Records as the model reads them.
    """
    yield from _visit(model, "", (_read_columns(model, x),), 0, {})


def _read_columns(model: Any, x: Any) -> Any:
    """Return the columns that an estimator was fitted on, in its order; all if it does not name them."""
    if not isinstance(x, pd.DataFrame) or not hasattr(model, "get_params"):
        return x
    reads = reads_of(model)
    if reads.features is not None and set(reads.features) <= set(x.columns):
        return x[list(reads.features)]
    if reads.arrays:
        return x.to_numpy()
    return x


def _visit(value: Any, path: str, records: tuple[Any, ...], depth: int, visited: dict[int, Any]) -> Iterator[ModelPart]:
    """Yield the parts of one object; ``visited`` keeps the objects, so that no address is reused."""
    if isinstance(value, ATOMS) or depth > MAX_DEPTH or id(value) in visited:
        return
    visited[id(value)] = value
    if (content := _content(value)) is not None:
        yield ModelPart(path, content, records)
        return
    values_of, learnt = _encoder_values(value)
    if learnt:
        yield ModelPart(f"{path}.{values_of}_".lstrip("."), value, records, values_of)
    text_parameters = _text_parameters(value)
    for name, child, child_records in _children(value, records):
        if name in text_parameters or (values_of and name.removesuffix("_") == values_of):
            continue
        separator = "" if not path or name.startswith("[") else "."
        yield from _visit(child, f"{path}{separator}{name}", child_records, depth + 1, visited)


def _content(value: Any) -> Any:
    """Return the value as an array, a table or a list of texts; None if it is none of them."""
    if isinstance(value, pd.DataFrame) or sparse.issparse(value):
        return value
    if isinstance(value, pd.Series | pd.Index):
        value = value.to_numpy()
    elif type(value).__module__.partition(".")[0] == "torch" and hasattr(value, "detach"):
        value = value.detach().cpu().float().numpy()
    elif isinstance(value, memoryview):
        value = np.asarray(value)
    elif isinstance(value, list | tuple | set | frozenset):
        value = _array(value)
    if not isinstance(value, np.ndarray):
        return None
    if value.dtype.names and all(value.dtype[name].kind in "biuf" for name in value.dtype.names):
        return recfunctions.structured_to_unstructured(value)
    if value.dtype.kind in "biuf":
        return value
    if value.dtype.kind in "OU" and value.size:
        if all(isinstance(item, str) for item in value.flat) and value.ndim == 1:
            return list(value)
        if value.ndim == 2 and all(isinstance(item, ATOMS) or np.isscalar(item) for item in value.flat):
            return pd.DataFrame(value)
    return None


def _array(values: Iterable) -> np.ndarray | None:
    """Return numbers, texts or rows of numbers as an array; None for anything else."""
    items = list(values)
    first = items[0] if items else None
    if isinstance(first, str) and all(isinstance(item, str) for item in items):
        return np.array(items, dtype=object)
    is_row = isinstance(first, list | tuple) or (isinstance(first, np.ndarray) and first.ndim == 1)
    if not is_row and not isinstance(first, int | float | np.number):
        return None
    with suppress(ValueError, TypeError, OverflowError):  # rows of different lengths
        array = np.asarray(items)
        if array.dtype.kind in "biuf":
            return array
    return None


def _encoder_values(value: Any) -> tuple[str, bool]:
    """Return the name of a fitted encoder's values, and whether they come from the records or the developer listed them.

    The name is empty for other objects.
    """
    if hasattr(value, "transform") and isinstance(getattr(value, "vocabulary_", None), dict):
        return "vocabulary", not getattr(value, "fixed_vocabulary_", False)
    if hasattr(value, "transform") and isinstance(getattr(value, "categories_", None), list):
        return "categories", isinstance(getattr(value, "categories", "auto"), str)
    return "", False


def _text_parameters(value: Any) -> set[str]:
    """Return the parameters of an estimator that hold texts, which the developer chose: they are no values of records."""
    if not hasattr(value, "get_params") or isinstance(value, type):
        return set()
    try:
        parameters = value.get_params(deep=False)
    except Exception:  # estimators of other packages can raise anything
        return set()
    return {name for name, setting in parameters.items() if isinstance(_content(setting), list)}


def _children(value: Any, records: tuple[Any, ...]) -> Iterator[tuple[str, Any, tuple[Any, ...]]]:
    """Yield (name, object, records as it reads them) for everything that an object holds."""
    if isinstance(value, Mapping):
        texts = [key for key in value if isinstance(key, str)]
        if len(texts) == len(value):
            yield "keys()", texts, records
        for key, child in value.items():
            yield f"[{key!r}]", child, records
        return
    if isinstance(value, np.ndarray):
        value = value.ravel().tolist() if value.dtype == object else ()
    if isinstance(value, list | tuple | set | frozenset):
        for position, child in enumerate(value):
            yield f"[{position}]", child, records
        return
    if isinstance(value, types.FunctionType):
        for name, cell in zip(value.__code__.co_freevars, value.__closure__ or (), strict=True):
            yield name, cell.cell_contents, records
        return
    if isinstance(value, types.MethodType):
        yield "__self__", value.__self__, records
        return
    yield from _nested_estimators(value, records)
    attributes = getattr(value, "__dict__", None)
    for name, child in (attributes or {}).items():
        if name not in _SETTINGS_OF_NAMES:
            yield str(name), child, records
    if not attributes:
        for name, child in _state(value):
            yield name, child, records


# Names of columns and of outputs are no values of records.
_SETTINGS_OF_NAMES = ("feature_names_in_", "_feature_names_out", "feature_names_")


def _nested_estimators(value: Any, records: tuple[Any, ...]) -> Iterator[tuple[str, Any, tuple[Any, ...]]]:
    """Yield the parts of a composed estimator that read the records after other parts, or some of their columns."""
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import Pipeline

    if isinstance(value, Pipeline):
        step_records = records
        for name, step in value.steps:
            yield f"named_steps.{name}", step, step_records
            step_records = (*step_records, *_transformed(step, step_records[-1]))
    elif isinstance(value, ColumnTransformer):
        for name, transformer, columns in getattr(value, "transformers_", ()):
            yield f"named_transformers_.{name}", transformer, (*records, *_columns(records[-1], columns))
    elif hasattr(value, "estimators_features_"):
        for position, columns in enumerate(value.estimators_features_):
            yield f"estimators_[{position}]", value.estimators_[position], (*records, *_columns(records[-1], columns))


def _transformed(step: Any, x: Any) -> tuple[Any, ...]:
    """Return the records after a step; nothing if the step cannot read them.

    Steps may change themselves or their input, so that copies of both are used.
    """
    if isinstance(step, str) or step is None:
        return ()
    try:
        # A deep copy of a table would share the lists in its cells.
        own_x = copied(x) if isinstance(x, np.ndarray | pd.DataFrame) else copy.deepcopy(x)
        return (copy.deepcopy(step).transform(own_x),)
    except Exception:  # a step can raise anything about records of another form
        return ()


def _columns(x: Any, columns: Any) -> tuple[Any, ...]:
    """Return some columns of the records; nothing if they have no such columns."""
    try:
        if isinstance(x, pd.DataFrame):
            positional = not isinstance(columns, str) and all(isinstance(name, int | np.integer) for name in columns)
            return (x.iloc[:, columns] if positional else x[columns],)
        return (x[:, columns],)
    except (IndexError, KeyError, TypeError, ValueError):
        return ()


def _state(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield what pickle would store of an object without ``__dict__``, such as a compiled search tree."""
    try:
        reduced = value.__reduce_ex__(2)
    except Exception:  # objects that cannot be pickled are in no file
        return
    if not isinstance(reduced, tuple):
        return
    for position, part in enumerate(reduced[1:3]):
        if isinstance(part, dict):
            yield from ((str(key), child) for key, child in part.items())
        elif isinstance(part, tuple):
            for index, child in enumerate(part):
                is_data = position == 1 and index == 0 and hasattr(value, "data")  # of scikit-learn's search trees
                yield "data" if is_data else f"{('arguments', 'state')[position]}[{index}]", child


def _json_content(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise InputError(f"Cannot read {path} as JSON ({reason(error)}). Save the model again.") from error


def torch_content(path: Path) -> Any:
    torch = extra("torch", "A model in a torch file")
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch and pickle raise many types
        raise InputError(
            f"Cannot read {path} with weights_only=True ({reason(error)}). Save the state with torch.save(model.state_dict(), "
            "path)."
        ) from error


def _onnx_content(path: Path) -> dict[str, Any]:
    """Return the constants of an ONNX file: initializers, and attributes of its nodes."""
    onnx = extra("onnx", "A model in an ONNX file")
    try:
        graph = onnx.load_from_string(path.read_bytes()).graph
    except Exception as error:  # its error types have no common parent
        raise InputError(f"Cannot read {path} as an ONNX file ({reason(error)}). Save the model again.") from error
    constants = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in graph.initializer}
    for node in graph.node:
        for attribute in node.attribute:
            value = onnx.helper.get_attribute_value(attribute)
            if hasattr(value, "data_type"):
                value = onnx.numpy_helper.to_array(value)
            elif attribute.strings:
                value = [text.decode("utf-8", "replace") for text in attribute.strings]
            elif not isinstance(value, Sequence) or isinstance(value, str | bytes):
                continue
            constants[f"{node.name or node.op_type}.{attribute.name}"] = value
    return constants
