"""The native front door: plain Kubernetes objects, unchanged, over many clusters."""

from hanse.native.door import NativeDoor

__all__ = ["NativeDoor"]
