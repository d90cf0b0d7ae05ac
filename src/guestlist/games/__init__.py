"""Who trains on what, and what the adversary is asked."""

from guestlist.games.bernoulli import Design, iid, inclusion_rate

__all__ = ["Design", "iid", "inclusion_rate"]
