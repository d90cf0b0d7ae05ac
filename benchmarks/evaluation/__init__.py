"""CPU time of an audit without training."""
