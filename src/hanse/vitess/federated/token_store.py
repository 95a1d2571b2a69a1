"""Drain tokens where every cluster finds them: beside the records of Vitess in the global lockserver."""

from __future__ import annotations

import orjson

from hanse.vitess.federated.reading import ShardId
from hanse.vitess.federated.tokens import Token
from hanse.vitess.topology import paths
from hanse.vitess.topology.access import Topology
from hanse.vitess.topology.paths import GLOBAL
from hanse.vitess.topology.store import BadRecord, BadVersion, NodeExists, NoNode, Version


def token_path(shard: ShardId) -> str:
    """Return where the token of a shard is; outside its own directory, which would else outlive its removal."""
    return paths.drain_token(shard.keyspace, shard.shard)


class TokenStore:
    """Reads, takes and gives back tokens; every write demands the version that was read."""

    def __init__(self, topology: Topology) -> None:
        self._topology = topology

    async def read(self, shard: ShardId) -> Token | None:
        """Return who has the token of a shard; raises TopologyError where that is not known."""
        found = await self.find(shard)
        return None if found is None else found[0]

    async def take(self, shard: ShardId, token: Token) -> bool:
        """Take the token of a shard, unless another member has it; says whether it is one's own now.

        Within a member its operator decides whose turn it is, and sees to it that one drain is finished at a time.
        """
        store = await self._topology.store(GLOBAL)
        try:
            await store.create(token_path(shard), _encoded(token))
        except NodeExists:
            pass
        else:
            return True
        held = await self.find(shard)
        if held is None or held[0].member != token.member:
            return False
        # One that is held for this very tablet already is written all the same: it may be left over from a drain that
        # is done, and who saw that takes back no more than the writing that he saw.
        kept = held[0] if held[0].alias == token.alias else token
        try:
            await store.update(token_path(shard), _encoded(kept), held[1])
        except BadVersion:
            return False
        return True

    async def give_back(self, shard: ShardId, token: Token) -> None:
        """Give a token back, unless it is somebody else's by now."""
        found = await self.find(shard)
        if found is not None and found[0].alias == token.alias:
            await self.remove(shard, found[1])

    async def remove(self, shard: ShardId, version: Version) -> None:
        """Give back exactly the token that was read; one that was taken since then stays."""
        try:
            await (await self._topology.store(GLOBAL)).delete(token_path(shard), version)
        except (NoNode, BadVersion):
            return

    async def find(self, shard: ShardId) -> tuple[Token, Version] | None:
        """Return who has the token of a shard, and which writing of it that is; raises TopologyError."""
        try:
            found = await (await self._topology.store(GLOBAL)).read(token_path(shard))
        except NoNode:
            return None
        try:
            said = orjson.loads(found.value)
            token = Token(str(said["alias"]), str(said["member"]), float(said["since"]))
            if not token.alias or not token.member:
                raise ValueError("it does not say whose it is")
            return token, found.version
        except (ValueError, KeyError, TypeError) as error:
            raise BadRecord(f"{token_path(shard)} is not a drain token; remove it once nothing is drained") from error


def _encoded(token: Token) -> bytes:
    return orjson.dumps({"alias": token.alias, "member": token.member, "since": token.since})
