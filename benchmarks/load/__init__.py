"""Time and memory of an audit of a model without cost, with many records, models or classes."""
