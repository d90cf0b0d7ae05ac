"""``python -m guestlist.cli``."""

from guestlist.cli import main

main()
