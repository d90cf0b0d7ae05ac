"""What can be audited: scikit-learn estimators, torch modules, functions, files of models and predictions."""

from guestlist.targets.target import Predict, Target, Trainer, as_target, function_target

__all__ = ["Predict", "Target", "Trainer", "as_target", "function_target"]
