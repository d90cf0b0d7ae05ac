"""Defences: training recipes, output defences, differentially private training.

A recipe is a frozen dataclass that is called with ``(model, data, rng)`` and returns a trained model. Names are loaded when
first used; ``__init__.pyi`` lists them.

Examples:
    Recipes for estimators, and a choice of members, for ``audit(train=…)`` and ``defend(defences={…})``:

    >>> model, (x, y), _ = gl.testing.small_model()
    >>> data, rng = gl.Data(x, y), np.random.default_rng(0)
    >>> for recipe in (gl.defences.Refit(), gl.defences.Regularised({"max_depth": 2})):
    ...     assert isinstance(recipe, gl.defences.Recipe)
    ...     print(recipe(model, data, rng).get_depth())
    4
    2
    >>> removal = gl.defences.Removal(share=0.1, risk="mu")

    Recipes for torch modules; an objective replaces the loss:

    >>> short = gl.defences.Fit(epochs=2, objective=gl.defences.LabelSmoothing(0.1))
    >>> module = gl.defences.mlp(features=20, classes=2, hidden=(8,))
    >>> trained = short(module, data, rng)
    >>> plain = gl.defences.Fit(epochs=2)
    >>> recipes = [gl.defences.Dropout(0.2, plain), gl.defences.EarlyStopping(plain), gl.defences.FgsmNoise(fit=plain)]
    >>> recipes += [gl.defences.Distillation(plain, plain), gl.defences.Selena(4, 2, plain, plain)]
    >>> recipes += [gl.defences.DpSgd(noise=1.0, rate=0.1, epochs=1), gl.defences.Searched(plain, tried=3)]
    >>> all(isinstance(recipe(module, data, rng), type(module)) for recipe in recipes)
    True
    >>> objectives = [gl.defences.L2(), gl.defences.ConfidencePenalty(), gl.defences.RelaxLoss(), gl.defences.Hamp()]
    >>> objectives += [gl.defences.AdvReg(held_out=data)]
    >>> all(isinstance(objective, gl.defences.Objective) for objective in objectives)
    True
    >>> network = gl.defences.cnn(side=28, classes=10)  # for images

    Training with a requested accuracy, as a baseline for other defences:

    >>> stopped = gl.defences.stopped_at(0.6, module, data, data, recipe=plain)
    >>> isinstance(stopped, gl.defences.Matched), stopped.wanted
    (True, 0.6)
    >>> private = gl.defences.dp_at(0.6, module, data, data, recipe=gl.defences.DpSgd(epochs=1), tries=2)
    >>> round(gl.defences.dp_sgd_for(5.2, rate=0.1, epochs=5).noise, 2)  # the least noise for epsilon 5.2
    1.0

    Output defences change the probabilities that the model returns:

    >>> outputs = [gl.defences.LabelOnly(), gl.defences.Rounded(1), gl.defences.Temperature(2.0), gl.defences.TopK(1)]
    >>> outputs += [gl.defences.MemGuard(held_out=data)]
    >>> all(isinstance(defence, gl.defences.OutputDefence) for defence in outputs)
    True
    >>> gl.defences.TopK(1).apply(np.array([[0.5, 0.2, 0.3]])).tolist()
    [[0.5, 0.25, 0.25]]

    ``DEFENCES`` lists all of them:

    >>> isinstance(gl.defences.DEFENCES["dp_sgd"], gl.defences.Defence)
    True
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
