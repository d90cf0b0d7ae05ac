"""What stands between the tables of the page. Figures belong in the tables, which are made from the results."""

from __future__ import annotations

INTRODUCTION = """# SHAPr, reproduced

Tables of "SHAPr: An Efficient and Versatile Membership Privacy Risk Metric for Machine Learning" (Duddu, Szyller &
Asokan), computed with guestlist's public names and shown beside the paper's. This page is made from the files in
`papers/shapr/results`:

```sh
python -m papers.shapr location30              # one dataset: Tables III to V, VIII, IX, Figures 3 to 5 of it
python -m papers.shapr location30 --repeats 2  # with two targets instead of ten
python -m papers.shapr times                   # Table VI
python -m papers.shapr attribution             # Table VII
python -m papers.shapr regularisation          # Figure 1
python -m papers.shapr removal                 # Figure 2
python -m papers.shapr noise                   # Figures 6 and 7, Table X
python -m papers.shapr all                     # all of them, then this page
```

SHAPr is the exact Shapley value of a member for a 5-NN model, at risk above 0. The privacy risk score (the paper's SPRS) is
Song & Mittal's probability of membership, at risk above 0.5. A risk is judged by whether it names the members that an
attack calls: precision is the share of those at risk that are called, recall the share of the called that are at risk.

Three things to know before reading:

* **Calling everybody at risk** has recall 1, and an F1 that is high wherever the attack calls most members. So
  "everybody" is a row of every table; a risk that does no better says nothing about who is exposed.
* **AUC** has no threshold: how well a risk ranks the called members above the others. A risk that says nothing has 0.5.
* **SHAPr's values add up to the accuracy of the 5-NN model**: their mean over all members is utility, not privacy. A
  memorised outlier, which helps nobody but itself, can have a low one.
"""

SETTING = """## How it was run

The network is the paper's (1024-512-256-128, tanh). The paper prints no more of its training; here every network is trained
by AdamW (learning rate 0.001, batches of 64) for 20 epochs, whatever the dataset. All models of a dataset train on random
halves of one pool of records. Each is a reference of every other, and the first are the targets, one for each repeat. So
repeats share records, and differ in who is a member and in the training: what a test over repeats finds, it finds about
these records. ± is a standard deviation over repeats. "better", "worse" and "no difference" are SHAPr against the privacy
risk score by a paired t-test over repeats at the paper's level, 0.05. What the paper found is read from its printed means
and deviations by Welch's test.
"""

TABLE_3 = """## F1 against modified entropy (Table III)

The attack calls a member where the modified entropy is below a threshold of its class. As in the paper, thresholds and risk
score are first learnt from the target itself: what its owner could fear at worst. SHAPr stands in the space of the first
layer, as the paper writes it.
"""

TABLE_3_SHADOW = """Thresholds and risk score learnt from a true shadow, another model of another half of the records:
"""

TABLE_4 = """## F1 against the likelihood-ratio attack (Table IV)

A record is called where LiRA's ratio is above 1, which needs no truth. The paper does not say where it puts the threshold.
"""

TABLE_4_LOW = """The same with the threshold that 5 % of the non-members exceed:
"""

TABLE_5 = """## Recall (Table V)

Against modified entropy that learnt from the target itself:
"""

TABLE_5_LIRA = """Against LiRA, called where the ratio is above 1:
"""

SPACES = """## Four spaces

SHAPr needs a space in which records are near or far. F1 and recall in each, against modified entropy that learnt from
the target itself and against LiRA:
"""

AUC = """## Without thresholds

AUC of each risk against the calls of each attack, over the members of a target. Calling everybody has 0.5.
"""

TABLE_8 = """## Accuracy of targets and of attacks (Table VIII)

In per cent; attacks by balanced accuracy. The paper prints one attack, with the target as its own shadow.
"""

