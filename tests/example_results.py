"""Results made by hand for the tests of the report: plausible numbers, no audit behind them."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

import numpy as np

from guestlist import CHECKS, Estimate, Results
from guestlist._case import Check
from guestlist._findings.attacks import AgreementResult, AttackResult, Curve, Histogram, Rate
from guestlist._findings.facts import Provenance, References, Subject
from guestlist._findings.groups import GroupResult
from guestlist._findings.headline import Headline, SameRecipe
from guestlist._findings.hypothesis_tests import HypothesisTest, Level
from guestlist._findings.records import Exposed
from guestlist.metrics import WITHHELD

FPRS = (0.001, 0.01, 0.05)
# Name, summary, paper, and how much of the leak the attack sees.
ATTACKS = (
    ("loss", "small loss of the target (P)", "Yeom et al. 2018; Ye et al. 2022", 0.45),
    ("correctness", "the target is right", "Yeom et al. 2018", 0.2),
    ("confidence", "large probability of the true class", "Song & Mittal 2021", 0.45),
    ("entropy", "small entropy of the output", "Salem et al. 2019", 0.35),
    ("mentr", "small modified entropy", "Song & Mittal 2021", 0.47),
    ("class_confidence", "confidence beyond a threshold per class", "Song & Mittal 2021", 0.5),
    ("lira", "likelihood ratio of IN and OUT references", "Carlini et al. 2022", 1.0),
    ("lira_offline", "tail of the OUT references only", "Carlini et al. 2022", 0.8),
    ("reference", "tail of the OUT references on the same record (R)", "Ye et al. 2022", 0.7),
)
# Realised false positive rates of tests at nominal 1, 5, 10 and 30 %; loss cannot reach the first.
REALISED = {"loss": {0.05: 0.052, 0.1: 0.1, 0.3: 0.31}, "reference": {0.01: 0.0, 0.05: 0.1, 0.1: 0.11, 0.3: 0.2}}
HOSTILE = "<script>alert('x')</script></script><img src=x onerror=alert(1)>\"'&amp;<b>é\u202e\x1b[31m%{y}{{ 7*7 }}"


def leaking(**changes) -> Results:
    """Members score higher; groups, references, and enough records for 1 % false alarms."""
    return replace(_results(shift=1.6, members=2000, nonmembers=2400, references=32), **changes)


def quiet(**changes) -> Results:
    """Nothing found, with few records."""
    return replace(_results(shift=0.0, members=300, nonmembers=300, references=16), **changes)


def predictions_only(**changes) -> Results:
    """A file of predictions: no references, so only attacks on the target."""
    return replace(_results(shift=0.9, members=500, nonmembers=450, references=0), **changes)


def without_issues(results: Results) -> Results:
    """The same results in which no check found anything."""
    checks = (replace(check, state="passed") if check.state == "issue" else check for check in results.checks)
    return replace(results, checks=tuple(checks))


def hostile() -> Results:
    """The leaking results, with markup wherever a user's text can be."""
    base = leaking()
    names = {f.name: HOSTILE if f.name == "lira" else HOSTILE + f.name for f in base.outcomes}
    outcomes = tuple(
        replace(f, name=names[f.name], summary=HOSTILE, paper=HOSTILE, attacker_needs=HOSTILE) for f in base.outcomes
    )
    return replace(
        base,
        subject=replace(base.subject, name=HOSTILE),
        headline=replace(base.headline, name=HOSTILE, measure=HOSTILE),
        outcomes=outcomes,
        hypothesis_tests=tuple(replace(test, name=names[test.name]) for test in base.hypothesis_tests),
        agreement=replace(base.agreement, names=("truth", *(f.name for f in outcomes))),
        groups=tuple(replace(g, group=HOSTILE, value=HOSTILE) for g in base.groups),
        exposed=tuple(Exposed(HOSTILE, HOSTILE, {HOSTILE: HOSTILE}, e.score, e.p_value) for e in base.exposed),
        checks=(*base.checks[:-2], reversed_check(HOSTILE), Check(HOSTILE, "passed", {HOSTILE: HOSTILE})),
        untested=(HOSTILE,),
        provenance=Provenance({HOSTILE: HOSTILE}, {HOSTILE: HOSTILE}),
    )


def with_headline(results: Results, **changes) -> Results:
    """The same results with parts of the headline's finding changed."""
    return with_finding(results, results.headline.name, **changes)


