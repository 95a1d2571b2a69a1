"""Pure: rendered manifests into what the clusters of a release get."""

from __future__ import annotations

from hanse.rollouts.assembly.assembled import ANCHOR_KEY, Assembled, assemble

__all__ = ["ANCHOR_KEY", "Assembled", "assemble"]
