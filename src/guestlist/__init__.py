"""Audit the membership privacy of machine-learning models: can an attacker infer who was in the training set?

    import guestlist as gl
    results = gl.audit(model, members=(x, y), nonmembers=(x2, y2))
    results.to_html("report.html")

Names are loaded when first used, so that ``import guestlist`` is quick and pulls in nothing heavy; ``__init__.pyi``
lists where each of them is defined.
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
