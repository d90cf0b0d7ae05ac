"""What stands between the tables of the page. Figures belong in the tables, which are made from the results."""

from __future__ import annotations

INTRODUCTION = """# Systematic evaluation of privacy risks, reproduced

Tables and figures of "Systematic Evaluation of Privacy Risks of Machine Learning Models" (Song & Mittal 2021), computed
with guestlist's public names and shown beside the paper's. This page is made from the files in
`papers/systematic_evaluation/results`:

```sh
python -m papers.systematic_evaluation table4                  # one table or figure; --help names the others
python -m papers.systematic_evaluation figure3 --repeats 1     # with one target
python -m papers.systematic_evaluation all --folder trained    # all of them, then this page; keeps what was trained
```

Attack accuracies are in per cent: balanced accuracy, (TPR + TNR) / 2, at thresholds that were learnt without the
target's members, so that a guess has 50. Tables 3 to 5 come first, then all that is about the privacy risk score.
"""

TABLE_4 = """## MemGuard on Location30 (Table 4)

The authors published what their target and their shadow model answered. `audit_predictions` learns the
thresholds on the shadow's answers and calls the target's records. Ours (paper's):
"""

TABLE_3 = """## A threshold for all classes, or one per class (Table 3)

The paper compares on Texas100, which we do not have. Here the models are our own, of Location30: the
network of the paper's section 3.3.3 (1024-512-256-128, ReLU), 1,000 members, 1,000 non-members. "Early
stopping" is the same training, ended after 5 of 12 epochs. Accuracy of the models:
"""

THRESHOLDS = """Attacks: mean ± standard deviation over targets, each with records of its own. The gain is taken target by
target. The paper learns thresholds from one shadow model; ours come from one reference and from more of
them:
"""

TABLE_5 = """## Does the white box see more? (Table 5)

The white-box attacker of Nasr et al. (2019) sees gradients and activations, and knows of half of the members
and half of the non-members what they are. All attacks are judged on the other half. The black-box attacks
learn from references: `nn_nasr` a network of the answers, the others a threshold per class.
"""

SEES = {
    "white_box": "gradients, activations; half of the truth",
    "nn_nasr": "answers",
    "correctness": "right or wrong",
    "class_confidence": "answers",
    "class_entropy": "answers",
    "class_mentr": "answers",
}

DIFFERENCES = """## What agrees, and what does not

* **Table 4 is the paper's, to the last digit**, with and without MemGuard.
* **Other data in Tables 3 and 5.** Texas100, Purchase100 and the CIFAR100 network are not here, so only
  directions can be compared. Our networks learn 1,000 records by heart, where those of Texas100 get four in
  five right, and all attacks reach further.
* **The white box sees hardly more**, as in the paper: it is level with the best black-box attacks, though it learns from
  half of the truth about the target itself.
* **Times.** Table 3 found its references without a defence in the folder of Table 5, and its time leaves them out. So
  do the times of the sections on risk scores, for what an earlier one had trained.
* **Other training.** The networks are trained with AdamW (learning rate 0.001, batches of 64) for few epochs;
  the paper does not print its settings. Their test accuracy is lower than that of the authors' Location30
  model (60.7 %).
* **References are not apart from the target's records.** The paper's shadow model has records of its own;
  here each reference trains on a random half of the 2,000 records asked about. Thresholds per class come
  from what references say about their own members and non-members, never from the target's.
* **The gain of thresholds per class is not reproduced on Location30.** With one reference they cost accuracy, with
  eight they gain less than one point, within the spread over targets. One reference shows some 33 members and as
  many non-members of each of the 30 classes, against a hundred of each class of Texas100: thresholds per class
  have to be learnt. (On the answers of the authors' own Location30 model, those of Table 4, they gain for
  confidence and modified entropy, and lose for entropy.)
* **No adversarial regularisation.** The column of Table 3 for that defence, Table 2 with it, and its curves in Figures 2,
  3, 5 and 12 and row in Table 6 are left out. So is MemGuard on models of our own (Figure 12).
* **Initial weights.** Our networks start from PyTorch's default weights, not from Glorot's; the paper does not say which
  it has. Test accuracies stand beside.
* **White box.** `white_box` is a random forest of gradient norms per layer, activations, loss and label, where Nasr et
  al. train a network with convolutions over the gradients themselves; and it learns from 1,000 known records,
  where theirs has thousands. Their black-box network learns from such records of the target, too; `nn_nasr`
  learns from references.
* **The risk score is nearly a probability where models have learnt their members by heart**, as in the paper, if tenths are
  weighed by their records. Counted alike, the tenths in the middle, which hold few records, make the error larger. On
  Location30 models that stop early, and on the authors' answers, whose shadow is smaller than the target, it is not.
* **A shadow has to know its members as well as the target does.** The score of the wide network is off, since its shadow
  learnt its members better: moved to the target's entropies, the same shadow teaches a score that is not (Figure 4).
* **That the attack network's outputs are far worse is not reproduced.** They are not much further from
  probabilities than the score, and longer training brings them nearer. We do not know why the paper's are as far off.
* **A correlation of 0.94 over classes is not reproduced with one shadow.** It comes near where chance plays a smaller
  part: of means over targets, and with scores learnt from the target itself. The few records of a class hide much of it.
* **A larger threshold is a safer call up to about 0.8** on our models without a defence; scores near 1 promise more than
  they keep, in the paper's table as in ours.
* **Sensitivity** is looked at for some members of one target, each with one model trained without it.
* **Architectures** are tried on one target each.
"""
