"""A Lightning module: references are trained by its own training_step and optimiser."""

import lightning
import numpy as np
import torch
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

import guestlist as gl


class Classifier(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(30, 32), torch.nn.ReLU(), torch.nn.Linear(32, 2))

    def forward(self, x):
        return self.layers(x)

    def training_step(self, batch, number):
        x, y = batch
        return torch.nn.functional.cross_entropy(self(x), y, label_smoothing=0.1)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=0.01)


x, y = load_breast_cancer(return_X_y=True)
x = StandardScaler().fit_transform(x).astype(np.float32)
members, nonmembers = (x[::2], y[::2]), (x[1::2], y[1::2])

recipe = gl.models.LightningFit(epochs=5, batch_size=32)
trained = gl.models.train_target(gl.torch_target(Classifier(), train=recipe), members, seed=0)
results = gl.audit(trained, members, nonmembers, references=4, attacks=["loss", "lira"], jobs=1)
print(results.summary())