def with_finding(results: Results, name: str, **changes) -> Results:
    outcomes = tuple(replace(f, **changes) if f.name == name else f for f in results.outcomes)
    return replace(results, outcomes=outcomes)


def with_levels(results: Results, name: str, *levels: Level) -> Results:
    """The same results with other levels of one test."""
    tests = tuple(replace(test, levels=levels) if test.name == name else test for test in results.hypothesis_tests)
    return replace(results, hypothesis_tests=tests)


def with_check(results: Results, check: Check) -> Results:
    """The same results with another outcome of one check."""
    return replace(results, checks=tuple(check if c.code == check.code else c for c in results.checks))


def reversed_check(attack: str) -> Check:
    return Check("GL112", "issue", {"attack": attack, "auc": 0.4, "low": 0.35, "high": 0.45})


def at_chance(finding: AttackResult) -> AttackResult:
    """The finding with no interval above guessing."""
    rates = tuple(
        replace(r, tpr=r.tpr if math.isnan(r.tpr.value) else Estimate(r.fpr, 0.0, 3 * r.fpr)) for r in finding.rates
    )
    return replace(finding, auc=Estimate(0.5, 0.46, 0.54), advantage=Estimate(0.0, -0.05, 0.05), rates=rates)


@cache
def _results(shift: float, members: int, nonmembers: int, references: int) -> Results:
    rng = np.random.default_rng(7)
    names = [row for row in ATTACKS if references or not row[0].startswith(("lira", "class", "reference"))]
    findings = tuple(_finding(*row, shift, members, nonmembers, rng) for row in names)
    findings = findings if shift else tuple(at_chance(f) for f in findings)
    headline = "lira" if references else "loss"
    same = SameRecipe(Estimate(0.7, 0.65, 0.75), (0.68, 0.7, 0.72), 0.4)
    return Results(
        subject=Subject(
            "RandomForestClassifier",
            2,
            members,
            nonmembers,
            1200 if references else 0,
            0.998 if shift else 0.861,
            0.847,
        ),
        references=References(references, members * 0.98, 0.5, 0) if references else None,
        headline=Headline(headline, "auc", 3, same) if references else Headline(headline, "fixed", 0, None),
        outcomes=findings,
        hypothesis_tests=_tests(nonmembers) if references else (HypothesisTest("loss", (), True),),
        agreement=_agreement([finding.name for finding in findings], rng) if references else None,
        groups=_groups(shift, members, nonmembers, rng) if references else (),
        exposed=_exposed(shift, nonmembers, rng),
        checks=_checks(duplicates=37 if shift else 0, nonmembers=nonmembers),
        untested=("parameters", "labels_only", "other_leakage"),
        provenance=Provenance(
            {"python": "3.11.9", "numpy": "2.1.0"}, {"data": "9f" * 32, "recipe": "0a" * 32, "seed": "0"}
        ),
    )


