"""The audit folder on disk."""

from guestlist.store.folder import Manifest, Store, locked, model_path, numbered, open_store, read_or_explain

__all__ = ["Manifest", "Store", "locked", "model_path", "numbered", "open_store", "read_or_explain"]
