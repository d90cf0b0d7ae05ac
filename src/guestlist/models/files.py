"""Models from files. Only formats that run no code are opened without an explicit flag."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from guestlist._util import as_path, check_exists, extra, joined_digest, reason
from guestlist.data import select_rows
from guestlist.errors import InputError
from guestlist.models.frameworks import FRAMEWORKS
from guestlist.models.scales import Scale, as_scale
from guestlist.models.target import Reads, Target, both_classes, function_target
from guestlist.models.trees import check_trees

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
ROUNDING = 1e-4  # skl2onnx computes 1 - p in single precision for two classes, which may be slightly below 0
NO_RECIPE = "an ONNX file does not store its training recipe"


def onnx_target(
    path: str | Path,
    *,
    classes=None,
    train: Callable | None = None,
    scale: Scale | str | None = None,
    recipe: str | None = None,
    name: str | None = None,
) -> Target:
    """Return a target from an ONNX file, as ``skl2onnx``, ``torch.onnx`` and others write it. It needs the extra ``onnx``.

    Args:
        path: Path of the file. It may have one input, (records, …), or one input per column of a table.
        classes: Labels, one per column of the outputs; by default the names in the file, or 0, 1, ….
        train: ``(data, rng) -> predict``, as for ``function_target``. A file does not contain its training; without
            ``train``, only the attacks that need no references run.
        scale: Scale of the outputs: by default ``probabilities`` if the file also outputs labels, ``values`` if it has one
            output of one column, and ``logits`` otherwise.
        recipe: Text that identifies ``train`` across runs; by default its source code and closure.
        name: Name in reports; by default that of the file.

    Returns:
        The target, for ``audit`` and the other entry points.

    Raises:
        InputError: If the file is missing, damaged, or has inputs or outputs that cannot be read.
        ValueError: If ``scale`` is ``labels``.

    Examples:
        >>> from skl2onnx import to_onnx
        >>> model, members, nonmembers = gl.testing.small_model()
        >>> graph = to_onnx(model, members[0][:1].astype("float32"), options={"zipmap": False})
        >>> with open("tree.onnx", "wb") as file:
        ...     size = file.write(graph.SerializeToString())
        >>> target = gl.onnx_target("tree.onnx")
        >>> target.scale.name, target.classes.tolist()
        ('probabilities', [0, 1])
    """
    path = as_path("path", path)
    session, content = _session(path)
    graph = _Graph(session, tuple(session.get_inputs()), *_outputs(path, session))
    output_scale = as_scale(graph.default_scale(classes) if scale is None else scale)
    if output_scale.name == "labels":
        raise ValueError("scale='labels' is not supported for ONNX files. Use 'probabilities', 'logits' or 'values'.")
    labels = _classes(path, content, graph, classes) if output_scale.has_classes else None
    cannot = {}
    if train is None:
        cannot["train"] = NO_RECIPE
        if recipe is None:
            recipe = joined_digest(content)
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
    """Return the target in a file; the arguments are those of :func:`guestlist.models.files.load_model`."""
    return onnx_target(path, scale=scale, classes=classes)


@dataclass(frozen=True)
class _Graph:
    """Session of a file, with its inputs, its output of outputs, and its output of labels if it has one."""

    session: Any
    inputs: tuple[Any, ...]
    outputs: Any
    label: Any

    @property
    def mapped(self) -> bool:
        """True if the answer for a record is a map from class to number, the default of skl2onnx."""
        return self.outputs.type.startswith("seq(map")

    @property
    def columns(self) -> int | None:
        """Number of columns of the outputs, if the file states it."""
        if self.mapped:
            return None
        return _width(self.outputs)

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
        if classes is None and (self.columns == 1 or len(self.outputs.shape) == 1):
            return "values"
        return "logits"

    def run(self, x) -> tuple[Any, np.ndarray | None]:
        """Return the outputs for some records, and the labels if there are any."""
        names = [output.name for output in (self.outputs, self.label) if output is not None]
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
        parts = [self._some(select_rows(x, slice(start, start + step)), fixed) for start in range(0, len(x), step)]
        outputs = np.concatenate([*parts] or [np.empty((0, columns))])
        if self.scale == "probabilities":
            outputs[(outputs < 0) & (outputs > -ROUNDING)] = 0.0
        return outputs

    def _some(self, x, fixed: int | None) -> np.ndarray:
        """Return the outputs of one batch; some files need a fixed number of records."""
        count = len(x)
        if fixed is not None and count < fixed:
            x = select_rows(x, np.minimum(np.arange(fixed), count - 1))
        outputs, label = self.graph.run(x)
        if self.classes is None:
            return np.asarray(outputs, dtype=np.float64).reshape(len(x), -1)[:count]
        outputs = self._by_class(outputs, len(x))
        if label is not None:
            self._check_labels(outputs, np.asarray(label).reshape(-1))
        return outputs[:count]

    def _by_class(self, outputs, records: int) -> np.ndarray:
        assert self.classes is not None
        if self.graph.mapped:
            try:
                rows = [[row[label] for label in self.classes.tolist()] for row in outputs]
            except KeyError as error:
                raise InputError(
                    f"The file has outputs for {list(outputs[0])}, but not for the class {error}. Check classes= "
                    "(--class)."
                ) from error
            return np.array(rows, dtype=np.float64)
        outputs = np.asarray(outputs, dtype=np.float64).reshape(records, -1)
        if outputs.shape[1] == 1 and len(self.classes) == 2:  # only for the second class
            return both_classes(outputs, self.scale)
        return outputs

    def _check_labels(self, outputs: np.ndarray, label: np.ndarray) -> None:
        """Raise if the file's labels are not the likeliest classes: the classes are then in a different order."""
        assert self.classes is not None
        positions = pd.Index(self.classes).get_indexer(pd.Index(label))
        if outputs.shape[1] != len(self.classes):
            return  # the check of the outputs reports it
        wrong = (positions < 0) | (outputs[np.arange(len(outputs)), positions] < outputs.max(axis=1) - 1e-6)
        if wrong.any():
            row = int(wrong.argmax())
            raise InputError(
                f"The file predicts {str(label[row])!r}, but the likeliest of the classes "
                f"{', '.join(map(str, self.classes))} is {str(self.classes[outputs[row].argmax()])!r}. Pass the classes "
                "in the order of its columns: classes=[…] (--class NAME for each)."
            )


