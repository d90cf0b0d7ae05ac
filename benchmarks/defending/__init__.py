"""What helps two models of the Adult census: the figures of ``docs/my_model_leaks.md``."""
