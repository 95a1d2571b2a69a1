"""A whole federation on virtual time: API servers, simulated clusters and the control plane in one process."""
