"""Evidence about a target beyond the signals of references, one file per type."""
