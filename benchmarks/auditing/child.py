"""Run in the peer's environment: scores on stdin, bounds on stdout."""

import json
import sys

import numpy as np
from jax_privacy import auditing

simulations = json.load(sys.stdin)
bounds = []
for simulation in simulations:
    scores, member = np.array(simulation["scores"]), np.array(simulation["member"], dtype=bool)
    auditor = auditing.CanaryScoreAuditor(scores[member], scores[~member])
    level, delta = simulation["level"], simulation["delta"]
    if simulation["bound"] == "gdp":
        epsilon = auditor.epsilon_from_gdp(level, delta)
    else:
        at = auditing.Explicit(simulation["threshold"])
        if simulation["bound"] == "clopper_pearson":
            epsilon = auditor.epsilon_clopper_pearson(level, delta, one_sided=False, threshold_strategy=at)
        elif simulation["bound"] == "one_run":
            epsilon = auditor.epsilon_one_run(level, delta, threshold_strategy=at)
        else:
            epsilon = auditor.epsilon_one_run_fdp(level, delta, threshold_strategy=at)
    bounds.append(float(epsilon))
print(json.dumps(bounds))
