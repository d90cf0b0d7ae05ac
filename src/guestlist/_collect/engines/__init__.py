"""Engines that run the long work: in this process, in local processes, or on a Ray cluster."""
