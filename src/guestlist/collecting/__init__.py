"""The slow part: what the target and its references say, brought into the audit folder."""
