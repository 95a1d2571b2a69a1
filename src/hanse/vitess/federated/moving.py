"""Does what people ask for: empties members, and changes primaries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hanse.api.planetscale.kinds import (
    DRAIN_STARTED_ANNOTATION,
    RELEASED_ANNOTATION,
    VITESS_KEYSPACES,
    VITESS_SHARDS,
)
from hanse.kube.client import Client
from hanse.kube.errors import ApiError
from hanse.kube.manifest import annotations_of, name_of, namespace_of
from hanse.kube.resources import PODS
from hanse.kube.transport import Unreachable
from hanse.vitess.federated.evacuation import ShardSight, evacuate
from hanse.vitess.federated.member_parts import MemberParts, TabletPod, tablet_pods
from hanse.vitess.federated.picture import Picture
from hanse.vitess.federated.reading import ShardId
from hanse.vitess.federated.releasing import to_release
from hanse.vitess.federated.reparenting import ReparentFailed, Tablets
from hanse.vitess.federated.requests import EVACUATION, Requests
from hanse.vitess.federated.sights import Scene
from hanse.vitess.federated.tokens import Reparent


class Moves:
    """Serves the requests of one pass; `clients` are the ways into the members."""

    def __init__(self, tablets: Tablets | None, clients: Mapping[str, Client]) -> None:
        self._tablets = tablets
        self._clients = clients

    async def evacuate(
        self, requests: Requests, scene: Scene, sights: Mapping[ShardId, ShardSight], preferred: Sequence[str]
    ) -> list[str]:
        """Empty the members that shall be empty, let the others have their tablets back, and say what is left."""
        said: list[str] = []
        for member in requests.evacuate:
            if member not in scene.members:
                said.append(f"{member} is to be evacuated, and has no part of this")
                continue
            found = evacuate(member, list(sights.values()), preferred_cells=preferred)
            said += [f"{member} is not empty yet: {why}" for why in found.blocked]
            for shard, change in found.reparents.items():
                said.append(await self._change(shard, change))
            await self._mark(member, [pod for pod in _pods(scene, member) if pod.alias in found.drains], EVACUATION)
        for member in scene.members:
            over = [
                pod
                for pod in (_pods(scene, member) if member not in requests.evacuate else ())
                if annotations_of(pod.pod).get(DRAIN_STARTED_ANNOTATION) == EVACUATION
            ]
            await self._mark(member, over, None)
        return said

    async def release(self, scene: Scene, picture: Picture) -> None:
        """Let go of changes that wait in members for somebody, where nobody but the federation would."""
        for member, sight in scene.members.items():
            client = self._clients.get(member)
            for obj in to_release(scene.plan, member, sight.parts or MemberParts(), picture):
                kind = VITESS_KEYSPACES if obj["kind"] == VITESS_KEYSPACES.kind else VITESS_SHARDS
                patch = {"metadata": {"annotations": {RELEASED_ANNOTATION: "hanse"}}}
                try:
                    if client is not None:
                        await client.patch(kind, name_of(obj), patch, namespace_of(obj))
                except ApiError:
                    continue
                except Unreachable:
                    break

    async def reparent(
        self, requests: Requests, scene: Scene, sights: Mapping[ShardId, ShardSight]
    ) -> tuple[list[str], dict[ShardId, str]]:
        """Change the primaries that shall be others; returns what is to be said, and the wishes that are left."""
        said, left = list[str](), dict[ShardId, str]()
        for shard, alias in requests.reparent.items():
            sight = sights.get(shard)
            tablet = next((each for each in sight.tablets if each.alias == alias), None) if sight is not None else None
            if sight is None or tablet is None:
                said.append(f"{shard} has no tablet {alias}, so it does not become its primary")
                left[shard] = alias
            elif sight.primary != alias:
                said.append(await self._change(shard, Reparent(sight.primary, alias, tablet.member)))
                left[shard] = alias
        return said, left

    async def _change(self, shard: ShardId, change: Reparent) -> str:
        if self._tablets is None:
            return f"{shard}: {change.new} shall be primary, and nobody here speaks with tablets; see hanse[vitess]"
        try:
            await self._tablets.reparent(shard, change)
        except ReparentFailed as error:
            return f"{shard}: {change.new} is not primary yet: {error}"
        return f"{shard}: {change.new} took over from {change.expected or 'nobody'}"

    async def _mark(self, member: str, pods: Sequence[TabletPod], text: str | None) -> None:
        """Begin or end the drains of tablets; what is not done now is done in the next pass."""
        client = self._clients.get(member)
        if client is None:
            return
        patch = {"metadata": {"annotations": {DRAIN_STARTED_ANNOTATION: text}}}
        for pod in pods:
            try:
                await client.patch(PODS, name_of(pod.pod), patch, namespace_of(pod.pod))
            except ApiError:
                continue
            except Unreachable:
                # A member that is silent would be as silent for each of its tablets.
                return


def _pods(scene: Scene, member: str) -> list[TabletPod]:
    parts = scene.members[member].parts
    return tablet_pods(parts.tablets) if parts is not None else []
