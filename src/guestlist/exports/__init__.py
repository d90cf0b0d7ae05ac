"""Results for other tools: each export is a file and a row of a table."""

from guestlist.exports.asserting import assert_private
from guestlist.exports.junit import junit
from guestlist.exports.sarif import sarif
from guestlist.exports.table import EXPORTS, Export

__all__ = ["EXPORTS", "Export", "assert_private", "junit", "sarif"]
