"""Loaders of public datasets: from a package, a local folder, the cache, or a download with a checksum."""

from guestlist.datasets.fetch import DATA_VARIABLE, local
from guestlist.datasets.table import DATASETS, Dataset, load

__all__ = ["DATASETS", "DATA_VARIABLE", "Dataset", "load", "local"]
