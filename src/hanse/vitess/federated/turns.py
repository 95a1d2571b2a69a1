"""Whose drain it is, for an operator in one member of a federated Vitess: the shared token, taken before each drain."""

from __future__ import annotations

from collections.abc import Collection

from hanse.api.vitess_records.topology import TabletAlias
from hanse.kube.runtime import Runtime
from hanse.vitess.federated.reading import ShardId
from hanse.vitess.federated.token_store import TokenStore
from hanse.vitess.federated.tokens import Token
from hanse.vitess.topology.access import Topology
from hanse.vitess.topology.store import BadRecord


class SharedTurns:
    """The turn of one shard, as its operator in one member takes it.

    It needs no control plane: the token is in the lockserver that all members share. Who has finished gives it back
    once the tablet is there again, and whoever looks after all members does so for one that cannot.
    """

    def __init__(self, topology: Topology, shard: ShardId, member: str, runtime: Runtime) -> None:
        self._tokens = TokenStore(topology)
        self._shard = shard
        self._member = member
        self._runtime = runtime

    async def take(self, alias: TabletAlias) -> bool:
        """Take the turn for a tablet unless another has it; raises TopologyError where that is not known."""
        if not self._member:
            raise BadRecord("what the federation calls this cluster is not known here, so no turn is taken in its name")
        return await self._tokens.take(self._shard, Token(str(alias), self._member, self._runtime.now()))

    async def end(self, draining: Collection[TabletAlias]) -> None:
        """Let others have the turn unless one of the member's own tablets is still drained; one that is gone is not."""
        found = await self._tokens.find(self._shard)
        if found is not None and found[0].member == self._member and found[0].alias not in map(str, draining):
            await self._tokens.remove(self._shard, found[1])
