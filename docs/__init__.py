"""Pages about guestlist, and the code that makes parts of them."""
