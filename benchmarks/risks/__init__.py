"""How long risks take."""
