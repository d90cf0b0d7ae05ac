"""Models in ONNX files. Such a file is a graph of known operations: to ask it runs no code that the file brings along.

onnxruntime answers, and the onnx package reads what the classes are called. Both are imported only when used.
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

KINDS = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(float16)": np.float16,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(bool)": np.bool_,
    "tensor(string)": object,
}
FLOATS = ("tensor(float)", "tensor(double)", "tensor(float16)")
AT_ONCE = 4096  # records that are asked about at once
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
    """A target from an ONNX file, such as ``skl2onnx``, ``torch.onnx`` and others write.

    Args:
        path: of the file. It may have one input, (records, …), or one input per column of a table.
        classes: the labels, one per column of the answers; by default those that the file names, or 0, 1, ….
        train: ``(data, rng) -> predict``, as for ``function_target``: a file does not say how the model was trained, and
            without it only the attacks that need no references run.
        scale: what the answers are: by default ``probabilities`` where the file has an output of labels too, ``values`` where
            it has one output of one column, and ``logits`` otherwise.
        recipe: text that identifies ``train`` across runs.
    """
    path = as_path("path", path)
    session, content = _session(path)
    asked = _Graph(session, tuple(session.get_inputs()), *_outputs(path, session))
    chosen = as_scale(asked.usual_scale(classes) if scale is None else scale)
    if chosen.name == "labels":
        raise ValueError(
            "Expected scale='labels' to be 'probabilities', 'logits' or 'values': an ONNX file tells more."
        )
    labels = _classes(path, content, asked, classes) if chosen.has_classes else None
    target = function_target(
        OnnxAnswers(asked, labels, chosen.name),
        classes=labels,
        train=train,
        scale=chosen,
        recipe=hashlib.sha256(content).hexdigest() if recipe is None and train is None else recipe,
        name=name or path.name,
    )
    return replace(target, reads=_reads(asked.inputs), cannot={} if train is not None else {"train": NO_RECIPE})


def load_onnx(path: Path, *, scale: str | None, classes: Any, **_options: Any) -> Target:
    """Return the target in a file; the arguments are those of :func:`guestlist.targets.files.load_model`."""
    return onnx_target(path, scale=scale, classes=classes)


@dataclass(frozen=True)
class _Graph:
    """A file that is ready to be asked, with its inputs, its output of answers, and that of labels if it has one."""

    session: Any
    inputs: tuple[Any, ...]
    answers: Any
    label: Any

    @property
    def mapped(self) -> bool:
        """Whether answers are a map from class to number for each record, as skl2onnx writes unless told otherwise."""
        return self.answers.type.startswith("seq(map")

    @property
    def columns(self) -> int | None:
        """Of the answers, where the file says it."""
        shape = self.answers.shape
        return shape[1] if not self.mapped and len(shape) == 2 and isinstance(shape[1], int) else None

    def usual_scale(self, classes) -> str:
        if self.mapped or self.label is not None:
            return "probabilities"
        return "values" if classes is None and (self.columns == 1 or len(self.answers.shape) == 1) else "logits"

    def run(self, x) -> tuple[Any, np.ndarray | None]:
        """Answers about some records, and the labels."""
        names = [self.answers.name] + ([] if self.label is None else [self.label.name])
        found = self.session.run(names, _fed(self.inputs, x))
        return found[0], (None if self.label is None else found[1])


@dataclass(frozen=True)
class OnnxAnswers:
    """What the model in a file answers, columns ordered as ``classes``; None: it predicts values."""

    graph: _Graph
    classes: np.ndarray | None
    scale: str

    def __call__(self, x) -> np.ndarray:
        size = self.graph.inputs[0].shape[0] if self.graph.inputs[0].shape else None
        fixed = size if isinstance(size, int) and size > 0 else None
        step = fixed or AT_ONCE
        parts = [self._some(_rows(x, start, step), fixed) for start in range(0, len(x), step)]
        return np.concatenate(parts) if parts else np.empty((0, 1 if self.classes is None else len(self.classes)))

    def _some(self, x, fixed: int | None) -> np.ndarray:
        """Answers about as many records as the file takes at once: some take a fixed number."""
        count = len(x)
        if fixed is not None and count < fixed:
            again = np.minimum(np.arange(fixed), count - 1)
            x = x.iloc[again] if isinstance(x, pd.DataFrame) else x[again]
        said, label = self.graph.run(x)
        if self.classes is None:
            return np.asarray(said, dtype=np.float64).reshape(len(x), -1)[:count]
        found = self._by_class(said, len(x))
        if label is not None:
            self._check_labels(found, np.asarray(label).reshape(-1))
        return found[:count]

    def _by_class(self, said, records: int) -> np.ndarray:
        assert self.classes is not None
        if self.graph.mapped:
            try:
                rows = [[row[one] for one in self.classes.tolist()] for row in said]
            except KeyError as error:
                raise InputError(f"The file answers about {list(said[0])}, and not about the class {error}.") from error
            return np.array(rows, dtype=np.float64)
        found = np.asarray(said, dtype=np.float64).reshape(records, -1)
        if found.shape[1] == 1 and len(self.classes) == 2:  # about the second class alone
            return np.hstack([1 - found if self.scale == "probabilities" else np.zeros_like(found), found])
        return found

    def _check_labels(self, found: np.ndarray, label: np.ndarray) -> None:
        """The labels that the file answers with must be the likeliest of the classes, or the classes stand in another order."""
        assert self.classes is not None
        positions = pd.Index(self.classes).get_indexer(pd.Index(label))
        if found.shape[1] != len(self.classes):
            return  # which is told where answers are checked
        wrong = (positions < 0) | (found[np.arange(len(found)), positions] < found.max(axis=1) - 1e-6)
        if wrong.any():
            row = int(wrong.argmax())
            raise InputError(
                f"The file answers {str(label[row])!r}, and the likeliest of the classes {', '.join(map(str, self.classes))} is "
                f"{str(self.classes[found[row].argmax()])!r}. Give them in the order of its columns: classes=[…], or "
                "--class NAME for each."
            )


def _session(path: Path) -> tuple[Any, bytes]:
    onnxruntime = extra("onnxruntime", "A model in an ONNX file")
    if not path_exists(path) or not path.is_file():
        raise InputError(f"There is no file {path}.")
    options = onnxruntime.SessionOptions()
    # One thread, as everything here: the bits do not depend on how many there are.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4  # what is wrong is told by us
    try:
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # its own kinds, which share no parent
        if locale := re.search(r"locale with name:([\w.-]+)", str(error)):
            raise InputError(
                f"{path} changes the case of texts by the rules of {locale[1]}, a locale that this machine lacks. Have it made "
                f"(Debian: apt install locales-all), or write the file of a model with lowercase=False."
            ) from error
        raise InputError(f"{path} cannot be read as an ONNX file ({_line(error)}).") from error
    return session, path.read_bytes()


def _outputs(path: Path, session) -> tuple[Any, Any]:
    """The output that holds the answers, and that which holds labels, if there is one."""
    outputs = session.get_outputs()
    label = next(
        (one for one in outputs if one.type in ("tensor(string)", "tensor(int64)") and len(one.shape) < 2), None
    )
    found = [one for one in outputs if one.type.startswith("seq(map") or one.type in FLOATS]
    named = [one for one in found if "prob" in one.name.lower()] or [
        one for one in found if "logit" in one.name.lower()
    ]
    if len(found) > 1 and len(named) != 1:
        raise InputError(
            f"Which output of {path.name} holds the answers? It has {', '.join(one.name for one in found)}. Keep one of them "
            "when you write the file, or give gl.function_target a function that asks it."
        )
    if not found:
        names = ", ".join(f"{one.name} {one.type}" for one in outputs)
        raise InputError(f"{path.name} has no output of probabilities, logits or values, but {names}.")
    return (found[0] if len(found) == 1 else named[0]), label


def _classes(path: Path, content: bytes, graph: _Graph, classes) -> np.ndarray:
    """What the columns of the answers stand for."""
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
    """The names of the classes in the last operation that names as many as there are columns."""
    onnx = extra("onnx", "A model in an ONNX file")
    try:
        nodes = onnx.load_from_string(content).graph.node
    except Exception as error:
        raise InputError(f"{path} cannot be read as an ONNX file ({_line(error)}).") from error
    kept = [one for node in nodes for one in node.attribute if one.name.startswith("classlabels")]
    values = [[text.decode() for text in one.strings] or list(one.ints) for one in kept]
    fitting = [names for names in values if len(names) > 1 and columns in (None, len(names))]
    return fitting[-1] if fitting else None


def _reads(inputs: tuple[Any, ...]) -> Reads:
    one = inputs[0]
    if len(inputs) > 1:
        return Reads(features=tuple(part.name for part in inputs))
    if KINDS.get(one.type) is object:
        return Reads(documents=len(one.shape) < 2 or one.shape[1] == 1)
    width = one.shape[1] if len(one.shape) == 2 and isinstance(one.shape[1], int) else None
    return Reads(arrays=True, width=width)


def _fed(inputs: tuple[Any, ...], x) -> dict[str, np.ndarray]:
    unknown = [one for one in inputs if one.type not in KINDS]
    if unknown:
        raise InputError(f"The file reads {unknown[0].name} of type {unknown[0].type}, which is not known here.")
    if len(inputs) == 1:
        values: np.ndarray = np.asarray(x.to_numpy() if isinstance(x, pd.DataFrame) else x).astype(
            KINDS[inputs[0].type]
        )
        return {inputs[0].name: values[:, None] if values.ndim == 1 and len(inputs[0].shape) == 2 else values}
    if not isinstance(x, pd.DataFrame):
        names = ", ".join(one.name for one in inputs)
        raise InputError(f"The file reads the columns {names}: give a table that has them, and not an array.")
    return {one.name: _column(x[one.name], one) for one in inputs}


def _column(values: pd.Series, one) -> np.ndarray:
    column = values.to_numpy().astype(KINDS[one.type])
    return column[:, None] if len(one.shape) == 2 else column


def _rows(x, start: int, count: int):
    return x.iloc[start : start + count] if isinstance(x, pd.DataFrame) else x[start : start + count]


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
