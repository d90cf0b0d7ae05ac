"""Commands that people wait for: the gate, and the first audit after an installation."""
