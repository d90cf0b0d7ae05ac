"""Models in ONNX files. Such a file is a graph of known operations: querying it runs no code from the file.

onnxruntime computes the outputs, and the onnx package reads the names of the classes. Both are imported only when used.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from guestlist.arguments import as_path
from guestlist.errors import InputError
from guestlist.extras import extra
from guestlist.reaching import path_exists
from guestlist.targets.scales import Scale, as_scale
from guestlist.targets.target import Reads, Target, function_target

DTYPES = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(float16)": np.float16,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(bool)": np.bool_,
    "tensor(string)": object,
}
FLOATS = ("tensor(float)", "tensor(double)", "tensor(float16)")
BATCH_SIZE = 4096  # records in one query
NO_RECIPE = "an ONNX file does not say how the model was trained"


def onnx_target(
    path: str | Path,
    *,
    classes=None,
    train: Callable | None = None,
    scale: Scale | str | None = None,
    recipe: str | None = None,
    name: str | None = None,
) -> Target:
    """Return a target from an ONNX file, as ``skl2onnx``, ``torch.onnx`` and others write it.

    Args:
        path: Path of the file. It may have one input, (records, …), or one input per column of a table.
        classes: Labels, one per column of the outputs; by default the names in the file, or 0, 1, ….
        train: ``(data, rng) -> predict``, as for ``function_target``. A file does not contain its training; without
            ``train``, only the attacks that need no references run.
        scale: Scale of the outputs: by default ``probabilities`` if the file also outputs labels, ``values`` if it has one
            output of one column, and ``logits`` otherwise.
        recipe: Text that identifies ``train`` across runs.
        name: Name in reports; by default that of the file.
    """
    path = as_path("path", path)
    session, content = _session(path)
    graph = _Graph(session, tuple(session.get_inputs()), *_outputs(path, session))
    output_scale = as_scale(graph.default_scale(classes) if scale is None else scale)
    if output_scale.name == "labels":
        raise ValueError(
            "Expected scale='labels' to be 'probabilities', 'logits' or 'values': an ONNX file tells more."
        )
    labels = _classes(path, content, graph, classes) if output_scale.has_classes else None
    cannot = {}
    if train is None:
        cannot["train"] = NO_RECIPE
        if recipe is None:
            recipe = hashlib.sha256(content).hexdigest()
    target = function_target(
        OnnxPredict(graph, labels, output_scale.name),
        classes=labels,
        train=train,
        scale=output_scale,
        recipe=recipe,
        name=name or path.name,
    )
    return replace(target, reads=_reads(graph.inputs), cannot=cannot)


def load_onnx(path: Path, *, scale: str | None, classes: Any, **_options: Any) -> Target:
    """Return the target in a file; the arguments are those of :func:`guestlist.targets.files.load_model`."""
    return onnx_target(path, scale=scale, classes=classes)


@dataclass(frozen=True)
class _Graph:
    """Session of a file, with its inputs, its output of answers, and its output of labels if it has one."""

    session: Any
    inputs: tuple[Any, ...]
    answers: Any
    label: Any

    @property
    def mapped(self) -> bool:
        """True if the answer for a record is a map from class to number, the default of skl2onnx."""
        return self.answers.type.startswith("seq(map")

    @property
    def columns(self) -> int | None:
        """Number of columns of the answers, if the file states it."""
        return None if self.mapped else _width(self.answers)

    @property
    def fixed_records(self) -> int | None:
        """Number of records in each query, if the file fixes it."""
        shape = self.inputs[0].shape
        if shape and isinstance(shape[0], int) and shape[0] > 0:
            return shape[0]
        return None

    def default_scale(self, classes) -> str:
        """Return the scale that the outputs suggest."""
        if self.mapped or self.label is not None:
            return "probabilities"
        if classes is None and (self.columns == 1 or len(self.answers.shape) == 1):
            return "values"
        return "logits"

    def run(self, x) -> tuple[Any, np.ndarray | None]:
        """Return the answers for some records, and the labels if there are any."""
        names = [output.name for output in (self.answers, self.label) if output is not None]
        outputs = self.session.run(names, _fed(self.inputs, x))
        return outputs[0], next(iter(outputs[1:]), None)


@dataclass(frozen=True)
class OnnxPredict:
    """Outputs of the model in a file, columns ordered as ``classes``; None if it predicts values."""

    graph: _Graph
    classes: np.ndarray | None
    scale: str

    def __call__(self, x) -> np.ndarray:
        fixed = self.graph.fixed_records
        step = fixed or BATCH_SIZE
        columns = 1 if self.classes is None else len(self.classes)
        parts = [self._some(_take(x, slice(start, start + step)), fixed) for start in range(0, len(x), step)]
        return np.concatenate([*parts] or [np.empty((0, columns))])

    def _some(self, x, fixed: int | None) -> np.ndarray:
        """Return the outputs of one batch; some files need a fixed number of records."""
        count = len(x)
        if fixed is not None and count < fixed:
            x = _take(x, np.minimum(np.arange(fixed), count - 1))
        outputs, label = self.graph.run(x)
        if self.classes is None:
            return np.asarray(outputs, dtype=np.float64).reshape(len(x), -1)[:count]
        answers = self._by_class(outputs, len(x))
        if label is not None:
            self._check_labels(answers, np.asarray(label).reshape(-1))
        return answers[:count]

    def _by_class(self, outputs, records: int) -> np.ndarray:
        assert self.classes is not None
        if self.graph.mapped:
            try:
                rows = [[row[label] for label in self.classes.tolist()] for row in outputs]
            except KeyError as error:
                raise InputError(
                    f"The file answers about {list(outputs[0])}, and not about the class {error}."
                ) from error
            return np.array(rows, dtype=np.float64)
        answers = np.asarray(outputs, dtype=np.float64).reshape(records, -1)
        if answers.shape[1] == 1 and len(self.classes) == 2:  # only for the second class
            first = 1 - answers if self.scale == "probabilities" else np.zeros_like(answers)
            return np.hstack([first, answers])
        return answers

    def _check_labels(self, answers: np.ndarray, label: np.ndarray) -> None:
        """Raise if the file's labels are not the likeliest classes: the classes are then in a different order."""
        assert self.classes is not None
        positions = pd.Index(self.classes).get_indexer(pd.Index(label))
        if answers.shape[1] != len(self.classes):
            return  # the check of the outputs reports it
        wrong = (positions < 0) | (answers[np.arange(len(answers)), positions] < answers.max(axis=1) - 1e-6)
        if wrong.any():
            row = int(wrong.argmax())
            raise InputError(
                f"The file answers {str(label[row])!r}, and the likeliest of the classes {', '.join(map(str, self.classes))} is "
                f"{str(self.classes[answers[row].argmax()])!r}. Give them in the order of its columns: classes=[…], or "
                "--class NAME for each."
            )


