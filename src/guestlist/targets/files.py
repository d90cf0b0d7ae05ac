"""Models from files. By default only formats that run no code from the file are opened."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from guestlist.errors import InputError
from guestlist.lines import reason
from guestlist.reaching import path_exists
from guestlist.targets.frameworks import FRAMEWORKS
from guestlist.targets.sound_trees import check_trees

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
    """
    path = Path(path)
    if not path_exists(path):
        raise InputError(f"There is no file {path}.")
    for framework in FRAMEWORKS.values():
        if framework.load is not None and path.suffix in framework.suffixes:
            return framework.load(path, trust=trust, allow_pickle=allow_pickle, scale=scale, classes=classes)
    raise InputError(
        f"Expected a .skops or .onnx file (or a pickle with --allow-pickle), found {path.name}. Torch and other models are "
        "audited from Python: gl.torch_target, gl.function_target."
    )


def load_estimator(path: Path, *, trust: Sequence[str], allow_pickle: bool, **_options: Any) -> Any:
    """Return the model in a ``.skops`` file or, only if allowed, in a pickle; the arguments are those of :func:`load_model`."""
    if path.suffix == ".skops":
        return _load_skops(path, trust)
    if not allow_pickle:
        raise InputError(
            f"{path} is a pickle, which can run any code when it is opened. If you trust whoever made it, say "
            "--allow-pickle; better, save the model with skops.io.dump(model, 'model.skops')."
        )
    import joblib

    try:
        return joblib.load(path)
    except Exception as error:  # a pickle can raise anything
        raise InputError(f"{path} cannot be unpickled ({reason(error)}).") from error


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
        raise InputError(f"{path} cannot be read as a skops file. {error}") from error
    except Exception as error:
        raise InputError(f"{path} cannot be read as a skops file ({reason(error)}).") from error
    flags = " ".join(f"--trust {name}" for name in unknown)
    raise InputError(f"{path} holds types beyond scikit-learn's: {', '.join(unknown)}. If you trust them, add: {flags}")