def _session(path: Path) -> tuple[Any, bytes]:
    onnxruntime = extra("onnxruntime", "A model in an ONNX file")
    check_exists(path)
    options = onnxruntime.SessionOptions()
    # One thread, so that results do not depend on the number of cores.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4  # guestlist reports errors itself
    try:
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # its error types have no common parent
        if locale := re.search(r"locale with name:([\w.-]+)", str(error)):
            raise InputError(
                f"{path} changes the case of texts by the rules of the locale {locale[1]}, which this machine lacks. "
                "Install it (Debian: apt install locales-all), or export a model with lowercase=False."
            ) from error
        raise InputError(
            f"Cannot read {path} as ONNX: {reason(error)}. Check that the file is complete and in this format."
        ) from error
    return session, path.read_bytes()


def _outputs(path: Path, session) -> tuple[Any, Any]:
    """Return the output of outputs, and the output of labels if there is one."""
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
            f"{path.name} has several outputs: {names}. Export it with only the output to audit, or query it in a "
            "function and pass gl.function_target(predict, …)."
        )
    if not candidates:
        names = ", ".join(f"{output.name} {output.type}" for output in outputs)
        raise InputError(
            f"{path.name} has no output of probabilities, logits or values, only {names}. Export it with one of these."
        )
    return (candidates if len(candidates) == 1 else named)[0], label


def _classes(path: Path, content: bytes, graph: _Graph, classes) -> np.ndarray:
    """Return the classes of the columns of the outputs."""
    if classes is not None:
        return np.asarray(classes)
    named = _named(path, content, graph.columns)
    if named is not None:
        return np.asarray(named)
    if graph.columns is not None and (graph.label is None or graph.label.type == "tensor(int64)"):
        return np.arange(max(graph.columns, 2))
    raise InputError(
        f"{path.name} does not name its classes. Pass them in the order of its columns: gl.onnx_target(path, classes=[…]) "
        "(--class NAME for each)."
    )


def _named(path: Path, content: bytes, columns: int | None) -> list | None:
    """Return the class names in the last operation that has one name per column; None if there is none."""
    onnx = extra("onnx", "A model in an ONNX file")
    try:
        nodes = onnx.load_from_string(content).graph.node
    except Exception as error:
        raise InputError(
            f"Cannot read {path} as ONNX: {reason(error)}. Check that the file is complete and in this format."
        ) from error
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
        raise InputError(
            f"The file reads {unknown[0].name} of type {unknown[0].type}, which guestlist does not support. Export it with "
            "numeric or text inputs."
        )
    if len(inputs) == 1:
        return {inputs[0].name: _column(x, inputs[0])}
    if not isinstance(x, pd.DataFrame):
        raise InputError(
            f"The file reads the columns {', '.join(node.name for node in inputs)}, but the records are an array. Pass a "
            "table with these columns."
        )
    return {node.name: _column(x[node.name], node) for node in inputs}


