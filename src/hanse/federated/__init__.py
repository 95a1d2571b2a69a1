"""The front door of federated types: KubeFed's objects, in every form that they had, into intents."""

from hanse.federated.door import FederatedDoor
from hanse.federated.keeper import TypeKeeper

__all__ = ["FederatedDoor", "TypeKeeper"]
