"""Functions and modules that a small audit visits."""
