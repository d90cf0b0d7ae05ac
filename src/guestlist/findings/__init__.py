"""Scores and truth to what was found: one file per finding, a frozen dataclass and ``find(case)``, which returns it."""
