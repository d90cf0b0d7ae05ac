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
target's members, so that a guess has 50. Attacks and defences come first (Tables 1 to 5), then all that is about the privacy
risk score.
"""

TABLE_4 = """## MemGuard on the authors' Location30 model (Table 4)

The authors published what their target and their shadow model answered. `audit_predictions` learns the
thresholds on the shadow's answers and calls the target's records. Ours (paper's):
"""

TABLE_4_NETWORKS = """The paper's other column is the best of six networks of Jia et al. (2019), most of which do not know of the
defence. With a shadow's whole answers, `audit_predictions` runs two networks. An adaptive attacker's learns from answers of the
shadow that MemGuard changed, too; a naive one's from answers as they were. Both of ours are told the true class, those of Jia
et al. are not; a network of sorted probabilities alone stands beside:
"""

TABLE_2 = """## Defences on models of our own (Tables 1, 2 and 4)

A target and its shadow, each with members, non-members and held-out records of its own: 1,000 members of Location30, 5,000 of
the CIFAR100 features (see "what is trained here" below). `AdvReg` is `gl.defences.AdvReg(held_out)` as it comes, for as many
epochs as the model without a defence. (Weights of 0.5, 3 and 10 were tried on one target of Location30 each, with attacks in
sight; 3 and 10 left no useful model, and the default was kept.)
"Early stopping" is the training without a defence, ended after the epoch, of those that were kept, whose test
accuracy is nearest to that of the target with AdvReg. `MemGuard` is `gl.defences.MemGuard(held_out)` on the answers of the
model without a defence. Accuracy of the models in per cent, means over targets:
"""

TABLE_2_ATTACKS = """Attacks: mean ± standard deviation over targets. An adaptive attacker's shadow has the target's
defence; a naive one's has none:
"""

TABLE_2_PAPER = """The paper's, with its networks' accuracy as their authors reported it:
"""

TABLE_3 = """## A threshold for all classes, or one per class (Table 3)

The paper compares on Texas100, which we do not have. Here on the Location30 models of the section before, with one adaptive
shadow. Mean ± standard deviation over targets; the gain is taken target by target:
"""

DIFFICULTY = """## What thresholds per class gain with

Classes of Texas100 may be of unequal difficulty. Here they are made so, on Location30, with the same network and no defence.
"Noise in half of the classes" draws 60 % of the labels of half of the classes anew among these classes, which makes them
harder than the others; "noise in all classes" has as many such labels, spread evenly. "Fewer records" leaves three members
in ten. Training ends after the epoch whose training accuracy is nearest to the 81 % of the paper's Texas100 model; the models
without a defence of Table 3 know all members by heart. Thresholds of modified entropy are learnt from one reference, and from
more of them, each trained on a random half of the records asked about. "Test by class, spread" is the standard deviation over
classes of the test accuracy, in points (few records of a class make some of it).

This is **not the first version** of the experiment. With one shadow that has records of its own, thresholds per class gained
nothing on Location30, by heart or not; on ten classes of the CIFAR100 features (one target) they gained about as much with
even noise as with uneven. Eight references were then tried on the first target, before the others were run.
"""

RISES = """## Whose risk a defence raises

Members' risk scores beside those without a defence, the same members and records; means over Location30 targets. A score also
moves where models are trained anew with other chances, which the first row shows.
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
