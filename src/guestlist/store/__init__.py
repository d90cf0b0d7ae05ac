"""The audit folder on disk."""

from guestlist.store.folder import Store, file_numbers, model_path, open_store, read_or_explain
from guestlist.store.lock import folder_lock
from guestlist.store.manifest import Manifest

__all__ = ["Manifest", "Store", "file_numbers", "folder_lock", "model_path", "open_store", "read_or_explain"]
