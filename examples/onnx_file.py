"""An ONNX file has outputs but no training recipe: only attacks without references run, unless you pass a recipe.

The same from a shell: guestlist audit --model digits.onnx --members train.csv --nonmembers rest.csv --label digit
"""

from pathlib import Path

import numpy as np
from skl2onnx import to_onnx
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier

import guestlist as gl

x, y = load_digits(return_X_y=True)
x = x.astype(np.float32)
members, nonmembers = (x[:300], y[:300]), (x[300:600], y[300:600])
forest = RandomForestClassifier(20, random_state=0).fit(*members)
Path("digits.onnx").write_bytes(to_onnx(forest, x[:1]).SerializeToString())

print(gl.audit("digits.onnx", members, nonmembers, references=0).summary())


def train(data: gl.Data, rng: np.random.Generator):
    """Train like the model in the file, as far as known."""
    return RandomForestClassifier(20, random_state=int(rng.integers(2**31))).fit(data.x, data.y).predict_proba


target = gl.onnx_target("digits.onnx", train=train)
results = gl.audit(target, members, nonmembers, references=6, attacks=["loss", "lira"], jobs=1)
print(results.summary())
