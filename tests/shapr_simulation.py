"""A small simulation for the SHAPr paper's code: clusters that networks memorise."""

import numpy as np
from papers.shapr import models
from papers.shapr.data import Pool, Source

SOURCE = Source("", "CLUSTERS", None, 120, 120)
SMALL = models.Setting(hidden=(48, 24), epochs=40, models=((1000, 9),), repeats=3)


def clusters():
    """Overlapping classes in many dimensions: a network memorises its members and errs on others."""
    rng = np.random.default_rng(0)
    y = rng.integers(4, size=300)
    x = (1.5 * np.eye(4, 40)[y] + rng.normal(size=(300, 40))).astype(np.float32)
    return Pool("clusters", x, y, {"sex": np.where(rng.random(300) < 0.6, "Male", "Female")})
