"""What can be audited: scikit-learn estimators, torch modules, functions, files of models and predictions."""

from guestlist.targets.target import Predict, Reads, Target, Trainer, as_target, function_target

__all__ = ["Predict", "Reads", "Target", "Trainer", "as_target", "function_target"]
