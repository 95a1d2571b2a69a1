"""The targets of the federation itself: every registered cluster that is reached from here, under its own name."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from hanse.api.admiralty.names import TargetName
from hanse.api.clusters import Cluster
from hanse.clusters.member import Member, PullMember
from hanse.clusters.roster import Attachment, Roster
from hanse.kube.client import Client
from hanse.kube.errors import ApiError
from hanse.kube.transport import Unreachable
from hanse.pods.chaperons.signs import source_lease
from hanse.pods.targets.claims import Claim, SourceIdentity, take_claim
from hanse.pods.targets.pulse import Pulse

_FETCHES = "it fetches its work, and pods are sent only to clusters that are reached from here"
_AGAIN_SECONDS = 5.0
# A name that another federation has becomes free by a person's hand.
_TAKEN_SECONDS = 30.0


class HostRoster:
    """Shows the registry's clusters as targets; made before the registry runs.

    A cluster gets no pods before it is known that no other federation sends any there that look like this one's; that
    is found out once somebody has something to place, so that a federation without such pods writes nothing.
    """

    source = ""

    def __init__(self, registry: Roster, host: Client | None = None) -> None:
        """`host` tells this federation from others; without it nobody knows, and no sign of life is given."""
        self._registry = registry
        self._identity = SourceIdentity(host)
        self._members: dict[str, Member] = {}
        self._claims: dict[str, Claim] = {}
        self._listeners: list[Callable[[str], None]] = []
        self._listed: tuple[Sequence[Cluster], list[Cluster]] | None = None
        self._needed = asyncio.Event()
        self.attach(self._show)
        self.attach(Pulse(self.source, self._identity.get).serve)
        registry.subscribe(self._tell)

    def attach(self, work: Attachment) -> None:
        """Run `work` for every cluster that is reached from here; said before the registry runs."""

        async def reached(member: Member | PullMember) -> None:
            if isinstance(member, PullMember):
                await asyncio.Event().wait()
            await work(member)

        self._registry.attach(reached)

    def subscribe(self, listener: Callable[[str], None]) -> None:
        """Call `listener` with a cluster's name when anything that placement may look at has changed."""
        self._listeners.append(listener)

    def clusters(self) -> Sequence[Cluster]:
        """Return every cluster that is reached from here, for whoever places; raises NotSynced before that is known."""
        self._needed.set()
        return self._reached()

    async def wait_synced(self) -> None:
        """Wait until every cluster is known."""
        await self._registry.wait_synced()

    def targets(self) -> Sequence[TargetName]:
        """Return every cluster that is reached from here."""
        return [TargetName("", cluster.name) for cluster in self._reached()]

    def member(self, name: str) -> Member | None:
        """Return the way to a cluster that is connected."""
        return self._members.get(name)

    def registered(self, name: str) -> str:
        """Return the cluster itself."""
        return name

    def is_self(self, name: str) -> bool:
        """Say that the federation runs no pods of its own."""
        return False

    def is_leaving(self, name: str) -> bool:
        """Say that a cluster is there or is not: it leaves the federation by what the registry does."""
        return False

    def troubles(self) -> Mapping[str, str]:
        """Return the clusters to which no pods are sent, each with the sentence that says why."""
        fetching = {cluster.name: _FETCHES for cluster in self._registry.clusters() if cluster.pull}
        return fetching | {cluster.name: cluster.refusal for cluster in self._reached() if cluster.refusal}

    async def claim(self, name: str) -> Claim:
        """Tell whether what is the federation's own in a cluster is surely this one's."""
        member = self.member(name)
        return await self._take_name(member) if member is not None else Claim(None, f"{name} is not in use")

    async def run(self) -> None:
        """Wait until cancelled: the registry does all there is to do."""
        await asyncio.Event().wait()

    def _reached(self) -> list[Cluster]:
        registered = self._registry.clusters()
        if self._listed is None or self._listed[0] is not registered:
            self._listed = registered, [self._seen(cluster) for cluster in registered if not cluster.pull]
        return self._listed[1]

    async def _show(self, member: Member | PullMember) -> None:
        if isinstance(member, PullMember):
            return
        self._members[member.name] = member
        try:
            await self._keep_claiming(member)
        finally:
            if self._members.get(member.name) is member:
                del self._members[member.name]

    async def _keep_claiming(self, member: Member) -> None:
        """Take the federation's name in a cluster, and go on for as long as another one has it."""
        await self._needed.wait()
        while True:
            try:
                claim = await self._take_name(member)
            except (ApiError, Unreachable, TimeoutError):
                await member.client.runtime.sleep(_AGAIN_SECONDS)
                continue
            if claim != self._claims.get(member.name):
                self._claims[member.name] = claim
                self._tell(member.name)
            if claim.ours is not False:
                await asyncio.Event().wait()
            await member.client.runtime.sleep(_TAKEN_SECONDS)

    async def _take_name(self, member: Member) -> Claim:
        identity = await self._identity.get()
        return await take_claim(member.client, source_lease(self.source), identity, found_namespace=True)

    def _seen(self, cluster: Cluster) -> Cluster:
        """Return a cluster as pods see it: what it has stays, but nothing new goes where the name may be another's."""
        claim = self._claims.get(cluster.name)
        if claim is None:
            return replace(cluster, unschedulable=True)
        return replace(cluster, ready=False, why=claim.why) if claim.ours is False else cluster

    def _tell(self, cluster: str) -> None:
        self._listed = None
        for listener in self._listeners:
            listener(cluster)
