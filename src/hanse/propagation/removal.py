"""How a copy is taken from a cluster."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Removal:
    """How a copy is deleted: what becomes of what it owns, and how long it has to end."""

    propagation: str = "Background"
    grace_seconds: int | None = None


DELETED = Removal()
