"""Wrong, damaged and hostile input to every entry point: each call returns, or is told what is wrong in a sentence."""
