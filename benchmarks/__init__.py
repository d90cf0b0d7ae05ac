"""Ratios against peers and against the limit. Machines are noisy: every benchmark compares things in one run."""
