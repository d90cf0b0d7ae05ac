"""Attacks: a view of the target to one score per record; higher means likelier member.

Every attack of ``ATTACKS`` has one signature, ``score(signals) -> scores``. Names are loaded when first used; ``__init__.pyi``
lists them.

Examples:
    >>> signals, member = gl.testing.target_of(gl.testing.gaussian_simulation(1.5, records=400, models=9))
    >>> lira = gl.attacks.ATTACKS["lira"]
    >>> lira.references, lira.paper
    (4, 'Carlini et al. 2022')
    >>> gl.testing.auc_by_pairs(lira.score(signals), member) > 0.7
    True

    A user-defined attack is a function:

    >>> def small_loss(signals: gl.attacks.Signals) -> np.ndarray:
    ...     return -signals.target("loss")
    >>> gl.testing.auc_by_pairs(small_loss(signals), member) > 0.6
    True
"""

import lazy_loader

from guestlist._views.evidence import ModelsView

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__ += ["ModelsView"]
