"""XGBoost and LightGBM: references of a model that stopped early have the same number of rounds, which the report states."""

import warnings

from lightgbm import LGBMClassifier
from sklearn.datasets import load_breast_cancer
from xgboost import XGBClassifier

import guestlist as gl

x, y = load_breast_cancer(return_X_y=True)
members, nonmembers, stop_by = ((x[first::3], y[first::3]) for first in range(3))
# Validation records are neither members nor non-members: the model read them, but was not fitted on them.

stopped = XGBClassifier(n_estimators=200, early_stopping_rounds=5, n_jobs=1)
stopped.fit(*members, eval_set=[stop_by], verbose=False)
fixed = LGBMClassifier(n_estimators=50, n_jobs=1, verbose=-1).fit(*members)

for model in (stopped, fixed):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gl.AuditWarning)  # the summary has the same notes
        results = gl.audit(model, members, nonmembers, references=6, attacks=["loss", "lira"], jobs=1)
    print(results.summary())
