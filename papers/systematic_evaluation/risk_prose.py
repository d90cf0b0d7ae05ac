"""What stands between the tables of risk scores. Figures belong in the tables, which are made from the results."""

from __future__ import annotations

INTRODUCTION = """## The privacy risk score: what is trained here

The paper's Figures 3 to 12 are of Purchase100, Texas100 and convolutional networks of CIFAR100, which we do not have.
Here they are of Location30, with the network of the paper's section 3.3.3, and, as a second set with 100 classes, of
64 features that a network trained on other images makes of CIFAR100's. As in the paper, one shadow model teaches the
score. It has the target's size, and target and shadow have members and non-members of their own: no record is used
twice. The authors' published answers, with and without MemGuard, stand beside; their shadow model had half of the
target's records. Records that are left are held out for the defences: 505 for each of the two models of Location30, 5,000 of
CIFAR100.

Models of Location30 are trained for 20 epochs, those of CIFAR100 for 12, with AdamW (learning rate 0.001, batches of 64), from
Glorot's initial weights, with AdvReg or without. Without a defence, 8 epochs are enough to know all members of Location30;
the numbers were chosen by that and by the time that training takes, before risk scores of these models were looked at. Figure 2
shows the way.
"""

FIGURE_3 = """## Is the risk score a probability? (Figures 3 and 11)

Root mean squared error (RMSE) between an estimate and the share of members among records with such estimates,
in tenths of [0, 1]; mean ± standard deviation over targets, and the 95 % interval that `calibration` gives for
the first. `calibration` weighs tenths by their records. The paper does not say whether it does; "every tenth
alike" is the other way. The attack network is that of Nasr et al. (2018), taught by the shadow as the score is.
Accuracies are in per cent.
"""

FIGURE_3_TARGETS = """Target by target, Location30 without a defence:
"""

FIGURE_3_PAPER = """The paper's:
"""

ATTACK_NETWORKS = """## How long the attack network is trained

The paper does not print it. The same attack network after fewer and more epochs, on targets without a defence:
"""

REFERENCES = """## The score from an audit's references

`guestlist audit` learns the score from references that train on random halves of the records asked about,
rather than from one shadow with records of its own; `nn_nasr` is its attack network. The targets are the same:
"""

FIGURE_4 = """## Architectures (Figures 4 and 12)

The risk score's RMSE on models without a defence, as in Figure 3. An architecture is named as in the paper, by
activation, width (a multiple of the paper's units) and depth: three hidden layers are 1024-512-256, five begin
with one of 2048 units. "Target" and "shadow" are medians of the logarithm of members' modified entropies, of the first
target and its shadow. Where the shadow has learnt its members better, members of the target look like the shadow's
non-members. "Aligned" tells what that does: the shadow's entropies are all multiplied by one number that makes
the medians equal, which takes knowing the target's members.
"""

FIGURE_2 = """## Accuracy and risk, epoch by epoch (Figure 2)

The paper shows the test accuracy of Purchase100 models to choose where to stop early. Here with what becomes of
the risk scores on the way. Means over targets:
"""

FIGURE_5 = """## How risk is spread over members (Figures 1, 5 and 6)

Members' risk scores, over targets: the mean, and the share of members above some values.
"""

FIGURE_10 = """## Other priors (Figure 10)

The mean score of members minus the prior, on models without a defence, over targets. The paper's is of
Purchase100.
"""

TABLE_6 = """## Calling with confidence (Table 6)

Precision, recall in per cent where only records with at least this risk score are called members; means over
targets. In brackets the 95 % interval of the first target's precision.
"""

TABLE_6_PAPER = """The paper's:
"""

FIGURE_7 = """## Risk and sensitivity (Figure 7)

Members of one Location30 target without a defence, spread evenly over the ranks of their risk scores, and for
each a model trained without it. The paper's sensitivity is the logarithm of the modified entropy that this model gives the
record, divided by the target's. The target's entropy decides the score, too, so that the two would be related
even if removal did nothing. That share is seen by "trained anew": the same ratio with models trained anew on
*all* members. The difference of both is what removal does. Quartiles are over the members of each third.
"""

FIGURE_8 = """## Classes that generalise badly (Figure 8)

Pearson's correlation over classes, between the accuracy among members minus that among non-members and the
members' mean risk score; mean ± standard deviation over targets, and the first with its 95 % interval. A class of
Location30 has some 33 members and as many non-members, in the target and in its shadow, and one of CIFAR100 has 50 (Texas100
100): chance moves both figures. Two more columns show by how much: the correlation of means over targets, and
that with scores learnt from the target's own members and non-members rather than from a shadow (some chance is
then common to both figures).
"""

FIGURE_9 = """## Where the last hidden layer puts them (Figure 9)

The five classes of one Location30 target with the lowest mean risk score and the five with the highest, of those
with at least 20 members (the paper asks for 100). The paper shows a t-SNE map, as below. What it shows
is counted here: the share of records whose nearest member, of these ten classes, in the last hidden layer is of
their own class.
"""

TABLE_7 = """## A model of images (Table 7)

The paper attacks convolutional networks of CH-MNIST and Car196. We have features of CIFAR100's images, and a network
of these. Attack accuracies in per cent, mean ± standard deviation over targets:
"""


def figure(name: str, what: str) -> str:
    return f"![{what}](images/systematic_evaluation_{name}.svg)\n"
