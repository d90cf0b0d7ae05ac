"""Loaders of known data: embedded, found beside the project or in the cache, or fetched with a checksum."""

from guestlist.datasets.fetch import DATA_VARIABLE, local
from guestlist.datasets.table import DATASETS, Dataset, load

__all__ = ["DATASETS", "DATA_VARIABLE", "Dataset", "load", "local"]
