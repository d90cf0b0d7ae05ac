"""Does guestlist say what is so? Worlds whose answer is known, many times over; the tests run them at small size."""
