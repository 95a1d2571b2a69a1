"""The native front door: plain Kubernetes objects, unchanged, over many clusters."""

from hanse.native.door import NativeDoor
from hanse.native.guest import GuestDoor
from hanse.native.keeper import KindKeeper

__all__ = ["GuestDoor", "KindKeeper", "NativeDoor"]
