"""The report: page, terminal, notebook and exports, rendered from results."""
