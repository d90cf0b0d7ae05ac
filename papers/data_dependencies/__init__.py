"""Humphries et al. (2023), Investigating Membership Inference Attacks under Data Dependencies: our results and the paper's."""
