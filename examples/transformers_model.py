"""A small transformer: references are built from its configuration and trained by transformers.Trainer."""

import numpy as np
import torch
from torch.utils.data import Dataset, Subset
from transformers import BertConfig, BertForSequenceClassification

import guestlist as gl


class Sentences(Dataset):
    """Simulated sentences of eight tokens; the first token decides the label, with some noise."""

    def __init__(self, count: int):
        rng = np.random.default_rng(0)
        self.tokens = torch.as_tensor(rng.integers(0, 40, size=(count, 8)))
        self.label = torch.as_tensor((self.tokens[:, 0].numpy() < 20) ^ (rng.random(count) < 0.2)).long()

    def __len__(self):
        return len(self.label)

    def __getitem__(self, row):
        return {"input_ids": self.tokens[row], "attention_mask": torch.ones(8).long(), "labels": self.label[row]}


sentences = Sentences(160)
members, nonmembers = Subset(sentences, range(80)), Subset(sentences, range(80, 160))
size = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
model = BertForSequenceClassification(BertConfig(vocab_size=40, max_position_embeddings=8, **size))

recipe = gl.models.HuggingFaceFit(epochs=5, batch_size=16, learning_rate=0.01)
trained = gl.models.train_target(gl.torch_target(model, example=sentences[0], train=recipe), members, seed=0)
results = gl.audit(trained, members, nonmembers, references=4, attacks=["loss", "lira"], jobs=1)
print(results.summary())
