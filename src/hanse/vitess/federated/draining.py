"""Hands drain tokens on, and has a primary that drains replaced by a tablet of another cluster where it must be."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from hanse.vitess.federated.evacuation import ShardSight
from hanse.vitess.federated.reading import Shard, ShardId
from hanse.vitess.federated.reparenting import ReparentFailed, Tablets
from hanse.vitess.federated.token_store import TokenStore
from hanse.vitess.federated.tokens import Token, is_whole, next_token, reparent_for_drain
from hanse.vitess.topology.store import Version


class Drains:
    """Looks after the drains of one Vitess for the length of one pass."""

    def __init__(self, tokens: TokenStore, tablets: Tablets | None, seen: Mapping[ShardId, Version]) -> None:
        """`seen` are the tokens that were there before the tablets were looked at."""
        self._tokens = tokens
        self._tablets = tablets
        self._seen = seen

    async def serve(
        self,
        shards: Sequence[Shard],
        sights: Mapping[ShardId, ShardSight],
        *,
        heard: Collection[str],
        now: float,
        preferred_cells: Sequence[str] = (),
    ) -> list[str]:
        """Serve every shard and return what was done or has to wait, in sentences; raises TopologyError."""
        said: list[str] = []
        for shard in shards:
            sight = sights.get(shard.id)
            if sight is None:
                continue
            token = await self._hand_on(shard, sight, heard, now)
            said += await self._relieve(shard.id, sight, token, preferred_cells)
        return said

    async def _hand_on(self, shard: Shard, sight: ShardSight, heard: Collection[str], now: float) -> Token | None:
        stored, version = await self._tokens.find(shard.id) or (None, None)
        if version is not None and version != self._seen.get(shard.id):
            # It was taken after the tablets were looked at: of the drain that it is for nothing is known yet.
            return stored
        expected = [identity.alias for identity in shard.identities()]
        whole = is_whole(sight.tablets, expected, heard)
        wanted = next_token(stored, sight.tablets, heard=heard, whole=whole, now=now, primary=sight.primary)
        if stored is not None and version is not None and (wanted is None or wanted.alias != stored.alias):
            await self._tokens.remove(shard.id, version)
        if wanted is not None and (stored is None or wanted.alias != stored.alias):
            return wanted if await self._tokens.take(shard.id, wanted) else None
        return wanted

    async def _relieve(
        self, shard: ShardId, sight: ShardSight, token: Token | None, preferred_cells: Sequence[str]
    ) -> list[str]:
        change = reparent_for_drain(token, sight.primary, sight.tablets, preferred_cells=preferred_cells)
        if isinstance(change, str):
            return [f"{shard}: {change}"] if change else []
        if self._tablets is None:
            return [
                f"{shard}: {change.new} would take over, and nobody here speaks with tablets: install hanse[vitess]"
            ]
        try:
            await self._tablets.reparent(shard, change)
        except ReparentFailed as error:
            return [f"{shard}: {error}"]
        return [f"{shard}: {change.new} in {change.member} took over from {change.expected}, which is drained"]
