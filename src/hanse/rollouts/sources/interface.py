"""What the controllers ask of a source of manifests, whatever it is."""

from __future__ import annotations

from typing import Protocol

from hanse.kube.manifest import Obj
from hanse.rollouts.environment import Environment


class Sources(Protocol):
    """Gives the manifests that an environment means."""

    async def resolve(self, environment: Environment, namespace: str) -> str:
        """Return the chart version that is meant, "" for what has no versions; raises SourceProblem."""

    async def render(self, environment: Environment, *, release: str, namespace: str) -> list[Obj]:
        """Return the manifests in the order in which Helm installs them; raises SourceProblem."""
