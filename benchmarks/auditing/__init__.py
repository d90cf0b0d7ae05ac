"""Lower bounds on epsilon compared with those of jax_privacy, on the same scores."""
