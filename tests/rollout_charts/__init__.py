"""Charts of several shapes, and the same application as a kustomization and as plain manifests."""
