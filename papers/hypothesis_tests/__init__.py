"""Ye et al. (2022), Privacy auditing of machine learning using membership inference attacks: S, P, R, D and L."""
