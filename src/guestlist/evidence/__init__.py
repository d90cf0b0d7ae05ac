"""Evidence beyond the outputs of reference models: plans that collect it, for ``audit(evidence=[…])``.

Names are loaded when first used; ``__init__.pyi`` lists them.

Examples:
    Plans are frozen dataclasses with their options:

    >>> plans = [gl.evidence.Distilled(models=8), gl.evidence.Quantiles(level=0.9), gl.evidence.FullOutputs()]
    >>> plans += [gl.evidence.LeftOut(records=10, models=4), gl.evidence.Perturbed(copies=10), gl.evidence.WhiteBox()]
    >>> plans += [gl.evidence.Leaves(), gl.evidence.Neighbours(), gl.evidence.Leverage(), gl.evidence.LossTrace()]
    >>> plans += [gl.evidence.Spaces(names=("inputs",))]
    >>> sorted(plan.name for plan in plans) == sorted(gl.evidence.EVIDENCE)
    True

    Some attacks read evidence:

    >>> model, members, nonmembers = gl.testing.small_model()
    >>> results = gl.audit(
    ...     model,
    ...     members,
    ...     nonmembers,
    ...     references=0,
    ...     attacks=["label_only"],
    ...     evidence=[gl.evidence.Perturbed(copies=10)],
    ...     baseline=False,
    ... )
    >>> bool(results.attack("label_only").auc.value > 0.5)
    True
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