def _finding(name, summary, paper, sees, shift, members, nonmembers, rng) -> AttackResult:
    inside, outside = rng.normal(shift * sees, 1 + 0.6 * shift * sees, members), rng.normal(size=nonmembers)
    if name == "correctness":
        inside, outside = (inside > -2).astype(float), (outside > -1).astype(float)
    thresholds = np.unique(np.concatenate([inside, outside]))[::-1]
    fpr, tpr = (
        np.append(0, [(side >= t).mean() for t in thresholds[:: max(len(thresholds) // 300, 1)]])
        for side in (outside, inside)
    )
    fpr, tpr = np.append(fpr, 1.0), np.append(tpr, 1.0)
    area = float((np.diff(fpr) * (tpr[1:] + tpr[:-1]) / 2).sum())
    band = np.geomspace(1 / nonmembers, 1, 40)
    limits = [_share((inside > np.quantile(outside, 1 - f)).mean(), members, widen=2) for f in band]
    edges = np.linspace(*np.quantile(np.concatenate([inside, outside]), [0.005, 0.995]), 41)
    return AttackResult(
        name=name,
        summary=summary,
        paper=paper,
        attacker_needs="",
        oracle=False,
        auc=_around(area, 0.58 * math.sqrt(1 / members + 1 / nonmembers)),
        detectable_auc=0.5 + 2.8 * math.sqrt((1 / members + 1 / nonmembers) / 12),
        advantage=_around(max(float((tpr - fpr).max()) - 0.01, 0), 1.1 / math.sqrt(members)),
        rates=tuple(_rate(inside, outside, f) for f in FPRS),
        balanced_accuracy=None if name.startswith("lira") else _around(0.5 + float((tpr - fpr).max()) / 2, 0.02),
        unscored=0,
        curve=Curve(
            *(
                tuple(float(f"{v:.6g}") for v in values)
                for values in (fpr, tpr, band, [e.low for e in limits], [e.high for e in limits])
            )
        ),
        histogram=Histogram(
            tuple(edges),
            *(tuple(np.histogram(np.clip(s, edges[0], edges[-1]), edges)[0] / len(s)) for s in (inside, outside)),
        ),
    )


def _rate(inside, outside, fpr: float) -> Rate:
    expected = fpr * len(outside)
    if expected < 1:
        return Rate(fpr, WITHHELD, WITHHELD, 0.5, "withheld", math.nan)
    tpr = _share((inside > np.quantile(outside, 1 - fpr)).mean(), len(inside), widen=2)
    return Rate(
        fpr,
        tpr,
        Estimate(*(share / (share + fpr) for share in tpr)),
        0.5,
        "weak" if expected < 10 else "good",
        fpr + 4 * math.sqrt(fpr / len(inside)) + 1 / len(outside),
    )


def _tests(nonmembers: int) -> tuple[HypothesisTest, ...]:
    return tuple(
        HypothesisTest(
            name,
            tuple(
                Level(alpha, _share(fpr, nonmembers), _share(min(1.5 * fpr, 1), nonmembers))
                for alpha, fpr in realised.items()
            ),
            name == "loss",
        )
        for name, realised in REALISED.items()
    )


def _checks(duplicates: int, nonmembers: int) -> tuple[Check, ...]:
    """All of them; the one for duplicates is an issue if there are some, one is ignored, one does not apply."""
    values = {"duplicates": duplicates, "nonmembers": nonmembers}
    states = {"GL102": "not applicable", "GL104": "ignored"}
    checks = [Check(code, states.get(code, "passed"), {}) for code in CHECKS]
    return (Check("GL101", "issue" if duplicates else "passed", values), *checks[1:])


def _agreement(names: list[str], rng) -> AgreementResult:
    """Shares that are all different, so that a cell in the wrong place would show."""
    sides = []
    for _ in range(2):
        upper = np.triu(rng.uniform(0.6, 0.95, (len(names) + 1,) * 2), 1)
        sides.append(tuple(map(tuple, (upper + upper.T + np.eye(len(names) + 1)).tolist())))
    return AgreementResult(0.1, ("truth", *names), (False, *(name in REALISED for name in names)), *sides)


def _share(value: float, n: int, widen: float = 1) -> Estimate:
    return _around(float(value), widen * 1.96 * math.sqrt(value * (1 - value) / n) + 1.5 / n)


def _around(value: float, half: float) -> Estimate:
    return Estimate(value, max(value - half, 0.0), min(value + half, 1.0))


def _groups(shift, members, nonmembers, rng) -> tuple[GroupResult, ...]:
    shares = {"age": {"18-29": 0.08, "30-49": 0.5, "50-69": 0.36, "70+": 0.06}, "sex": {"F": 0.47, "M": 0.53}}
    groups = []
    for group, values in shares.items():
        for value, share in values.items():
            inside, outside = int(share * members), int(share * nonmembers)
            centre = 0.5 + (0.28 + 0.1 * (value == "70+") + 0.01 * rng.normal()) * (shift > 0)
            groups.append(
                GroupResult(group, value, inside, outside, _around(centre, 0.5 * math.sqrt(1 / inside + 1 / outside)))
            )
    return tuple(groups)


def _exposed(shift, nonmembers, rng) -> tuple[Exposed, ...]:
    scores = np.sort(rng.gamma(2 + 2 * shift, 2, 12))[::-1]
    return tuple(
        Exposed(
            f"patient-{int(rng.integers(10_000)):05d}",
            str(rng.choice(["yes", "no"])),
            {"sex": str(rng.choice(["F", "M"])), "age": str(rng.choice(["30-49", "70+"]))},
            float(s),
            (1 + i // 3) / (nonmembers + 1),
        )
        for i, s in enumerate(scores)
    )
