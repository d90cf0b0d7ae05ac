"""The audit folder on disk."""

from guestlist.store.folder import Store, model_path, numbered, open_store, read_or_explain
from guestlist.store.lock import locked
from guestlist.store.manifest import Manifest

__all__ = ["Manifest", "Store", "locked", "model_path", "numbered", "open_store", "read_or_explain"]
