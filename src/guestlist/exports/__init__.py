"""Results for other tools: each export is a file and a row of a table."""

from guestlist.exports.table import EXPORTS, Export

__all__ = ["EXPORTS", "Export"]
