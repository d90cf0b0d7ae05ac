"""Membership games: rules that draw members, and the decision of the adversary.

A game is a frozen dataclass; ``gl.play`` and ``gl.play_many`` train its models. Names are loaded when first used;
``__init__.pyi`` lists them.

Examples:
    >>> data = gl.Data(np.zeros((100, 2)), np.arange(100) % 2)
    >>> split = gl.games.draw(gl.games.Sides(members=40, nonmembers=30), data, models=5, seed=0)
    >>> split.member.shape, int(split.members.sum()), int(split.nonmembers.sum())
    ((5, 100), 40, 30)
    >>> [gl.games.is_iid(game) for game in (gl.games.Bernoulli(0.5), gl.games.Clusters(20, 20))]
    [True, False]
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
