"""Are the numbers right? Worlds whose answer is known."""
