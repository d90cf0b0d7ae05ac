"""Metrics with confidence intervals: scores and truth to numbers.

Scores rise with membership. ``clusters`` are the persons that records belong to: intervals then count persons. An estimate
that a sample cannot support is withheld: all three of its numbers are NaN. Names are loaded when first used; ``__init__.pyi``
lists them.

Examples:
    >>> rng = np.random.default_rng(0)
    >>> member = np.arange(2000) < 1000
    >>> scores = rng.normal(size=2000) + member
    >>> print(gl.metrics.auc(scores, member))
    0.751 [0.729, 0.771]
    >>> print(gl.metrics.tpr_at_fpr(scores, member, fpr=0.01))
    0.096 [0.041, 0.126]
"""

import lazy_loader

from guestlist._kernels.samples import count_unscored
from guestlist._kernels.thresholds import best_threshold

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__ += ["best_threshold", "count_unscored"]
