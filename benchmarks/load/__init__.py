"""Time and memory of an audit of a free model with very many records, models or classes."""
