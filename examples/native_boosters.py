"""Boosters of `xgboost.train` and `lightgbm.train`: references are trained with the parameters that the booster stores."""

import lightgbm
import xgboost
from sklearn.datasets import load_breast_cancer

import guestlist as gl

x, y = load_breast_cancer(return_X_y=True)
members, nonmembers = (x[::2], y[::2]), (x[1::2], y[1::2])

boosters = [
    xgboost.train({"objective": "binary:logistic", "max_depth": 4}, xgboost.DMatrix(*members), 20),
    lightgbm.train({"objective": "binary", "num_leaves": 8, "verbosity": -1}, lightgbm.Dataset(*members), 20),
]
for booster in boosters:
    results = gl.audit(booster, members, nonmembers, references=6, attacks=["loss", "lira"], jobs=1)
    print(results.summary())
