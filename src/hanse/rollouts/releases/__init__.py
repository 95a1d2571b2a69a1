"""Releases: the clusters of each, what is rendered for it, and its way through the steps of its strategy."""

from __future__ import annotations

from hanse.rollouts.releases.controller import ReleaseController

__all__ = ["ReleaseController"]
