"""Table 5: an attacker with access to gradients compared with attackers with outputs only, on our Location30 models."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import guestlist as gl
from guestlist.metrics import auc, balanced_accuracy
from papers.systematic_evaluation.data import Records
from papers.systematic_evaluation.models import Setting, percent, subject
from papers.systematic_evaluation.published import WHITE_BOX

# Threshold at which each attack flags a record; all but the first score the distance from a fitted threshold.
THRESHOLDS = {"correctness": 1.0} | {name: 0.0 for name in WHITE_BOX["Texas100"] if name != "correctness"}


@dataclass(frozen=True)
class Outcome:
    """Attack accuracy in per cent over targets, on the records that the white-box attacker does not know."""

    attack: str
    accuracy: float
    deviation: float
    auc: float
    records: int


@dataclass(frozen=True)
class Fitted:
    """Training and test accuracy of the targets, in per cent."""

    train_accuracy: float
    test_accuracy: float


def outcomes(records: Records, setting: Setting, cache: Path, *, repeats: int) -> tuple[list[Outcome], list[Fitted]]:
    """Return one row per attack, over ``repeats`` targets."""
    accuracy, aucs, subjects, n_evaluated = defaultdict(list), defaultdict(list), [], 0
    for seed in range(repeats):
        model = subject(records, setting, seed, cache)
        results = model.audit(
            setting.references,
            list(WHITE_BOX["Texas100"]),
            evidence=[gl.evidence.WhiteBox(), gl.evidence.FullAnswers()],
        )
        # The attack is fitted on the known records and gives them no score, so they are not evaluated.
        unknown = results.records[results.records["score_white_box"].notna()]
        member = unknown["member"].to_numpy()
        n_evaluated = len(unknown)
        for name, threshold in THRESHOLDS.items():
            scores = unknown[f"score_{name}"].to_numpy()
            accuracy[name].append(balanced_accuracy(scores, member, threshold).value)
            aucs[name].append(auc(scores, member).value)
        subjects.append(results.subject)
    rows = [
        Outcome(name, *percent(accuracy[name]), percent(aucs[name])[0] / 100, n_evaluated)
        for name in WHITE_BOX["Texas100"]
    ]
    accuracies = ([s.accuracy_members for s in subjects], [s.accuracy_nonmembers for s in subjects])
    return rows, [Fitted(*(percent(values)[0] for values in accuracies))]
