"""The live list of members: a connection to each Cluster of the host, and whoever works with it.

Whoever works with members attaches a function to the registry; it runs once a member for as long as the member is
there. New credentials for the same addresses are taken up under way. A member whose part fails is tried again by
itself: no member can end another's work.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, replace
from typing import Any

from hanse.api.clusters import CLUSTERS, Cluster, parse_cluster
from hanse.api.names import SYSTEM_NAMESPACE
from hanse.clusters.credential_secrets import CredentialSecrets
from hanse.clusters.credentials import endpoints_of
from hanse.clusters.health import Health, HealthTerms, State, Symptom
from hanse.clusters.member import Member, PullMember
from hanse.clusters.member_transport import MemberTransport
from hanse.clusters.pulse import Pulse
from hanse.clusters.roster import Attachment
from hanse.clusters.status import Facts
from hanse.clusters.supervision import Supervision
from hanse.clusters.tokens import due_for_renewal, renew_token
from hanse.kube.cache import Cache, Change
from hanse.kube.client import Client
from hanse.kube.controller import Controller
from hanse.kube.errors import ApiError
from hanse.kube.events import EventRecorder
from hanse.kube.kubeconfig import Endpoint, KubeconfigError
from hanse.kube.log import Log
from hanse.kube.manifest import Key, Obj
from hanse.kube.transport import Transport, Unreachable

log = Log("hanse")

_RESTART_SECONDS = 1.0
# Tokens last for days; a look costs nothing but a glance at what is in memory.
_TOKEN_SECONDS = 60.0


@dataclass(slots=True)
class _Running:
    """What runs for a cluster; one that fetches its work has neither endpoints nor a transport."""

    endpoints: tuple[Endpoint, ...]
    transport: MemberTransport | None
    task: asyncio.Task[None]


class Registry:
    """Every Cluster of the host, connected and judged."""

    def __init__(
        self,
        host: Client,
        connect: Callable[[Endpoint], Transport],
        terms: HealthTerms | None = None,
        *,
        client_address: str = "",
    ) -> None:
        """`client_address` is our own, by which a member's addresses are chosen; "" tries all of them."""
        self._host = host
        self._runtime = host.runtime
        self._connect = connect
        self._client_address = client_address
        self._clusters = Cache(host, CLUSTERS)
        self._secrets = CredentialSecrets(host, self._secret_changed, self._namespace_seen)
        self._controller: Controller[str] = Controller("clusters", self._reconcile, self._runtime, workers=4)
        self._attachments: list[Attachment] = []
        self._listeners: list[Callable[[str], None]] = []
        self._running: dict[str, _Running] = {}
        self._tasks: asyncio.TaskGroup | None = None
        self._parsed: list[Cluster] | None = None
        self._events = EventRecorder(host, "hanse")
        self._supervision = Supervision(host, self._clusters, self.clusters, terms or HealthTerms(), self._events)

    def attach(self, work: Attachment) -> None:
        """Run `work` for every member while it is joined."""
        self._attachments.append(work)

    def subscribe(self, listener: Callable[[str], None]) -> None:
        """Call `listener` with a cluster's name when anything that placement may look at has changed."""
        self._listeners.append(listener)

    def clusters(self) -> list[Cluster]:
        """Return what the registry says of every cluster, in order of name; raises NotSynced before it knows.

        A cluster that is leaving is not among them.
        """
        if self._parsed is None:
            parsed = (parse_cluster(obj) for obj in self._clusters.objects())
            self._parsed = [cluster for cluster in parsed if not cluster.leaving]
        return self._parsed

    def is_offline(self, cluster: str) -> bool:
        """Tell whether a cluster is known to be Offline."""
        return self._clusters.synced and any(each.offline for each in self.clusters() if each.name == cluster)

    @property
    def cache(self) -> Cache:
        """The Cluster objects themselves, as last seen."""
        return self._clusters

    async def wait_synced(self) -> None:
        """Wait until every Cluster is known."""
        await self._clusters.wait_synced()

    async def run(self) -> None:
        """Keep the connections until cancelled."""
        self._clusters.subscribe(self._cluster_changed)
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            tasks.create_task(self._clusters.run())
            secrets = self._secrets.follow(SYSTEM_NAMESPACE, tasks)
            await self.wait_synced()
            await secrets.wait_synced()
            tasks.create_task(self._controller.run())

    def _cluster_changed(self, change: Change) -> None:
        self._parsed = None
        self._controller.queue.add(change.key.name)
        if _for_placement(change.old) != _for_placement(change.new):
            for listener in self._listeners:
                listener(change.key.name)

    def _secret_changed(self, key: Key) -> None:
        self._look_at(lambda credentials: credentials == key)

    def _namespace_seen(self, namespace: str) -> None:
        self._look_at(lambda credentials: credentials.namespace == namespace)

    def _look_at(self, chosen: Callable[[Key], bool]) -> None:
        for cluster in self.clusters() if self._clusters.synced else ():
            if cluster.credentials is not None and chosen(cluster.credentials):
                self._controller.queue.add(cluster.name)

    async def _reconcile(self, name: str) -> None:
        """Have exactly one task run for a cluster, with its present addresses and credentials."""
        obj = self._clusters.get(Key("", name))
        cluster = parse_cluster(obj) if obj is not None else None
        if cluster is None or cluster.leaving:
            await self._stop(name)
            return
        if cluster.pull:
            await self._listen_to(cluster)
            return
        if self._awaits_secrets(cluster):
            return
        try:
            await self._connect_to(cluster)
        except KubeconfigError as error:
            await self._stop(name)
            unusable = Health(State.OFFLINE, str(error), symptom=Symptom.UNUSABLE)
            await self._supervision.report(name, unusable, Facts())

    async def _connect_to(self, cluster: Cluster) -> None:
        endpoints = self._endpoints(cluster)
        running = self._running.get(cluster.name)
        if running is not None and not running.task.done():
            if running.endpoints == endpoints:
                return
            same_place = list(map(_place, running.endpoints)) == list(map(_place, endpoints))
            if same_place and running.transport is not None:
                running.transport.renew(endpoints)
                running.endpoints = endpoints
                log.info("Took up new credentials of a cluster", member=cluster.name)
                return
        transport = MemberTransport(self._connect, endpoints)
        await self._stop(cluster.name)
        if task := self._start(self._serve(cluster.name, transport)):
            self._running[cluster.name] = _Running(endpoints, transport, task)

    async def _listen_to(self, cluster: Cluster) -> None:
        """Have a cluster served that is not reached from here, but fetches its work."""
        running = self._running.get(cluster.name)
        if running is not None and not running.task.done() and running.transport is None:
            return
        await self._stop(cluster.name)
        if task := self._start(self._serve_by_agent(cluster.name)):
            self._running[cluster.name] = _Running((), None, task)

    def _start(self, serving: Coroutine[Any, Any, None]) -> asyncio.Task[None] | None:
        """Serve a member; None where the registry is ending, which takes no new tasks."""
        if self._tasks is not None:
            try:
                return self._tasks.create_task(serving)
            except RuntimeError:
                pass
        serving.close()
        return None

    def _awaits_secrets(self, cluster: Cluster) -> bool:
        """Begin to follow the namespace of a cluster's Secret where it is not known yet."""
        if cluster.credentials is None or self._tasks is None or self._secrets.knows(cluster.credentials.namespace):
            return False
        self._secrets.follow(cluster.credentials.namespace, self._tasks)
        return True

    def _endpoints(self, cluster: Cluster) -> tuple[Endpoint, ...]:
        if cluster.credentials is None:
            raise KubeconfigError("spec.authInfo.controller names no Secret")
        secret = self._secrets.get(cluster.credentials)
        if secret is None:
            raise KubeconfigError(f"secret {cluster.credentials}, named by spec.authInfo.controller, does not exist")
        return endpoints_of(cluster, secret, self._client_address)

    async def _stop(self, name: str) -> None:
        running = self._running.pop(name, None)
        if running is not None:
            running.task.cancel()
            await asyncio.wait({running.task})

    async def _serve(self, name: str, transport: MemberTransport) -> None:
        """Run everything that belongs to one member until it is cancelled."""
        client = Client(transport, self._runtime)
        member = Member(name, client)
        try:
            await self._do_all(
                member,
                lambda: self._supervision.watch(member, transport),
                lambda: self._keep_token(member, transport),
            )
        finally:
            await client.close()

    async def _serve_by_agent(self, name: str) -> None:
        """Run everything that belongs to one member that fetches its work, until it is cancelled."""
        member = PullMember(name, self._host, Pulse(self._host, name))
        await self._do_all(member, member.pulse.run, lambda: self._supervision.listen(member))

    async def _do_all(self, member: Member | PullMember, *own: Callable[[], Awaitable[None]]) -> None:
        works: list[Callable[[], Awaitable[None]]] = [*own]
        works += [functools.partial(work, member) for work in self._attachments]
        async with asyncio.TaskGroup() as tasks:
            for work in works:
                tasks.create_task(self._forever(member.name, work))

    async def _forever(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                await work()
            except Exception:
                log.exception("Work for a member ended; starting it again", member=name)
            await self._runtime.sleep(_RESTART_SECONDS)

    async def _keep_token(self, member: Member, transport: MemberTransport) -> None:
        """Renew the token of a member's service account long before it ends."""
        while True:
            await self._runtime.sleep(_TOKEN_SECONDS * self._runtime.uniform(0.5, 1.0))
            await transport.close_retired()
            obj = self._clusters.get(Key("", member.name))
            cluster = parse_cluster(obj) if obj is not None else None
            if obj is None or cluster is None or cluster.credentials is None:
                continue
            secret = self._secrets.get(cluster.credentials)
            life = due_for_renewal(secret, self._runtime.now()) if secret is not None else None
            if secret is None or life is None or not cluster.ready:
                continue
            try:
                await renew_token(self._host, member.client, cluster, secret, life.seconds)
            except (ApiError, Unreachable) as error:
                why = f"the token with which Hanse signs in there could not be renewed: {error}"
                await self._events.record(obj, "TokenNotRenewed", why, warning=True)
            else:
                await self._events.record(obj, "TokenRenewed", "the token with which Hanse signs in there is renewed")


def _place(endpoint: Endpoint) -> Endpoint:
    """Return where an endpoint leads, without who we are there."""
    return Endpoint(
        server=endpoint.server,
        ca=endpoint.ca,
        insecure=endpoint.insecure,
        tls_server_name=endpoint.tls_server_name,
        proxy_url=endpoint.proxy_url,
    )


def _for_placement(obj: Obj | None) -> Cluster | None:
    """Return what placement may look at.

    Another wording of the same trouble is nothing new to it; and what is left of a cluster's capacity moves with
    every rollout: it is looked at when something is placed, and is no reason to place everything anew.
    """
    return None if obj is None else replace(parse_cluster(obj), why="", free={})
