"""Loaders of known data: embedded, found beside the project or in the cache, or fetched with a checksum."""

from guestlist.datasets.table import DATASETS, Dataset, load

__all__ = ["DATASETS", "Dataset", "load"]
