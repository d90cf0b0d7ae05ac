"""A scikit-learn classifier: it is its own recipe, so there is nothing to set up."""

from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

import guestlist as gl

x, y = load_breast_cancer(return_X_y=True, as_frame=True)
members, nonmembers = (x[::2], y[::2]), (x[1::2], y[1::2])
model = RandomForestClassifier(30, random_state=0).fit(*members)

# A few references keep the example short; the default is 32.
results = gl.audit(model, members, nonmembers, references=8, jobs=1)
print(results.summary())
results.to_html("forest.html")
