"""The flow of an audit, and everything that starts from one: defend, compare, gate, play, experiment.

Names are loaded when first used; ``__init__.pyi`` lists them.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
