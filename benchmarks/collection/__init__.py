"""Overhead of collection over training, and the gain from a second core."""
