"""Errors in the five papers, each with the numbers that show it, recomputed where possible.

``python -m papers.errata page`` writes the page. There is one file per paper; errors are paraphrased.
"""
