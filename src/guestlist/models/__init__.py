"""Models that can be audited: estimators, torch modules, functions, model files and predictions.

Names are loaded when first used; ``__init__.pyi`` lists them.

Examples:
    The scale of a target defines the meaning of its outputs:

    >>> scales = [gl.models.Probabilities(), gl.models.Logits(), gl.models.Values(), gl.models.Labels()]
    >>> [scale.name for scale in scales]
    ['probabilities', 'logits', 'values', 'labels']
    >>> signals = gl.models.Logits().signals(np.array([[2.0, 0.0]]), np.array([0]))
    >>> round(float(signals["margin"][0]), 3), round(float(signals["loss"][0]), 3)
    (2.0, 0.127)

    An output defence changes the outputs of a target:

    >>> model, members, nonmembers = gl.testing.small_model()
    >>> target = gl.models.with_output_defence(model, gl.defences.Rounded(1))
    >>> np.unique(target.predict(members[0])[:, 0].round(3))[:2].tolist()
    [0.0, 0.1]
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
