"""Published results of the paper, by its names of datasets, for the available datasets.

Each value is (mean, standard deviation) over ten runs if the paper prints both.
"""

from __future__ import annotations

Pair = tuple[tuple[float, float], tuple[float, float]]

# Table III, F1 against the modified-entropy attack: privacy risk score, SHAPr.
F1_MENTR: dict[str, Pair] = {
    "LOCATION": ((0.94, 0.02), (0.90, 0.02)),
    "MNIST": ((0.72, 0.00), (0.96, 0.00)),
    "FMNIST": ((0.98, 0.00), (0.94, 0.00)),
    "USPS": ((0.77, 0.15), (0.86, 0.10)),
    "FLOWER": ((0.89, 0.00), (0.96, 0.00)),
    "MEPS": ((0.96, 0.01), (0.90, 0.04)),
    "CREDIT": ((0.93, 0.03), (0.89, 0.02)),
    "CENSUS": ((0.97, 0.02), (0.90, 0.01)),
}

# Table IV, F1 against the likelihood-ratio attack.
F1_LIRA: dict[str, Pair] = {
    "LOCATION": ((0.87, 0.04), (0.95, 0.01)),
    "MNIST": ((0.78, 0.05), (0.99, 0.01)),
    "FMNIST": ((0.73, 0.04), (0.84, 0.02)),
    "USPS": ((0.70, 0.03), (0.93, 0.01)),
    "FLOWER": ((0.82, 0.03), (0.86, 0.04)),
    "MEPS": ((0.65, 0.07), (0.67, 0.06)),
    "CREDIT": ((0.62, 0.02), (0.64, 0.01)),
    "CENSUS": ((0.16, 0.08), (0.76, 0.02)),
}

# Table V, recall against both attacks.
RECALL_MENTR: dict[str, Pair] = {
    "LOCATION": ((0.95, 0.02), (0.87, 0.01)),
    "MNIST": ((0.57, 0.01), (0.94, 0.00)),
    "FMNIST": ((0.98, 0.03), (0.89, 0.03)),
    "USPS": ((0.76, 0.07), (0.98, 0.01)),
    "FLOWER": ((0.81, 0.04), (0.94, 0.01)),
    "MEPS": ((0.96, 0.01), (0.91, 0.01)),
    "CREDIT": ((0.98, 0.05), (0.92, 0.02)),
    "CENSUS": ((0.99, 0.00), (0.87, 0.02)),
}
RECALL_LIRA: dict[str, Pair] = {
    "LOCATION": ((0.81, 0.06), (0.97, 0.02)),
    "MNIST": ((0.64, 0.07), (0.99, 0.00)),
    "FMNIST": ((0.71, 0.08), (0.99, 0.00)),
    "USPS": ((0.58, 0.04), (1.00, 0.00)),
    "FLOWER": ((0.86, 0.08), (1.00, 0.00)),
    "MEPS": ((0.91, 0.05), (0.98, 0.01)),
    "CREDIT": ((0.93, 0.06), (0.99, 0.00)),
    "CENSUS": ((0.14, 0.08), (0.97, 0.01)),
}

# Table VI, seconds.
SECONDS = {
    "LOCATION": 130.77, "MNIST": 2747.41, "FMNIST": 3425.90, "USPS": 238.67, "FLOWER": 174.27, "MEPS": 732.43,
    "CREDIT": 1852.66, "CENSUS": 3718.26,
}  # fmt: skip
SECONDS_SCORE = {"LOCATION": 59.78, "FLOWER": 77.56, "USPS": 104.59}  # seconds of the privacy risk score
# Seconds for 100 records of LOCATION: naive leave-one-out, and SHAPr.
LEAVE_ONE_OUT = (3640.21, 34.65)

# Table VII, recall against the modified-entropy attack: SHAPr as in Table V, influence functions, TracIn (None: not run).
ATTRIBUTION: dict[str, tuple[float, float, float | None]] = {
    "LOCATION": (0.87, 0.48, 0.20), "MNIST": (0.94, 0.30, None), "FMNIST": (0.89, 0.49, None), "USPS": (0.98, 0.33, 0.42),
    "FLOWER": (0.94, 0.51, 0.46), "MEPS": (0.91, 0.62, 0.85), "CREDIT": (0.92, 0.79, None), "CENSUS": (0.87, 0.72, None),
}  # fmt: skip

# Table VIII, per cent: test accuracy of targets, accuracy of the modified-entropy attack.
ACCURACY = {
    "LOCATION": (69.00, 87.70), "MNIST": (98.10, 54.30), "FMNIST": (89.30, 57.90), "USPS": (95.50, 54.13),
    "FLOWER": (89.60, 68.81), "MEPS": (84.00, 61.73), "CREDIT": (79.90, 57.18), "CENSUS": (82.20, 55.95),
}  # fmt: skip

# Table IX: mean privacy risk score and accuracy of the attack in per cent, by dataset, column and group.
GROUPS = {
    ("CENSUS", "sex", "Male"): (0.52, 56.00),
    ("CENSUS", "sex", "Female"): (0.52, 62.50),
    ("CENSUS", "race", "White"): (0.52, 56.60),
    ("CENSUS", "race", "Others"): (0.52, 60.50),
    ("CREDIT", "sex", "Male"): (0.52, 56.10),
    ("CREDIT", "sex", "Female"): (0.53, 67.00),
    ("MEPS", "sex", "Male"): (0.57, 56.90),
    ("MEPS", "sex", "Female"): (0.54, 62.60),
}

# Figure 7 (a): datasets on which the clean half becomes more vulnerable; the others show no consistent trend.
CLEAN_RISES = ("LOCATION", "USPS", "FLOWER", "MEPS", "CREDIT", "CENSUS")

# Table X, correlation with the accuracy of the modified-entropy attack on the noisy half: SHAPr, privacy risk score.
CORRELATIONS = {
    "LOCATION": (0.89, -0.98), "MNIST": (0.60, 0.02), "FMNIST": (0.97, -0.65), "USPS": (0.43, -0.90),
    "FLOWER": (0.94, -0.90), "MEPS": (0.86, -0.88), "CREDIT": (0.93, -0.85), "CENSUS": (0.97, -0.80),
}  # fmt: skip
