"""What stands between the tables of the page. Figures belong in the tables, which are made from the results."""

from __future__ import annotations

INTRODUCTION = """# WaKA, reproduced

Tables and figures of "WaKA: Data Attribution using K-Nearest Neighbors and Membership Privacy Principles"
(Mesana et al.), computed with `guestlist.knn` and shown beside the paper's. This page is made from
the files in `papers/waka/results`:

```sh
python -m papers.waka table1 --repeats 10 --datasets adult    # one table; --help names the others
python -m papers.waka all                                     # all of them, then this page
```

The time under each table is that of the run it comes from; tables of one run share neighbours and values.

Data: the paper's four datasets, one-hot encoded and standardised where they are tables. Bank and CIFAR-10
have the paper's sizes, Adult 11,087 records (the paper prints "11,0874"), IMDB 5,000 instead of 25,000.
CIFAR-10 is described by 64 principal components of an EfficientNet trained on ImageNet, where the paper
trained a ResNet-18 on CIFAR-10 itself for K-NN; IMDB by MiniLM sentence embeddings. Half of the test set
serves as the validation set that test-Shapley and test-WaKA need.

A game: the pool is split in two random halves, and both halves train a target. LiRA (normal laws, one
variance for all records) attacks each with 16 shadow models, the halves of eight other splits. K-NN models
are never fitted: one list of each record's neighbours gives the answers of all models. The attack success
rate (ASR) of a record is the share of targets about which LiRA is right, calling whoever scores above 0 a
member.
"""

TABLE_1 = """## Success follows self-WaKA (Table I, Figure 1)

Spearman's rank correlation of self-WaKA with the ASR. The paper does not say whether over records or, as
its figure is drawn, over percentiles of self-WaKA; both are here. Two columns tell noise from disagreement:
the ASR in one half of the games against that in the other half, and self-WaKA against the success rate of
the *best* attack, which `knn_loss_distributions` gives without a game.
"""

OTHER_VALUES = """Other values against the ASR, over records:
"""

FIGURE_1 = """Mean ASR in each tenth of the records, from the lowest self-WaKA to the highest:
"""

FIGURE_1_TEST = """### Values on a validation set

The same against values on a validation set: mean ASR in each tenth of the records, from the lowest value to the highest.
The paper sees high success at both extremes, above all at the low one. Last, by how much the lowest and the highest tenth
lie above the two tenths in the middle.
"""

TABLE_2 = """## Success rates of K-NN and of logistic regression (Table II, Figure 2)

"Best attack" is the mean success rate of the most powerful attack on the model's loss, from
`knn_loss_distributions`.
"""

FIGURE_2 = """Logistic regression: mean ASR in each tenth of the records, from the lowest self-WaKA (K = 1) to the
highest.
"""

BALANCED = """### Adult with even classes

Adult's pool in the paper cannot be rebuilt for certain. One thing that would raise its figures is a pool with as many
records of either class, of the same size:
"""

TABLE_3 = """## The onion: a tenth of the records removed (Tables III and IV, Figure 5)

LiRA on what stays, after the tenth with the highest values was removed. The paper's column for the full
pool ("nothing" removed) is printed against the wrong rows: adult, bank, CIFAR10, IMDB stand beside the
figures of IMDB, CIFAR10, adult, bank, the order of its Table I. As printed, removing records of CIFAR10
would make attacks stronger and removing *any* tenth of Bank would stop them. The column is put right here,
and our own figures agree with that order alone.
"""

UNCHANGED = """Is there an onion effect? The same records, those that stay after the removal by self-WaKA, attacked in
models that still trained on everybody ("all"), and in models trained on the rest:
"""

FIGURE_5 = """Who rises and who falls, at K = 1: the change of self-WaKA, known from stored lists without a game
(`waka_influence`), against the change of the ASR. Cells: mean change of the ASR (share of the records).
"""

FIGURE_3 = """### On logarithmic axes (Figure 3)

LiRA at K = 1 before ("all") and after a tenth of the records is removed, by self-WaKA or at random: means over games.

![ROC curves before and after removal, on logarithmic axes](images/waka_roc.svg)

True-positive rates:
"""

FIGURE_6 = """## Training on less (Figure 6)

Accuracy on the test set after removing a share of the records. Values are computed once, on the full pool.
(The paper shows curves and gives no figures.)
"""

RAREST = """Share of the rarest class among the records that stay:
"""

TABLE_5 = """## t-WaKA, LiRA and the exact likelihood ratio (Tables V and VI, Figure 8)

As in the paper: in each game 100 random records of the pool are asked about, LiRA has 16 shadow models.
Means over games ± standard deviation. "self-WaKA" ignores the target, and is there to show that this tells
nothing. AUC:
"""

