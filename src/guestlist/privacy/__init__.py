"""Differential privacy: upper bounds from claims, and lower bounds on epsilon from scores.

Names are loaded when first used; ``__init__.pyi`` lists them.

Examples:
    Bounds that a claim implies for every attack:

    >>> claim = gl.privacy.Claim(epsilon=1.0, delta=1e-5)
    >>> round(gl.privacy.allowed_advantage(claim), 3), round(float(gl.privacy.allowed_tpr(claim, 0.01)), 3)
    (0.462, 0.027)

    A lower bound on epsilon from the scores of one model, trained with randomised inclusion of each record:

    >>> included = np.random.default_rng(0).random(1000) < 0.5
    >>> scores = included + np.random.default_rng(1).normal(size=1000)
    >>> methods = [gl.privacy.OneRun(), gl.privacy.OneRunCurve(), gl.privacy.OneRun(gl.privacy.FixedSize())]
    >>> [round(gl.privacy.epsilon_lower_bound(scores, included, method=method).epsilon, 1) for method in methods]
    [1.3, 1.3, 0.4]

    From the scores of one record under many models, with a corrected or held-out threshold:

    >>> runs = [gl.privacy.ClopperPearson(), gl.privacy.GaussianRuns(), gl.privacy.BayesianRuns()]
    >>> [round(gl.privacy.epsilon_lower_bound(scores, included, method=method).epsilon, 1) for method in runs]
    [0.9, 3.2, 1.3]
    >>> corrections = [gl.privacy.Bonferroni(), gl.privacy.HoldOut(), gl.privacy.Median()]
    >>> [gl.privacy.epsilon_lower_bound(scores, included, threshold=one).epsilon > 0 for one in corrections]
    [True, True, True]
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
