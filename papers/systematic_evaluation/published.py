"""The paper's figures, attack accuracies in per cent, to stand beside ours."""

from __future__ import annotations

METRICS = ("confidence", "entropy", "mentr")

# Table 3, Texas100: (one threshold for all classes, one per class). Adversarial regularisation is left out, as here.
TEXAS_THRESHOLDS = {
    "no defence": {"confidence": (64.7, 67.8), "entropy": (58.3, 60.2), "mentr": (64.8, 67.7)},
    "early stopping": {"confidence": (55.8, 59.4), "entropy": (53.2, 54.0), "mentr": (55.9, 59.5)},
}

# Table 2, Texas100: (training, test) accuracy of those models.
TEXAS_ACCURACY = {"no defence": (81.0, 52.3), "early stopping": (59.3, 47.9)}

# Table 4, Location30, by whether MemGuard defends the model.
MEMGUARD = {
    False: {"correctness": 68.7, "class_confidence": 76.3, "class_entropy": 61.6, "class_mentr": 78.1},
    True: {"correctness": 68.7, "class_confidence": 69.1, "class_entropy": 52.1, "class_mentr": 68.8},
}

# Table 5: the white box and the black box of Nasr et al., then the paper's own attacks.
WHITE_BOX = {
    "Purchase100": {
        "white_box": 73.4,
        "nn_nasr": 67.6,
        "correctness": 59.5,
        "class_confidence": 67.1,
        "class_entropy": 65.7,
        "class_mentr": 67.1,
    },
    "Texas100": {
        "white_box": 68.3,
        "nn_nasr": 63.0,
        "correctness": 64.4,
        "class_confidence": 67.8,
        "class_entropy": 60.2,
        "class_mentr": 67.7,
    },
    "CIFAR100": {
        "white_box": 74.3,
        "nn_nasr": 67.7,
        "correctness": 58.5,
        "class_confidence": 73.7,
        "class_entropy": 73.3,
        "class_mentr": 73.6,
    },
}
