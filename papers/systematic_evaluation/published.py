"""Published results of the paper, attack accuracies in per cent."""

from __future__ import annotations

METRICS = ("confidence", "entropy", "mentr")

# The network on outputs, then the paper's attacks.
ATTACKS = ("nn_shokri", "nn_nasr", "correctness", "class_confidence", "class_entropy", "class_mentr")
NETWORKS = ATTACKS[:2]

# Table 2: (training, test) accuracy; then the accuracy of the attacks of Nasr et al., and of the paper's attacks.
BY_ADV_REG = {
    "Purchase100, no defence": ((99.8, 80.9), (67.6, 59.5, 67.1, 65.7, 67.1)),
    "Purchase100, AdvReg": ((92.7, 76.6), (51.6, 58.1, 59.4, 55.8, 59.5)),
    "Purchase100, early stopping": ((92.9, 76.4), (None, 58.2, 59.2, 55.9, 59.1)),
    "Texas100, no defence": ((81.0, 52.3), (63.0, 64.4, 67.8, 60.2, 67.7)),
    "Texas100, AdvReg": ((56.6, 46.4), (51.0, 55.1, 58.6, 53.5, 58.6)),
    "Texas100, early stopping": ((59.3, 47.9), (None, 55.7, 59.4, 54.0, 59.5)),
}

# Table 4, the same with MemGuard and the attacks of Jia et al.
BY_MEMGUARD = {
    "Location30, no defence": ((100.0, 60.7), (81.1, 68.7, 76.3, 61.6, 78.1)),
    "Location30, MemGuard": ((100.0, 60.7), (50.1, 68.7, 69.1, 52.1, 68.8)),
    "Texas100, no defence": ((99.95, 51.77), (74.0, 74.2, 79.0, 66.6, 79.4)),
    "Texas100, MemGuard": ((99.95, 51.77), (50.3, 74.2, 74.1, 54.6, 74.0)),
}

# Table 3, Texas100: (one threshold for all classes, one per class).
TEXAS_THRESHOLDS = {
    "no defence": {"confidence": (64.7, 67.8), "entropy": (58.3, 60.2), "mentr": (64.8, 67.7)},
    "AdvReg": {"confidence": (55.5, 58.6), "entropy": (52.9, 53.5), "mentr": (55.4, 58.6)},
    "early stopping": {"confidence": (55.8, 59.4), "entropy": (53.2, 54.0), "mentr": (55.9, 59.5)},
}

# Table 4, Location30, by whether MemGuard defends the model.
MEMGUARD = {
    False: {"correctness": 68.7, "class_confidence": 76.3, "class_entropy": 61.6, "class_mentr": 78.1},
    True: {"correctness": 68.7, "class_confidence": 69.1, "class_entropy": 52.1, "class_mentr": 68.8},
}

# Table 5: the white box and the black box of Nasr et al., then the paper's attacks.
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

# RMSE of the risk score and of the attack network's output, Figures 3 and 11.
RMSE = {
    "Purchase100, no defence": (0.05, 0.26),
    "Purchase100, adversarial regularisation": (0.09, 0.26),
    "Purchase100, early stopping": (0.06, 0.25),
    "Texas100, no defence": (0.08, 0.13),
    "Texas100, MemGuard": (0.05, 0.21),
}
RMSE_ARCHITECTURES = 0.09  # Figure 4: an upper bound for all architectures
RMSE_DEFENDED = 0.10  # Figure 12: the same for defended models

# Table 6: (precision, recall) in per cent at the thresholds 1, 0.9, …, 0.5; None: no record has such a score.
CONFIDENT = {
    "Texas100, no defence": (
        (85.4, 21.2), (83.4, 29.1), (81.2, 45.3), (77.0, 66.1), (72.8, 85.4), (70.6, 94.3),
    ),
    "Texas100, MemGuard": ((88.2, 1.4), (84.5, 7.6), (82.6, 18.7), (77.0, 43.7), (71.3, 70.5), (66.0, 99.9)),
    "Purchase100, no defence": ((None, 0), (None, 0), (None, 0), (63.4, 7.8), (62.6, 55.1), (61.6, 90.9)),
    "Purchase100, early stopping": ((None, 0), (None, 0), (None, 0), (60.4, 1.3), (57.1, 20.2), (56.6, 75.2)),
    "Purchase100, adversarial regularisation": (
        (83.3, 0.2), (83.3, 0.2), (65.9, 0.5), (63.9, 1.7), (58.9, 24.6), (56.5, 76.3),
    ),
}  # fmt: skip

# Figure 6: share of the members of the Texas100 model with MemGuard that have a score above 0.6.
ABOVE_SIX_TENTHS = 0.70

# Figure 8, Texas100: correlation of a class's generalisation error with its mean risk score.
GAP_CORRELATION = 0.94

# Appendix B, Purchase100: mean score of members minus the prior.
DISTANCES = {0.1: 0.05, 0.3: 0.09, 0.5: 0.1, 0.7: 0.07, 0.9: 0.02}

# Table 7: attack accuracies in per cent.
IMAGES = {
    "CH-MNIST": {
        "attack network": 70.5,
        "correctness": 63.7,
        "class_confidence": 72.6,
        "class_entropy": 69.6,
        "class_mentr": 72.6,
    },
    "Car196": {
        "attack network": 63.1,
        "correctness": 55.9,
        "class_confidence": 63.7,
        "class_entropy": 62.9,
        "class_mentr": 63.7,
    },
}
IMAGES_ACCURACY = {"CH-MNIST": (99.0, 71.7), "Car196": (99.3, 87.5)}
