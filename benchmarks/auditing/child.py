"""Run in the peer's environment: scores on stdin, bounds on stdout."""

import json
import sys

import numpy as np
from jax_privacy import auditing

worlds = json.load(sys.stdin)
bounds = []
for world in worlds:
    scores, member = np.array(world["scores"]), np.array(world["member"], dtype=bool)
    auditor = auditing.CanaryScoreAuditor(scores[member], scores[~member])
    level, delta = world["level"], world["delta"]
    if world["bound"] == "gdp":
        epsilon = auditor.epsilon_from_gdp(level, delta)
    else:
        at = auditing.Explicit(world["line"])
        if world["bound"] == "clopper_pearson":
            epsilon = auditor.epsilon_clopper_pearson(level, delta, one_sided=False, threshold_strategy=at)
        elif world["bound"] == "one_run":
            epsilon = auditor.epsilon_one_run(level, delta, threshold_strategy=at)
        else:
            epsilon = auditor.epsilon_one_run_fdp(level, delta, threshold_strategy=at)
    bounds.append(float(epsilon))
print(json.dumps(bounds))
