"""What stands between the tables of the page."""

from __future__ import annotations

INTRODUCTION = "x\n"
TABLE_1 = OTHER_VALUES = FIGURE_1 = TABLE_2 = FIGURE_2 = TABLE_3 = UNCHANGED = FIGURE_5 = FIGURE_6 = "x\n"
TABLE_5 = TABLE_6 = RANKS = DIFFERENCES = "x\n"


def times(theirs: dict[str, float]) -> str:
    return "x\n"
