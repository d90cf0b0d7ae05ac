"""What can be collected about a target beyond what ordinary references say, one file per kind."""
