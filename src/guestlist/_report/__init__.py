"""The report: page, terminal, notebook and exports, rendered from results.

Sentences are templates in ``text/``, a line for each, and ``templates.prose`` fills them; parts of pages are in ``html/``.
Names are loaded when first used; ``__init__.pyi`` lists them.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