def _session(path: Path) -> tuple[Any, bytes]:
    onnxruntime = extra("onnxruntime", "A model in an ONNX file")
    if not path_exists(path) or not path.is_file():
        raise InputError(f"There is no file {path}.")
    options = onnxruntime.SessionOptions()
    # One thread, so that results do not depend on the number of cores.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4  # guestlist reports errors itself
    try:
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # its error types have no common parent
        if locale := re.search(r"locale with name:([\w.-]+)", str(error)):
            raise InputError(
                f"{path} changes the case of texts by the rules of {locale[1]}, a locale that this machine lacks. Have it made "
                f"(Debian: apt install locales-all), or write the file of a model with lowercase=False."
            ) from error
        raise InputError(f"{path} cannot be read as an ONNX file ({_line(error)}).") from error
    return session, path.read_bytes()


def _outputs(path: Path, session) -> tuple[Any, Any]:
    """Return the output of answers, and the output of labels if there is one."""
    outputs = session.get_outputs()
    label = next(
        (output for output in outputs if output.type in ("tensor(string)", "tensor(int64)") and len(output.shape) < 2),
        None,
    )
    candidates = [output for output in outputs if output.type.startswith("seq(map") or output.type in FLOATS]
    named = [output for output in candidates if "prob" in output.name.lower()] or [
        output for output in candidates if "logit" in output.name.lower()
    ]
    if len(candidates) > 1 and len(named) != 1:
        names = ", ".join(output.name for output in candidates)
        raise InputError(
            f"Which output of {path.name} holds the answers? It has {names}. Keep one of them when you write the file, or give "
            "gl.function_target a function that asks it."
        )
    if not candidates:
        names = ", ".join(f"{output.name} {output.type}" for output in outputs)
        raise InputError(f"{path.name} has no output of probabilities, logits or values, but {names}.")
    return (candidates if len(candidates) == 1 else named)[0], label


