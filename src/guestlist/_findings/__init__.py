"""Findings: one file per topic, each a frozen dataclass and a function from the case to it or None.

Names are loaded when first used; ``__init__.pyi`` lists them.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
