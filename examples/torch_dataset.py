"""A torch Dataset instead of arrays, and a module that reads a dictionary of inputs."""

import numpy as np
import torch
from torch.utils.data import Dataset, Subset

import guestlist as gl


class Visits(Dataset):
    """Simulated hospital visits: three diagnosis codes, the age, and whether the patient came back."""

    def __init__(self, count: int):
        rng = np.random.default_rng(0)
        self.codes = torch.as_tensor(rng.integers(0, 50, size=(count, 3)))
        self.age = torch.as_tensor(rng.normal(size=count), dtype=torch.float32)
        self.label = (self.age + torch.as_tensor(rng.normal(size=count)) > 0).long()

    def __len__(self):
        return len(self.label)

    def __getitem__(self, row):
        return {"codes": self.codes[row], "age": self.age[row], "label": self.label[row]}


class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.codes = torch.nn.Embedding(50, 8)
        self.last = torch.nn.Linear(3 * 8 + 1, 2)

    def forward(self, codes, age):
        return self.last(torch.cat([self.codes(codes).flatten(1), age[:, None]], dim=1))


visits = Visits(400)
members, nonmembers = Subset(visits, range(200)), Subset(visits, range(200, 400))
target = gl.torch_target(Network(), example=visits[0], train=gl.defences.Fit(epochs=30, learning_rate=0.01))
trained = gl.models.train_target(target, members, seed=0)

results = gl.audit(trained, members, nonmembers, references=6, attacks=["loss", "lira"], jobs=1)
print(results.summary())
