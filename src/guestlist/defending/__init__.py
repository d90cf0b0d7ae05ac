"""From an audit that found a leak to what would help: every defence that fits, tried and compared with the plain model."""
