"""Run times of risks."""
