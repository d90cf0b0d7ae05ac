"""Metrics with confidence intervals: scores and truth to numbers.

Names are loaded when first used; ``__init__.pyi`` lists them.
"""

import lazy_loader

from guestlist._kernels.samples import count_unscored
from guestlist._kernels.thresholds import best_threshold

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__ += ["best_threshold", "count_unscored"]
