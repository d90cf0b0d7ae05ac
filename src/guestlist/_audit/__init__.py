"""The flow of an audit, and everything that starts from one: defend, compare, gate, play, experiment."""
