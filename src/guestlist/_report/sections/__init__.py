"""The sections of the page: one file each, with ``section(results)``, which returns it or None."""
