"""The audit folder on disk."""

from guestlist.store.folder import Manifest, Store, model_path, numbered, only_one, open_store, reading

__all__ = ["Manifest", "Store", "model_path", "numbered", "only_one", "open_store", "reading"]