def _classes(path: Path, content: bytes, graph: _Graph, classes) -> np.ndarray:
    """Return the classes of the columns of the answers."""
    if classes is not None:
        return np.asarray(classes)
    named = _named(path, content, graph.columns)
    if named is not None:
        return np.asarray(named)
    if graph.columns is not None and (graph.label is None or graph.label.type == "tensor(int64)"):
        return np.arange(max(graph.columns, 2))
    raise InputError(
        f"{path.name} does not say what its classes are called. Give them, in the order of its columns: "
        "gl.onnx_target(path, classes=[…]), or --class NAME for each."
    )


def _named(path: Path, content: bytes, columns: int | None) -> list | None:
    """Return the class names in the last operation that has one name per column; None if there is none."""
    onnx = extra("onnx", "A model in an ONNX file")
    try:
        nodes = onnx.load_from_string(content).graph.node
    except Exception as error:
        raise InputError(f"{path} cannot be read as an ONNX file ({_line(error)}).") from error
    attributes = [
        attribute for node in nodes for attribute in node.attribute if attribute.name.startswith("classlabels")
    ]
    values = [[text.decode() for text in attribute.strings] or list(attribute.ints) for attribute in attributes]
    fitting = [names for names in values if len(names) > 1 and columns in (None, len(names))]
    return next(reversed(fitting), None)


def _width(node) -> int | None:
    """Return the number of columns of an input or output, if the file states it."""
    if len(node.shape) == 2 and isinstance(node.shape[1], int):
        return node.shape[1]
    return None


def _reads(inputs: tuple[Any, ...]) -> Reads:
    first = inputs[0]
    if len(inputs) > 1:
        return Reads(features=tuple(part.name for part in inputs))
    if DTYPES.get(first.type) is object:
        return Reads(documents=len(first.shape) < 2 or first.shape[1] == 1)
    return Reads(arrays=True, width=_width(first))


def _fed(inputs: tuple[Any, ...], x) -> dict[str, np.ndarray]:
    unknown = [node for node in inputs if node.type not in DTYPES]
    if unknown:
        raise InputError(f"The file reads {unknown[0].name} of type {unknown[0].type}, which is not known here.")
    if len(inputs) == 1:
        return {inputs[0].name: _column(x, inputs[0])}
    if not isinstance(x, pd.DataFrame):
        names = ", ".join(node.name for node in inputs)
        raise InputError(f"The file reads the columns {names}: give a table that has them, and not an array.")
    return {node.name: _column(x[node.name], node) for node in inputs}


def _column(values, node) -> np.ndarray:
    """Return values as the array that an input reads."""
    array: np.ndarray = np.asarray(values).astype(DTYPES[node.type])
    if array.ndim == 1 and len(node.shape) == 2:
        return array[:, None]
    return array


def _take(x, rows):
    return x.iloc[rows] if isinstance(x, pd.DataFrame) else x[rows]


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
