"""A torch module: its training recipe trains the references too. For two classes, one output is enough."""

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler
from torch import nn

import guestlist as gl

x, y = load_breast_cancer(return_X_y=True)
x = StandardScaler().fit_transform(x)
y = np.array(["malignant", "benign"])[y]
members, nonmembers = (x[::2], y[::2]), (x[1::2], y[1::2])

network = nn.Sequential(nn.Linear(30, 64), nn.ReLU(), nn.Linear(64, 1))  # logits: no sigmoid at the end
recipe = gl.defences.Fit(epochs=30, batch_size=32, learning_rate=0.01)
# To use your own loop, pass train=your_function, where your_function(data, rng) returns a module.
target = gl.torch_target(network, classes=["malignant", "benign"], train=recipe)
trained = gl.models.train_target(target, members, seed=0)

results = gl.audit(trained, members, nonmembers, references=6, attacks=["loss", "lira"], jobs=1)
print(results.summary())
