"""Ye et al. (2022), Privacy auditing of machine learning using membership inference attacks: text against Table 2."""

from __future__ import annotations

from papers.errata.erratum import Erratum
from papers.hypothesis_tests.comparison import reach
from papers.hypothesis_tests.published import AGREEMENT_LEVEL, AGREEMENT_MEMBERS, AGREEMENT_NONMEMBERS

# Statements of section 4 on Table 2: agreement of two tests on members and on non-members.
STATEMENTS = {("S", "P"): (0.94, 0.94), ("L", "D"): (0.98, 0.82)}


def errata() -> list[Erratum]:
    pairs = {pair: (AGREEMENT_MEMBERS[pair], AGREEMENT_NONMEMBERS[pair]) for pair in STATEMENTS}
    flagged, of_d = (1 - AGREEMENT_NONMEMBERS["truth", test] for test in "LD")
    text = [
        Erratum(
            f"Section 4 against Table 2, {first} and {second}",
            "agreement of {:.2f} on members and {:.2f} on non-members".format(*STATEMENTS[first, second]),
            "the table has {:.3f} and {:.3f}".format(*pairs[first, second]),
            "the number for non-members is right, that for members is too high",
        )
        for first, second in STATEMENTS
    ]
    return [
        *text,
        Erratum(
            "Table 2, attack L",
            f"the reference test, at level {AGREEMENT_LEVEL:g}",
            f"it flags {flagged:.2f} of the non-members, and D {of_d:.3f}. A calibrated L could agree with "
            f"this D on at most {reach(AGREEMENT_LEVEL, of_d):.3f} of them; the table has "
            f"{AGREEMENT_NONMEMBERS['L', 'D']:.3f}",
            "that D agrees most with L says first that both call many; see [the page](papers_hypothesis_tests.md)",
        ),
    ]
