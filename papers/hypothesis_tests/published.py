"""Published values of the paper."""

# Table 1 (Purchase100), Table 3 (CIFAR10), Table 4 (CIFAR100) and Table 5 (MNIST): accuracies in percent, then AUC.
MNIST = {
    "mnist Ia": {"train": 97.9, "test": 95.8, "S": 0.50, "P": 0.50, "R": 0.557, "D": 0.549},
    "mnist Ib": {"train": 94.2, "test": 93.4, "S": 0.497, "P": 0.496, "R": 0.544, "D": 0.522},
    "mnist IIa": {"train": 98.6, "test": 97.1, "S": 0.496, "P": 0.496, "R": 0.551, "D": 0.544},
    "mnist IIb": {"train": 94.6, "test": 94.5, "S": 0.491, "P": 0.490, "R": 0.520, "D": 0.497},
}
# Standard deviations over targets of the AUCs of R and D in Table 5, and numbers of targets.
MNIST_DEVIATIONS = {
    "mnist Ia": {"R": 0.009, "D": 0.006},
    "mnist Ib": {"R": 0.014, "D": 0.005},
    "mnist IIa": {"R": 0.011, "D": 0.004},
    "mnist IIb": {"R": 0.011, "D": 0.004},
}
TARGETS = {"R": 10, "D": 3}
CIFAR10 = {"cifar10 I": {"train": 96.2, "test": 40.9, "S": 0.870, "P": 0.857, "R": 0.874, "D": 0.871}}
CIFAR100 = {"cifar100 Ia": {"train": 97.4, "test": 14.9, "S": 0.959, "P": 0.960, "R": 0.964, "D": 0.957}}
# Purchase100 is not available; models of Location30, with the same network, replace it.
PURCHASE100 = {
    "Ia": {"train": 96.2, "test": 52.5, "S": 0.809, "P": 0.822, "R": 0.840, "D": 0.876},
    "Ib": {"train": 51.3, "test": 35.0, "S": 0.628, "P": 0.646, "R": 0.643, "D": 0.652},
    "IIa": {"train": 99.5, "test": 65.4, "S": 0.752, "P": 0.755, "R": 0.799, "D": 0.821},
    "IIb": {"train": 64.1, "test": 49.9, "S": 0.599, "P": 0.609, "R": 0.613, "D": 0.635},
    "III": {"train": 100.0, "test": 75.5, "S": 0.687, "P": 0.687, "R": 0.755, "D": 0.768},
    "IV": {"train": 95.74, "test": 71.71, "S": 0.647, "P": 0.55, "R": 0.682, "D": 0.70},
}
LOCATION30 = {f"location30 {name}": values for name, values in PURCHASE100.items()}
STRENGTHS = (
    MNIST
    | CIFAR10
    | CIFAR100
    | LOCATION30
    | {
        "location30": PURCHASE100["Ia"],
        "mnist Ia, no momentum": MNIST["mnist Ia"],
        "mnist Ia, large pool": MNIST["mnist Ia"],
    }
)

# Table 2 (Purchase100, 5,000 records, level 0.3, 500 members and 500 non-members).
AGREEMENT_LEVEL = 0.3
AGREEMENT_NAMES = ("truth", "L", "S", "P", "R", "D")
AGREEMENT_MEMBERS = {
    ("truth", "L"): 0.968, ("truth", "S"): 0.696, ("truth", "P"): 0.662, ("truth", "R"): 0.772, ("truth", "D"): 0.992,
    ("L", "S"): 0.692, ("L", "P"): 0.654, ("L", "R"): 0.796, ("L", "D"): 0.968,
    ("S", "P"): 0.874, ("S", "R"): 0.592, ("S", "D"): 0.696,
    ("P", "R"): 0.586, ("P", "D"): 0.662, ("R", "D"): 0.780,
}  # fmt: skip
AGREEMENT_NONMEMBERS = {
    ("truth", "L"): 0.410, ("truth", "S"): 0.656, ("truth", "P"): 0.664, ("truth", "R"): 0.656, ("truth", "D"): 0.372,
    ("L", "S"): 0.730, ("L", "P"): 0.706, ("L", "R"): 0.722, ("L", "D"): 0.822,
    ("S", "P"): 0.948, ("S", "R"): 0.756, ("S", "D"): 0.716,
    ("P", "R"): 0.732, ("P", "D"): 0.708, ("R", "D"): 0.692,
}  # fmt: skip
