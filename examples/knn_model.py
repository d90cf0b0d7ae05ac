"""A K-NN model: an exact attack without reference models, and the value and risk of each record."""

from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier

import guestlist as gl
from guestlist.knn import Knn, knn_shapley, self_waka

x, y = load_digits(return_X_y=True)
members, nonmembers = (x[:300], y[:300]), (x[300:600], y[300:600])
model = KNeighborsClassifier(5).fit(*members)

results = gl.audit(model, members, nonmembers, references=0)
print(results.summary())

worth = knn_shapley(*members, *nonmembers, Knn(5))
exposed = self_waka(*members, Knn(5))
for row in exposed.argsort()[::-1][:3]:
    print(f"record {row}, a {y[row]}: exposed by {exposed[row]:.2f}, worth {worth[row]:.4f}")
