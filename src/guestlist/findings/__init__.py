"""Scores and truth to what was found."""
