"""Lower bounds on epsilon beside those of jax_privacy, on the same scores."""
