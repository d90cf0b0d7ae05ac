"""Humphries et al. (2023), Investigating Membership Inference Attacks under Data Dependencies: ours beside the paper's."""
