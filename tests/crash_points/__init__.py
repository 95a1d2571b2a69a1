"""The control plane killed at every write of a scenario with every front door, on upstream Kubernetes."""
