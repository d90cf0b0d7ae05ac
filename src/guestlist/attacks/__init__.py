"""Attacks: a view of the target to one score per record; higher means likelier member.

Names are loaded when first used; ``__init__.pyi`` lists them.
"""

import lazy_loader

from guestlist._views.evidence import ModelsView

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__ += ["ModelsView"]
