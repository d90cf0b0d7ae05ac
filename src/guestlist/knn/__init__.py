"""Exact values of training records for K-NN classifiers: Shapley, Banzhaf, WaKA, leave-one-out.

Names are loaded when first used; ``__init__.pyi`` lists them. Importing this package compiles nothing.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
