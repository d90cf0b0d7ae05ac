"""Worlds in which the truth is known: how often a number misleads."""
