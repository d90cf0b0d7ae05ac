"""Models that can be audited: scikit-learn estimators, torch modules, functions, and files of models and predictions.

Names are loaded when first used: low-level modules read ``targets.frameworks``, and must not load the rest of the package.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
