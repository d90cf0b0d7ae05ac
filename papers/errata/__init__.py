"""Errors in the five papers, each with the numbers that show it, recomputed where possible.

``python -m papers.errata page`` writes the page. One file per paper; an error is stated in our own words.
"""
