"""How far a small audit travels through the source."""
