"""Risks: how exposed each record is, as one number per record.

Names are loaded when first used; ``__init__.pyi`` lists them.
"""

import lazy_loader

from guestlist._kernels.moments import leverage

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__ += ["leverage"]