FIGURE_8 = """TPR at 5 % FPR, on the ROC curve of each game:
"""

TABLE_6 = """The paper's Table VI, whose K the text we have does not show, beside ours at K = 5:
"""

RANKS = """Spearman of the scores with LiRA's, mean over games:
"""

VARIANTS = """### Choices that the paper leaves open

Whether LiRA has one variance for all records, as ours, or one per record, is not said. Spearman of t-WaKA with LiRA:
"""

VARIANTS_TPR = """TPR at 5 % FPR at K = 5. The paper's spread over games is about twice ours. Fewer records asked about would
spread as much, but have a larger mean as well:
"""

DIFFERENCES = """## What agrees, and what does not

* **Success rates and the onion tables agree**, most closely on Bank, the one pool that is the same in size
  and encoding: its AUCs and success rates are within 0.01 of the paper's. Adult is a little lower
  throughout; with even classes it comes close. The paper does not say that its classes are even, its training size
  cannot be read, and the encoding is described in half a sentence: an even pool is a reading that fits, no more. On
  CIFAR-10 the attack on logistic regression succeeds less; a likely
  reason is that 64 components of a network that never saw CIFAR-10 leave a linear model less to memorise
  than features trained on it.
* **Spearman over records falls short of the paper's at K = 5 and on Bank; over percentiles it comes close,
  but for Bank.** Not for want of self-WaKA: with the best attack's success rate, known without games, its
  correlation is above 0.96 everywhere. At K = 5 even two thousand games leave noise in the ASR of a record,
  and one half of the games agrees less with the other than all of them with self-WaKA. On Bank, most
  records are so safe that their ASR is one half to two digits or more, as the tenths show, while self-WaKA
  still ranks them.
* **At K = 5, LiRA with 16 shadow models is well short of the best attack**, in success rate and AUC. The
  paper saw an "early convergence" with more shadow models. The exact likelihood ratio shows what is left,
  and t-WaKA gets nearly all of it: the two are level at K = 1, where they rank alike, and hardly differ at
  larger K.
* **Removal lowers the risk of those that stay; we do not find that it lowers it less than one would
  expect.** The paper compares with an "expected decrease" it does not define. With Carlini et al.'s
  comparison (the same records, in models that still train on everybody), AUCs at K = 1 fall *further* than
  that, and at K = 5 they are about equal: an exposed record stands among others' labels and exposes them,
  too. Layers do exist, in the last table: a few per cent of the records become clearly more exposed, and
  `waka_influence` tells which.
* **Minimisation: at K = 1 as in the paper**, test-Shapley is best or level at 10 % and leave-one-out no
  better than random but for IMDB. **At K = 5 it is not**: test-WaKA is as good as or better than
  test-Shapley, and leave-one-out is not the worst. Two reasons are in the last table of that section.
  Test-Shapley gives its lowest values to the rarer class, and what stays holds hardly any of it. And
  leave-one-out is 0 for most records, so that after the few others it removes at random.
* **The U over test values is lopsided.** Records of low value to others are attacked with more success than any, as
  the paper says. The rise at the high end is there on Adult, and faint or absent on IMDB; the larger pools
  were not run for this, nor for Figure 3 and the choices left open.
* **Tables V and VI.** Table V falls with K here as there, and is within about 0.15 of ours; where ours is higher, on IMDB
  and CIFAR-10, the shadow models may have another variance: with one per record, IMDB's figures at K = 2 and 3 come
  out as the paper's, but not those at K = 5, nor Adult's. No single choice gives the whole table. In Table VI
  the means agree to a few hundredths. The order of LiRA and t-WaKA on CIFAR-10 is the other way round here; at
  the paper's own spread of 0.2 over 48 games, its difference of 0.03 is within one standard error
  of two independent means. That spread is about twice ours, and we have found no reading of a game of 100
  records that gives it.
* **Time: t-WaKA is faster than LiRA as the paper runs it.** Both grow with the records that are asked about. One fit of
  each shadow model for all K, or answers read off lists of neighbours when there are many games, make LiRA
  several times cheaper.
* Not reproduced: the illustration on synthetic data (Figure 7).
"""


def times(theirs: dict[str, float]) -> str:
    """What stands above the table of times, with the paper's."""
    lira, waka = theirs["LiRA"], theirs["t-WaKA"]
    return (
        f"### Time\n\nTime for K = 1, …, 5, one thread. The paper reports {lira:,.0f} s for LiRA and {waka:.0f} s for t-WaKA "
        f"({lira / waka:.0f} ×) on IMDB with 25,000 records, on 8 cores. A pair is a record and a K. A look-up turns laws into "
        "scores of either kind, in any number of games. Laws are computed for the records that are asked about.\n"
    )
