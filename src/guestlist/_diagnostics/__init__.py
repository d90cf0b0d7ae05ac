"""Diagnostics: code, rule, message and remedy of everything that a reader of the numbers must know."""
