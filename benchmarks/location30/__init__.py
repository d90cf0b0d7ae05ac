"""All attacks on one network of Location30, with 8, 32 and 128 references."""
