"""Page of an experiment on dependent records."""
