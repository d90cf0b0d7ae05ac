"""A newcomer's first audit, with guestlist and with SACRO-ML: the same target, 100 references each."""
