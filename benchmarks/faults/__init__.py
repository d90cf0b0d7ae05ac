"""Wrong, damaged and hostile input to every entry point: each call returns, or raises an error with a clear sentence."""
