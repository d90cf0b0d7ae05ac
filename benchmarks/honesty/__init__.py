"""Do the numbers mislead? Simulations at full size, with their figures beside them."""
