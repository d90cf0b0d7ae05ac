"""Loaders of public datasets: from a package, a local folder, the cache, or a download with a checksum.

Examples:
    >>> sorted(gl.datasets.DATASETS)[:2]
    ['adult', 'digits']
    >>> table = gl.datasets.load("digits")  # part of scikit-learn: no download
    >>> len(table), gl.datasets.DATASETS["digits"].label in table
    (1797, True)
"""

from guestlist.datasets.table import DATA_VARIABLE, DATASETS, Dataset, as_numbers, load, local

__all__ = ["DATASETS", "DATA_VARIABLE", "Dataset", "as_numbers", "load", "local"]
