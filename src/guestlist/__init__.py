"""Audit the membership privacy of machine-learning models: could anyone tell who was in the training set?

    import guestlist as gl
    results = gl.audit(model, members=(x, y), nonmembers=(x2, y2))
    results.to_html("report.html")

Names are loaded when first used, so that ``import guestlist`` is quick and pulls in nothing heavy.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from guestlist.attacks import ATTACKS, Attack
    from guestlist.attacks.combined import combined
    from guestlist.auditing import audit
    from guestlist.data import Data
    from guestlist.defences import Fit, cnn, mlp
    from guestlist.engine import Here
    from guestlist.engine_local import Local
    from guestlist.engine_ray import Ray
    from guestlist.errors import AuditError, AuditWarning
    from guestlist.evaluate import Estimate, agreement
    from guestlist.evidence.answers import Answers
    from guestlist.evidence.distilled import Distilled
    from guestlist.evidence.inner import Inner
    from guestlist.evidence.left_out import LeftOut
    from guestlist.evidence.perturbed import Perturbed
    from guestlist.evidence.quantiles import Quantiles
    from guestlist.growing import UntilWidth
    from guestlist.predictions import Predictions, audit_predictions
    from guestlist.results import Results, read_results
    from guestlist.risks import leaf_risk
    from guestlist.signals import SIGNALS, Signals
    from guestlist.targets import Target, function_target
    from guestlist.targets.torch_modules import torch_target

_WHERE = {
    "ATTACKS": "guestlist.attacks",
    "Answers": "guestlist.evidence.answers",
    "Attack": "guestlist.attacks",
    "AuditError": "guestlist.errors",
    "AuditWarning": "guestlist.errors",
    "Data": "guestlist.data",
    "Estimate": "guestlist.evaluate",
    "Distilled": "guestlist.evidence.distilled",
    "Fit": "guestlist.defences",
    "LeftOut": "guestlist.evidence.left_out",
    "Perturbed": "guestlist.evidence.perturbed",
    "Here": "guestlist.engine",
    "Inner": "guestlist.evidence.inner",
    "Local": "guestlist.engine_local",
    "Predictions": "guestlist.predictions",
    "Quantiles": "guestlist.evidence.quantiles",
    "Ray": "guestlist.engine_ray",
    "Results": "guestlist.results",
    "SIGNALS": "guestlist.signals",
    "Signals": "guestlist.signals",
    "Target": "guestlist.targets",
    "UntilWidth": "guestlist.growing",
    "agreement": "guestlist.evaluate",
    "audit": "guestlist.auditing",
    "audit_predictions": "guestlist.predictions",
    "cnn": "guestlist.defences",
    "combined": "guestlist.attacks.combined",
    "function_target": "guestlist.targets",
    "leaf_risk": "guestlist.risks",
    "mlp": "guestlist.defences",
    "read_results": "guestlist.results",
    "torch_target": "guestlist.targets.torch_modules",
}

__all__ = [
    "ATTACKS",
    "SIGNALS",
    "Answers",
    "Attack",
    "AuditError",
    "AuditWarning",
    "Data",
    "Distilled",
    "Estimate",
    "Fit",
    "Here",
    "Inner",
    "LeftOut",
    "Local",
    "Perturbed",
    "Predictions",
    "Quantiles",
    "Ray",
    "Results",
    "Signals",
    "Target",
    "UntilWidth",
    "agreement",
    "audit",
    "audit_predictions",
    "cnn",
    "combined",
    "function_target",
    "leaf_risk",
    "mlp",
    "read_results",
    "torch_target",
]

__version__ = "0.1.0"


def __getattr__(name: str):
    if name not in _WHERE:
        raise AttributeError(f"module 'guestlist' has no attribute {name!r}")
    value = getattr(import_module(_WHERE[name]), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted(__all__)
