"""What an audit takes beside training."""
