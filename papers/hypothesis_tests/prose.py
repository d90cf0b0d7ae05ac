"""Words of the page."""

INTRODUCTION = """# Five hypothesis tests, reproduced

Ye et al. (2022) ask one question in five ways: is this loss too small for a record that the model was not trained on?
P compares it with the target's losses on other records, S with those of reference models on records of the class, R
with references' losses on the same record, D with those of models distilled from the target, L with those of models
trained on everything but the record. Everything here is made by `python -m papers.hypothesis_tests all` from
guestlist's public names and the files in `papers/hypothesis_tests/results`. Ours stands first, the paper's in
brackets.
"""

TABLE_1 = """## AUC (Tables 1 and 5)

Location30 (446 binary features, 30 classes) with the paper's network for tables, 512-256-128-64; the figures in
brackets are the paper's for Purchase100 with 2,500 records (configuration Ia), which cannot be had here. MNIST with
its network of two convolutions, 2,500 records (I) or 5,000 (II), without (a) or with (b) an L2 penalty. Mean ±
standard deviation over targets. R and D smoothed.
"""

EMPIRICAL = """R and D as bare shares of models, as in the paper:
"""

REALISED = """What share of non-members each test calls at the level that it was asked for (shares, all targets). A test
that keeps its promise calls no more than it was asked:
"""

TABLE_2 = """## Who agrees with whom (Table 2)

Share of records on which two tests say the same at level 0.3: members above the diagonal, non-members below; the
truth first. Location30, first target.
"""

FIGURES = """## ROC curves and losses (Figures 3 and 1)

![ROC curves of S, P, R and D on Location30 and MNIST](images/hypothesis_tests_roc.svg)

Below, an easy and a hard member of one class: the losses that each test compares the target's loss with, its
threshold at level 0.1, and the target's loss. The more a test's losses depend on the record and on the target, the
narrower they lie.

![Losses that S, P, R and D compare with, for two members](images/hypothesis_tests_losses.svg)
"""

DIFFERENCES = """## Where ours differs
"""
