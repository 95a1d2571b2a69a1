"""Applications: every change of a template becomes a Release, as long as nothing blocks it."""

from __future__ import annotations

from hanse.rollouts.applications.controller import ApplicationController
from hanse.rollouts.applications.hashing import environment_hash

__all__ = ["ApplicationController", "environment_hash"]