TABLE_9 = """## Groups (Table IX, Figure 3)

Mean risks of the members of a group, and the balanced accuracy of the modified-entropy attack (own shadow) on the group.
SHAPr is times the number of all members, so that 1 would be an equal share of a perfect accuracy. Test accuracy is the
target's on the group's non-members; the gap is its accuracy on members minus that. A + or − beside a figure of the second
group says that it is above or below the first group's by the paired test at 0.05.
"""

FIGURES = """## Distributions (Figures 4, 5)

Members of one target, by whether modified entropy (own shadow) calls them. SHAPr times the number of members, first layer.

![Distributions of SHAPr and of the privacy risk score](images/shapr_distributions.svg)
"""

TABLE_6 = """## Times (Table VI)

SHAPr in the space of inputs at the paper's sizes, on two threads of a machine that others shared: CPU seconds are what to
compare. The paper's are on an eight-core i9-9900K. The risk score's time here leaves out asking the model.
"""

TABLE_7 = """## Influence functions and TracIn (Table VII)

Recall against modified entropy (own shadow): members with a value above 0 are at risk. Both look at the parameters
of the last layer: influence functions by its exact Hessian, TracIn after every fifth epoch.
"""

FIGURE_1 = """## Regularisation (Figure 1)

Targets with an L2 penalty in the loss. SHAPr is in the first layer and times the number of members, as above: over all
members, and over those alone whose SHAPr is above 0, who are at risk by its own threshold. In the space of the inputs it
would be the same at every weight: nothing there depends on the network. The attack is modified entropy with the target as
its own shadow, which knows the defence. A + or − says that a figure is above or below that of weight 0 by the paired test
at 0.05. The paper's figures have no printed values; it says that SHAPr decreases. Its other two datasets, PURCHASE and
TEXAS, are not here.

![SHAPr, attack and test accuracy against the weight of the penalty](images/shapr_regularisation.svg)
"""

FIGURE_2 = """## Removal of members (Figure 2)

Members with the highest SHAPr are removed, as many non-members at random, and the network is trained anew from the same
beginning. All figures are about the members who remain; "before" is the network that trained on all. As many members
removed at random show what a smaller training set does, and an attack that learns its thresholds from fewer. A + or − is
against before. "Not times members" is SHAPr as the paper counts it, up to a constant: values add up to an accuracy, so that
with fewer members each has more.

![SHAPr and attack accuracy of those who remain](images/shapr_removal.svg)
"""

FIGURE_6 = """## Noise (Figures 6, 7)

A random half of the members moves by FGSM noise, found with the target that trained without it; then the network is
trained anew from the same beginning. Noise is not cut to the range of the features. SHAPr has the members as they are
trained on. The attack (modified entropy, the target its own shadow) and the risk score ask about them as trained on, or as
known to somebody who has the record and not the noise: the paper argues with the latter, and does not say which it
measured. A + or − is against no noise.

![SHAPr and attack accuracy against the size of the noise](images/shapr_noise.svg)
"""

TABLE_10 = """## Does a risk follow the attack? (Table X)

Pearson's correlation, over the sizes of the noise, of the mean risk of the noisy half with the attack's accuracy on it: of
means over repeats, with its p-value, and of single repeats. SHAPr is the same however the attack asks; the risk score can
also be that of the records as trained on, where the attack has them as known. We tried that way after we had seen the others.
"""

DIFFERENCES = """## What agrees, and what does not
"""

OTHERWISE = """* **Fewer members.** The table of accuracies says how many; the paper's MNIST and FMNIST have more
  members than non-members.
* **Other data.** FLOWER has 256 features in the place of 2,048, MEPS is panel 21 and not 19. PURCHASE and TEXAS are
  missing.
* **Two forms of one optimiser.** LOCATION, USPS and the sweep of L2 were trained before AdamW ran in one pass, the others after:
  the formula is one (a test holds the present form to it), the last digits are not, and figures that set
  one beside the other cross that.
* **A shadow is not apart from the target's records**: it trained on another half of the same pool, and learns from what it
  says about its own members and non-members.
"""
