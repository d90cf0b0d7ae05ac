"""Where the long work runs: in this process, in processes of our own, or on a cluster."""
