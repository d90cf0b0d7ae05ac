"""A limit for CI: does the *upper* end of an interval stay below it?

A gate that looked at the estimates alone would pass a model because it was audited with few records. This one
passes only what the audit could show, and only where the audit is one that could have shown it.
"""

from guestlist.findings.gated import Demand, Gated, Limit, OpenCheck, Sizes, Verdict
from guestlist.gate.demands import DEMANDS
from guestlist.gate.holding import evaluate_policy, evaluate_policy_file, write_gate
from guestlist.gate.judging import evaluate_limit
from guestlist.gate.policy import Policy, PolicyFile, read_policy, tpr_limit

__all__ = [
    "DEMANDS",
    "Demand",
    "Gated",
    "Limit",
    "OpenCheck",
    "Policy",
    "PolicyFile",
    "Sizes",
    "Verdict",
    "evaluate_limit",
    "evaluate_policy",
    "evaluate_policy_file",
    "read_policy",
    "tpr_limit",
    "write_gate",
]
