"""What an adversary may look at: arrays only, and no truth."""
