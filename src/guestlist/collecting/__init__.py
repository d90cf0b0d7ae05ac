"""Collection of signals and evidence into the audit folder: the slow part of an audit."""
