"""Risks: a measure of each record's exposure, known to the model owner, and its predictive value.

Every risk of ``RISKS`` has one signature: a case to one number per record. Names are loaded when first used; ``__init__.pyi``
lists them.

Examples:
    Risks of an audit, and how well they predict which members an attack flags:

    >>> case = gl.testing.leaking_case()
    >>> table = gl.risks.members_by_risk(case, ["mu"])  # most exposed first
    >>> bool(table["risk_mu"].iloc[0] >= table["risk_mu"].iloc[1])
    True
    >>> rows = gl.risks.predictive_values(case, ["mu", "memorisation"], ["lira_bayes"])
    >>> [row.risk for row in rows if isinstance(row, gl.risks.PredictiveValue)]
    ['all_members', 'mu', 'memorisation']
    >>> gl.risks.compare_risks(case, "mu", "memorisation", "lira_bayes").attack
    'lira_bayes'
    >>> repeats = [rows, rows]
    >>> [row.auc.n for row in gl.risks.predictive_value_over_repeats(repeats)]
    [2, 2, 2]
    >>> gl.risks.compare_over_repeats(repeats, "mu", "memorisation", "lira_bayes").repeats
    2
    >>> member_risk, score, flag = np.array([0.1, 0.9, 0.8]), np.array([0.0, 2.0, 1.0]), np.array([0.0, 1.0, 1.0])
    >>> gl.risks.predictive_value(member_risk, score, flag, risk="mine", attack="loss").auc.value
    1.0

    Membership probabilities, and their calibration:

    >>> member = np.arange(100) % 2 == 0
    >>> probability = np.where(member, 0.8, 0.2)
    >>> round(gl.risks.calibration(probability, member).rmse.value, 2)
    0.2
    >>> [row.prior for row in gl.risks.calibration_at_priors(probability, member, priors=(0.1, 0.5))]
    [0.1, 0.5]
    >>> gl.risks.at_thresholds(probability, member, thresholds=(0.5,))[0].recall.value
    1.0
    >>> gl.risks.LogHistogram(bins=5).bins
    5

    Risks computed from a model and its members:

    >>> model, members, nonmembers = gl.testing.small_model()
    >>> gl.risks.leaf_risk(model, members).columns.tolist()
    ['id', 'label', 'leaf_size', 'alone']
    >>> gl.risks.shapr_of(model, members, nonmembers).columns.tolist()
    ['id', 'label', 'shapr']
    >>> len(gl.risks.leave_one_out(model, members, rows=[0, 1]))
    2

    Training data attribution for torch modules (extra ``attribution``):

    >>> import torch
    >>> module, x, y = torch.nn.Linear(20, 2), members[0][:10], members[1][:10]
    >>> gl.risks.influence_functions(module, x, y).shape, gl.risks.tracin(module, x, y).shape
    ((10,), (10,))
"""

import lazy_loader

from guestlist._kernels.moments import leverage

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__ += ["leverage"]
