"""Hanse runs many Kubernetes clusters as one federation."""

__version__ = "0.1.0"
