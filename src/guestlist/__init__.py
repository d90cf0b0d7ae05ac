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
    from guestlist.collecting.evidence.distilled import Distilled
    from guestlist.collecting.evidence.full_answers import FullAnswers
    from guestlist.collecting.evidence.leaves import Leaves
    from guestlist.collecting.evidence.left_out import LeftOut
    from guestlist.collecting.evidence.neighbours import Neighbours
    from guestlist.collecting.evidence.perturbed import Perturbed
    from guestlist.collecting.evidence.quantiles import Quantiles
    from guestlist.collecting.evidence.white_box import WhiteBox
    from guestlist.collecting.until import UntilWidth
    from guestlist.data import Data
    from guestlist.defences import Fit, cnn, mlp
    from guestlist.errors import AuditError, AuditWarning
    from guestlist.evaluate import Estimate, agreement
    from guestlist.findings.results import Results, read_results
    from guestlist.predictions import Predictions, audit_predictions
    from guestlist.risks import leaf_risk
    from guestlist.targets import Target, function_target
    from guestlist.targets.signals import SIGNALS
    from guestlist.targets.torch_modules import torch_target
    from guestlist.views.signals import Signals

_WHERE = {
    "ATTACKS": "guestlist.attacks",
    "Attack": "guestlist.attacks",
    "AuditError": "guestlist.errors",
    "AuditWarning": "guestlist.errors",
    "Data": "guestlist.data",
    "Estimate": "guestlist.evaluate",
    "Distilled": "guestlist.collecting.evidence.distilled",
    "Fit": "guestlist.defences",
    "FullAnswers": "guestlist.collecting.evidence.full_answers",
    "Leaves": "guestlist.collecting.evidence.leaves",
    "LeftOut": "guestlist.collecting.evidence.left_out",
    "Neighbours": "guestlist.collecting.evidence.neighbours",
    "Perturbed": "guestlist.collecting.evidence.perturbed",
    "Predictions": "guestlist.predictions",
    "Quantiles": "guestlist.collecting.evidence.quantiles",
    "Results": "guestlist.findings.results",
    "SIGNALS": "guestlist.targets.signals",
    "Signals": "guestlist.views.signals",
    "Target": "guestlist.targets",
    "UntilWidth": "guestlist.collecting.until",
    "WhiteBox": "guestlist.collecting.evidence.white_box",
    "agreement": "guestlist.evaluate",
    "audit": "guestlist.auditing",
    "audit_predictions": "guestlist.predictions",
    "cnn": "guestlist.defences",
    "combined": "guestlist.attacks.combined",
    "function_target": "guestlist.targets",
    "leaf_risk": "guestlist.risks",
    "mlp": "guestlist.defences",
    "read_results": "guestlist.findings.results",
    "torch_target": "guestlist.targets.torch_modules",
}

__all__ = [
    "ATTACKS",
    "SIGNALS",
    "Attack",
    "AuditError",
    "AuditWarning",
    "Data",
    "Distilled",
    "Estimate",
    "Fit",
    "FullAnswers",
    "Leaves",
    "LeftOut",
    "Neighbours",
    "Perturbed",
    "Predictions",
    "Quantiles",
    "Results",
    "Signals",
    "Target",
    "UntilWidth",
    "WhiteBox",
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
