"""Keeping one uid for the ingress controllers of all clusters that have such a uid at all.

Nothing is written for clusters whose ingress controllers know no uid, unless others beside them share one.
"""

from __future__ import annotations

import asyncio

from hanse.api.clusters import (
    CLUSTERS,
    INGRESS_ANNOTATION,
    INGRESS_UID_ANNOTATION,
    OWN_INGRESS,
    SHARED_INGRESS,
    Cluster,
    parse_cluster,
)
from hanse.api.names import MANAGED_LABEL
from hanse.api.plain_kinds import INGRESSES
from hanse.clusters.member import Member, PullMember
from hanse.clusters.registry import Registry
from hanse.kube.cache import Cache
from hanse.kube.client import Client
from hanse.kube.controller import Controller
from hanse.kube.events import EventRecorder
from hanse.kube.manifest import Key, Obj, annotations_of
from hanse.kube.resources import CONFIGMAPS
from hanse.services.ingress.uids import KEEP_OWN, UID_CONFIG, Share, decide_uid


class IngressUids:
    """Looks at the uid of every member's ingress controller, and has those share one that can."""

    def __init__(self, host: Client, registry: Registry) -> None:
        self._host = host
        self._registry = registry
        self._members: dict[str, tuple[Client, Cache]] = {}
        self._events = EventRecorder(host, "hanse")
        # One worker: two clusters never both take themselves for the first.
        self._controller: Controller[str] = Controller("ingress-uids", self._reconcile, host.runtime, workers=1)
        registry.attach(self._follow)
        registry.subscribe(lambda _name: self._look_at_all())

    async def run(self) -> None:
        """Keep it until cancelled."""
        await self._registry.wait_synced()
        self._look_at_all()
        await self._controller.run()

    async def _follow(self, member: Member | PullMember) -> None:
        """Follow one member's ConfigMap while it is joined; one that fetches its work keeps to itself."""
        if isinstance(member, PullMember):
            self._controller.queue.add(member.name)
            await asyncio.Event().wait()
            return
        namespace, name = UID_CONFIG
        cache = Cache(member.client, CONFIGMAPS, namespace=namespace, fields=f"metadata.name={name}")
        cache.subscribe(lambda _change: self._controller.queue.add(member.name))
        cache.on_connected(lambda _connected: self._controller.queue.add(member.name))
        self._members[member.name] = member.client, cache
        try:
            await cache.run()
        finally:
            del self._members[member.name]

    def _look_at_all(self) -> None:
        for cluster in self._registry.clusters() if self._registry.cache.synced else ():
            self._controller.queue.add(cluster.name)

    async def _reconcile(self, name: str) -> None:
        obj = self._registry.cache.get(Key("", name))
        cluster = parse_cluster(obj) if obj is not None else None
        if obj is None or cluster is None or cluster.leaving or cluster.refusal:
            return
        if cluster.pull:
            if decide_uid(cluster, self._registry.clusters(), None) is not None:
                await self._keep_apart(obj)
            return
        client, cache = self._members.get(name, (None, None))
        if client is None or cache is None or not cache.synced:
            return
        config = cache.get(UID_CONFIG)
        decided = decide_uid(cluster, self._registry.clusters(), config)
        if isinstance(decided, Share) and await self._is_busy(cluster, obj, client, decided):
            decided = KEEP_OWN
        if decided is KEEP_OWN:
            await self._keep_apart(obj)
        elif isinstance(decided, Share) and config is not None:
            if decided.data:
                data = {**(config.get("data") or {}), **dict(decided.data)}
                await client.update(CONFIGMAPS, {**config, "data": data})
            await self._note(obj, {INGRESS_UID_ANNOTATION: decided.uid, INGRESS_ANNOTATION: _persons_word(obj)})

    async def _is_busy(self, cluster: Cluster, obj: Obj, client: Client, share: Share) -> bool:
        """Tell whether a controller has Ingresses of its own: under another uid it would forget what it made."""
        if not share.renames or _persons_word(obj) or cluster.ingress_uid:
            return False
        own = (await client.list(INGRESSES, labels=f"{MANAGED_LABEL}!=true")).items
        if own and not cluster.own_ingress:
            why = (
                f"its ingress controller keeps its own uid, since it serves {len(own)} Ingresses that are not the "
                f"federation's; annotate the Cluster with {INGRESS_ANNOTATION}={SHARED_INGRESS} to have it share"
            )
            await self._events.record(obj, "IngressUidKept", why, warning=True)
        return bool(own)

    async def _keep_apart(self, obj: Obj) -> None:
        await self._note(obj, {INGRESS_UID_ANNOTATION: None, INGRESS_ANNOTATION: OWN_INGRESS})

    async def _note(self, obj: Obj, annotations: dict[str, str | None]) -> None:
        """Write annotations of a Cluster; None takes one away. What is there already is not written."""
        present = annotations_of(obj)
        news = {name: text for name, text in annotations.items() if present.get(name) != text}
        if news:
            name = obj["metadata"]["name"]
            written = await self._host.patch(CLUSTERS, name, {"metadata": {"annotations": news}})
            self._registry.cache.remember(written)


def _persons_word(cluster: Obj) -> str | None:
    """Return that a person has said that a cluster shall share, None where nobody has."""
    return SHARED_INGRESS if annotations_of(cluster).get(INGRESS_ANNOTATION) == SHARED_INGRESS else None
