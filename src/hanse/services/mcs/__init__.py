"""The multi-cluster services API: what some clusters export, every cluster with the same namespace imports."""