def _column(values, node) -> np.ndarray:
    """Return values as the array that an input reads."""
    array: np.ndarray = np.asarray(values).astype(DTYPES[node.type])
    if array.ndim == 1 and len(node.shape) == 2:
        return array[:, None]
    return array


# Losses and links of boosted trees and generalised linear models; only some versions of skops trust them.
LINKS = ("HalfLogitLink", "IdentityLink", "Interval", "LogLink", "LogitLink", "MultinomialLogit")
LOSSES = (
    "AbsoluteError", "ExponentialLoss", "HalfBinomialLoss", "HalfGammaLoss", "HalfMultinomialLoss", "HalfPoissonLoss",
    "HalfSquaredError", "HalfTweedieLoss", "HalfTweedieLossIdentity", "HuberLoss", "PinballLoss",
)  # fmt: skip
# Parts of scikit-learn's models that the caller has to trust. They hold numbers, and building them runs no code from the file;
# trees are checked before they are queried.
PLAIN_TYPES = (
    "numpy.dtype",
    *(f"sklearn._loss.link.{name}" for name in LINKS),
    *(f"sklearn._loss.loss.{name}" for name in LOSSES),
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.compose._column_transformer.make_column_selector",
    "sklearn.ensemble._hist_gradient_boosting.binning._BinMapper",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
    "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
    "sklearn.tree._tree.Tree",
)


def load_model(
    path: str | Path,
    *,
    trust: Sequence[str] = (),
    allow_pickle: bool = False,
    scale: str | None = None,
    classes: Sequence[str] | Sequence[int] | None = None,
) -> Any:
    """Return the model in a file; see ``suffixes`` of ``FRAMEWORKS``.

    Args:
        path: Path of a ``.skops`` file, an ``.onnx`` file or, only if allowed, a pickle.
        trust: Names of types in the file, other than scikit-learn's and NumPy's, that may be built.
        allow_pickle: Open pickles, which can run any code of their author.
        scale: Scale of the outputs of an ONNX file, if it differs from the default.
        classes: Classes of the columns of an ONNX file's outputs, if the file does not name them.

    Returns:
        Estimator of a ``.skops`` file or a pickle; target of an ``.onnx`` file.

    Raises:
        InputError: If the file is missing, damaged, of an unknown type, or a pickle that is not allowed.
    """
    path = Path(path)
    check_exists(path)
    for framework in FRAMEWORKS.values():
        if framework.load is not None and path.suffix in framework.suffixes:
            return framework.load(path, trust=trust, allow_pickle=allow_pickle, scale=scale, classes=classes)
    raise InputError(
        f"Cannot read a model from {path.name}. Pass a .skops or .onnx file, or a pickle with --allow-pickle. In Python, load "
        "other files with their library and pass the model, for example keras.models.load_model(path), "
        "xgboost.Booster(model_file=path) or gl.torch_target(module, weights=path)."
    )


def load_estimator(path: Path, *, trust: Sequence[str], allow_pickle: bool, **_options: Any) -> Any:
    """Return the model in a ``.skops`` file or, only if allowed, in a pickle; the arguments are those of :func:`load_model`."""
    if path.suffix == ".skops":
        return _load_skops(path, trust)
    if not allow_pickle:
        raise InputError(
            f"{path} is a pickle, which can run any code when it is opened. If you trust its source, pass --allow-pickle. "
            "It is safer to save the model with skops.io.dump(model, 'model.skops')."
        )
    import joblib

    try:
        return joblib.load(path)
    except Exception as error:  # a pickle can raise anything
        raise InputError(
            f"Cannot unpickle {path} ({reason(error)}). Check that the packages it needs are installed."
        ) from error


def _load_skops(path: Path, trust: Sequence[str]):
    import skops.io

    trusted = [*PLAIN_TYPES, *trust]
    try:
        unknown = [name for name in skops.io.get_untrusted_types(file=path) if name not in trusted]
        if not unknown:
            model = skops.io.load(path, trusted=trusted)
            check_trees(model)  # querying a forged one would end the process
            return model
    except InputError as error:
        raise InputError(f"Cannot read {path} as skops: {error}") from error
    except Exception as error:
        raise InputError(
            f"Cannot read {path} as skops: {reason(error)}. Check that the file is complete and in this format."
        ) from error
    flags = " ".join(f"--trust {name}" for name in unknown)
    raise InputError(
        f"{path} holds types that skops does not load by default: {', '.join(unknown)}. If you trust them, add {flags} (in "
        "Python, load the model with skops.io.load(path, trusted=[…]) and pass it)."
    )
