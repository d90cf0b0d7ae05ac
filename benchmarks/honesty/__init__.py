"""Does guestlist say what is so? Worlds whose answer is known, many times over."""
