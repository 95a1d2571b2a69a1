"""A whole federation in one process: embedded host, simulated clusters, control plane; what `hanse up` runs."""
