"""Loaders of public datasets: from a package, a local folder, the cache, or a download with a checksum."""

from guestlist.datasets.table import DATA_VARIABLE, DATASETS, Dataset, load, local

__all__ = ["DATASETS", "DATA_VARIABLE", "Dataset", "load", "local"]
