"""Findings: one file per topic, each a frozen dataclass and a function from the case to it or None."""
