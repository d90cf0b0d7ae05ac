"""The adversary's view: arrays only, without the target's membership."""
