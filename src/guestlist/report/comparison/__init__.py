"""Page and terminal text of a comparison of audits."""
