"""``python -m guestlist.cli``."""

from guestlist.cli import run

run()
