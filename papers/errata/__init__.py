"""Slips in the founding papers, each with the figures that show it: recomputed here where that can be done.

``python -m papers.errata page`` writes the page. One file per paper; a slip is stated in our words, never theirs.
"""
