"""Error rates of audits in simulations with known ground truth. The tests run the same code at small size."""
