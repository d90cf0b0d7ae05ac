"""Benchmarks as ratios to other tools and to lower limits. Machines are noisy, so every benchmark compares within one run."""
