"""Where nothing leaks, what is claimed? At full size; the tests run the same code at small size."""
