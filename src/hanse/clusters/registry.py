"""The live list of members: a connection to each Cluster of the host, its health, and its status.

Whoever works with members attaches a function to the registry; it runs once a member for as long as the member is
there with those credentials. A member whose part fails is tried again by itself: no member can end another's work.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from typing import Any

import structlog

from hanse.api.clusters import CLUSTERS, Cluster, parse_cluster
from hanse.api.names import SYSTEM_NAMESPACE
from hanse.clusters.health import Health, HealthTerms, State, judge
from hanse.clusters.member import Member, endpoint_from_secret
from hanse.clusters.probing import look_at_identity, look_at_nodes, look_at_version, probe
from hanse.clusters.status import Facts, cluster_status, health_from_status
from hanse.kube.cache import Cache, Change
from hanse.kube.client import Client
from hanse.kube.controller import Controller
from hanse.kube.errors import ApiError, NotFound
from hanse.kube.events import EventRecorder
from hanse.kube.kubeconfig import Endpoint, KubeconfigError
from hanse.kube.manifest import Key, Obj, dig
from hanse.kube.patches.merge_patch import merge_patch_between
from hanse.kube.resources import SECRETS
from hanse.kube.runtime import timestamp
from hanse.kube.transport import Transport, Unreachable

log = structlog.get_logger("hanse")

_FACTS_SECONDS = 30.0
_RESTART_SECONDS = 1.0

Attachment = Callable[[Member], Coroutine[Any, Any, None]]


class Registry:
    """Every Cluster of the host, connected and judged."""

    def __init__(
        self, host: Client, connect: Callable[[Endpoint], Transport], terms: HealthTerms | None = None
    ) -> None:
        self._host = host
        self._runtime = host.runtime
        self._connect = connect
        self._terms = terms or HealthTerms()
        self._clusters = Cache(host, CLUSTERS)
        self._secrets = Cache(host, SECRETS, namespace=SYSTEM_NAMESPACE)
        self._controller: Controller[str] = Controller("clusters", self._reconcile, self._runtime, workers=4)
        self._attachments: list[Attachment] = []
        self._listeners: list[Callable[[str], None]] = []
        self._running: dict[str, tuple[object, asyncio.Task[None]]] = {}
        self._tasks: asyncio.TaskGroup | None = None
        self._parsed: list[Cluster] | None = None
        self._events = EventRecorder(host, "hanse")

    def attach(self, work: Attachment) -> None:
        """Run `work` for every member while it is joined."""
        self._attachments.append(work)

    def subscribe(self, listener: Callable[[str], None]) -> None:
        """Call `listener` with a cluster's name when anything that placement may look at has changed."""
        self._listeners.append(listener)

    def clusters(self) -> list[Cluster]:
        """Return what the registry says of every cluster, in order of name; raises NotSynced before it knows."""
        if self._parsed is None:
            self._parsed = [parse_cluster(obj) for obj in self._clusters.objects()]
        return self._parsed

    async def wait_synced(self) -> None:
        """Wait until every Cluster is known."""
        await self._clusters.wait_synced()
        await self._secrets.wait_synced()

    async def run(self) -> None:
        """Keep the connections until cancelled."""
        self._clusters.subscribe(self._cluster_changed)
        self._secrets.subscribe(self._secret_changed)
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            tasks.create_task(self._clusters.run())
            tasks.create_task(self._secrets.run())
            await self.wait_synced()
            tasks.create_task(self._controller.run())

    def _cluster_changed(self, change: Change) -> None:
        self._parsed = None
        self._controller.queue.add(change.key.name)
        if _for_placement(change.old) != _for_placement(change.new):
            for listener in self._listeners:
                listener(change.key.name)

    def _secret_changed(self, change: Change) -> None:
        if not self._clusters.synced:
            return
        for cluster in self.clusters():
            if cluster.credentials == change.key:
                self._controller.queue.add(cluster.name)

    async def _reconcile(self, name: str) -> None:
        """Have exactly one task run for a cluster, with its present credentials."""
        obj = self._clusters.get(Key("", name))
        if obj is None:
            await self._stop(name)
            return
        cluster = parse_cluster(obj)
        running = self._running.get(name)
        try:
            endpoint = self._endpoint(cluster)
            if running is not None and running[0] == endpoint and not running[1].done():
                return
            transport = self._connect(endpoint)
        except KubeconfigError as error:
            await self._stop(name)
            await self._report(name, Health(State.OFFLINE, str(error)), Facts(), joined=str(error))
            return
        await self._stop(name)
        if self._tasks is not None:
            self._running[name] = (endpoint, self._tasks.create_task(self._serve(name, transport)))

    def _endpoint(self, cluster: Cluster) -> Endpoint:
        if cluster.credentials is None:
            raise KubeconfigError("spec.authInfo.controller names no Secret")
        secret = self._secrets.get(cluster.credentials)
        if secret is None:
            raise KubeconfigError(f"secret {cluster.credentials}, named by spec.authInfo.controller, does not exist")
        return endpoint_from_secret(secret, cluster.name)

    async def _stop(self, name: str) -> None:
        running = self._running.pop(name, None)
        if running is not None:
            running[1].cancel()
            await asyncio.wait({running[1]})

    async def _serve(self, name: str, transport: Transport) -> None:
        """Run everything that belongs to one member until it is cancelled."""
        client = Client(transport, self._runtime)
        member = Member(name, client)
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._forever(name, lambda: self._watch_health(member)))
                for work in self._attachments:
                    tasks.create_task(self._forever(name, lambda work=work: work(member)))  # type: ignore[misc]
        finally:
            await client.close()

    async def _forever(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                await work()
            except Exception:
                log.exception("Work for a member ended; starting it again", member=name)
            await self._runtime.sleep(_RESTART_SECONDS)

    async def _watch_health(self, member: Member) -> None:
        known = self._clusters.get(Key("", member.name)) or {}
        health = health_from_status(dig(known, "status", "conditions", default=[]))
        facts_due = 0.0
        while True:
            found = await probe(member.client, self._terms.timeout_seconds)
            health = judge(health, found, self._runtime.monotonic(), self._terms)
            facts = Facts()
            if found.healthy and self._runtime.monotonic() >= facts_due:
                facts = await self._look(member)
                settled = facts.topology is not None and facts.topology.nodes > 0
                facts_due = self._runtime.monotonic() + (_FACTS_SECONDS if settled else 0.0)
            try:
                await self._report(member.name, self._unless_known(member.name, health), facts)
            except (ApiError, Unreachable) as error:
                # The host may be away for a moment; the judgement stands and is written with the next probe.
                log.warning("Could not write a cluster's status", member=member.name, error=str(error))
            await self._runtime.sleep(self._terms.period_seconds * self._runtime.uniform(0.9, 1.1))

    async def _look(self, member: Member) -> Facts:
        timeout = self._terms.timeout_seconds
        return Facts(
            topology=await look_at_nodes(member.client, timeout),
            version=await look_at_version(member.client, timeout),
            uid=await look_at_identity(member.client, timeout),
        )

    def _unless_known(self, name: str, health: Health) -> Health:
        """Refuse a cluster that is a member already under another name: it would be asked for everything twice."""
        uid = next((cluster.uid for cluster in self.clusters() if cluster.name == name), "")
        twins = [cluster.name for cluster in self.clusters() if uid and cluster.uid == uid]
        if not twins or min(twins) == name or health.state is not State.READY:
            return health
        return Health(State.NOT_READY, f"it is the same cluster as {min(twins)}; remove one of the two")

    async def _report(self, name: str, health: Health, facts: Facts, *, joined: str = "") -> None:
        obj = self._clusters.get(Key("", name))
        if obj is None:
            return
        now = timestamp(self._runtime.now())
        old = obj.get("status") or {}
        status = cluster_status(old, health, facts, now, joined=joined)
        if status == old:
            return
        try:
            written = await self._host.patch(
                CLUSTERS, name, {"status": merge_patch_between(old, status)}, subresource="status"
            )
        except NotFound:
            return
        self._clusters.remember(written)
        await self._tell_transition(obj, health)

    async def _tell_transition(self, before: Obj, health: Health) -> None:
        """Say in the log and in an Event when the judgement of a cluster has changed."""
        was = health_from_status(dig(before, "status", "conditions", default=[])).state
        if was is health.state:
            return
        name = before["metadata"]["name"]
        log.info("Judged a cluster anew", member=name, before=str(was), now=str(health.state), why=health.why)
        warning = health.state is not State.READY
        await self._events.record(
            before, f"Cluster{health.state}", f"{name} is {health.state}: {health.why}", warning=warning
        )


def _for_placement(obj: Obj | None) -> Cluster | None:
    """Return what placement may look at; another wording of the same trouble is nothing new to it."""
    return None if obj is None else replace(parse_cluster(obj), why="")
