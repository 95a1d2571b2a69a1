"""The loop that gives senders their rights: bindings follow each Source and ClusterSource, and go with it.

What was made is found again by its label and says for whom it was made, so that it is swept when they are gone,
whatever happened meanwhile; an owner reference could not do that from a namespace to the whole cluster.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from hanse.api.admiralty.kinds import CLUSTER_SOURCES, SOURCES
from hanse.clusters.account import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, ROLE_BINDINGS
from hanse.kube.cache import Cache, Change
from hanse.kube.client import Client
from hanse.kube.conditions import condition, merge_conditions
from hanse.kube.controller import Controller
from hanse.kube.errors import AlreadyExists, ApiError, Forbidden, NotFound
from hanse.kube.manifest import Key, Obj, annotations_of, dig, is_deleting, key_of, labels_of, name_of, uid_of
from hanse.kube.resources import SERVICE_ACCOUNTS, Resource
from hanse.kube.runtime import timestamp
from hanse.pods.senders.rights import (
    SENDER_ANNOTATION,
    SENDER_LABEL,
    Sender,
    account_manifest,
    account_of,
    bindings_of,
    sender_named,
    sender_of,
    sender_roles,
)
from hanse.pods.serving import wait_served

_READY = "Ready"


class SenderKeeper:
    """Keeps the rights of everybody who may send pods to one cluster."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._sources = {resource: Cache(client, resource) for resource in (SOURCES, CLUSTER_SOURCES)}
        self._bindings = {
            resource: Cache(client, resource, labels=SENDER_LABEL)
            for resource in (ROLE_BINDINGS, CLUSTER_ROLE_BINDINGS)
        }
        self._accounts = Cache(client, SERVICE_ACCOUNTS, labels=SENDER_LABEL)
        self._controller: Controller[Sender | Key] = Controller("senders", self._reconcile, client.runtime, workers=2)

    async def run(self) -> None:
        """Work until cancelled; in a cluster that does not serve sources yet, wait until it does."""
        await wait_served(self._client, *self._sources)
        async with asyncio.TaskGroup() as tasks:
            caches = [*self._sources.values(), *self._bindings.values(), self._accounts]
            for cache in caches:
                tasks.create_task(cache.run())
            for cache in caches:
                await cache.wait_synced()
            for cache in self._sources.values():
                cache.subscribe(self._source_changed)
            for cache in self._bindings.values():
                cache.subscribe(self._binding_changed)
            self._accounts.subscribe(self._account_changed)
            tasks.create_task(self._controller.run())

    def _source_changed(self, change: Change) -> None:
        self._controller.queue.add(Sender(*change.key))
        for source in (change.old, change.new):
            if source is not None and (account := account_of(source)) is not None:
                self._controller.queue.add(account)

    def _binding_changed(self, change: Change) -> None:
        for binding in (change.old, change.new):
            if binding is not None and (sender := _made_for(binding)) is not None:
                self._controller.queue.add(sender)

    def _account_changed(self, change: Change) -> None:
        self._controller.queue.add(change.key)

    async def _reconcile(self, key: Sender | Key) -> None:
        if isinstance(key, Key):
            await self._keep_account(key)
            return
        source = self._sources[key.resource].get(Key(key.namespace, key.name))
        if source is None or is_deleting(source):
            await self._sweep(key)
            return
        try:
            await self._grant(key, source)
        except ApiError as error:
            await self._tell(source, error.message)
            raise
        await self._tell(source, "")

    async def _grant(self, sender: Sender, source: Obj) -> None:
        """Bring a sender's bindings to what it says now."""
        wanted = bindings_of(source)
        if wanted:
            for role in sender_roles():
                await self._keep_role(role)
        for resource, binding in self._superfluous(sender, wanted):
            await self._remove(resource, binding)
        for binding in wanted:
            namespaced = bool(key_of(binding).namespace)
            await self._keep_binding(ROLE_BINDINGS if namespaced else CLUSTER_ROLE_BINDINGS, binding)

    async def _sweep(self, sender: Sender) -> None:
        """Take away what a sender had who is gone, if the server itself says so."""
        left = list(self._superfluous(sender, []))
        if not left:
            return
        live = await self._client.find(sender.resource, sender.name, sender.namespace)
        if live is not None and not is_deleting(live):
            return
        for resource, binding in left:
            await self._remove(resource, binding)

    def _superfluous(self, sender: Sender, wanted: list[Obj]) -> Iterator[tuple[Resource, Obj]]:
        kept = {(each["kind"], key_of(each)) for each in wanted}
        for resource, cache in self._bindings.items():
            for binding in cache.objects():
                if _made_for(binding) == sender and (resource.kind, key_of(binding)) not in kept:
                    yield resource, binding

    async def _keep_role(self, role: Obj) -> None:
        found = await self._client.find(CLUSTER_ROLES, name_of(role))
        if found is None:
            try:
                await self._client.create(CLUSTER_ROLES, role)
            except AlreadyExists:
                return
        elif SENDER_LABEL in labels_of(found) and found.get("rules") != role["rules"]:
            # A role that somebody else wrote, Admiralty's chart say, is theirs.
            await self._client.update(CLUSTER_ROLES, {**found, "rules": role["rules"]})

    async def _keep_binding(self, resource: Resource, wanted: Obj) -> None:
        cache, key = self._bindings[resource], key_of(wanted)
        found = cache.get(key)
        if found is None:
            await self._bind(resource, wanted)
        elif found.get("roleRef") != wanted["roleRef"]:
            # What a binding leads to can never be changed; it is made again once it is gone.
            await self._remove(resource, found)
        elif found.get("subjects") != wanted["subjects"]:
            cache.remember(await self._client.update(resource, {**found, "subjects": wanted["subjects"]}))

    async def _bind(self, resource: Resource, wanted: Obj) -> None:
        try:
            self._bindings[resource].remember(await self._client.create(resource, wanted))
        except AlreadyExists:
            # Somebody else's, Admiralty's own say, stays theirs; if it grants the same, nothing is missing.
            key = key_of(wanted)
            theirs = await self._client.find(resource, key.name, key.namespace)
            if theirs is None or any(theirs.get(part) != wanted[part] for part in ("roleRef", "subjects")):
                raise

    async def _remove(self, resource: Resource, obj: Obj) -> None:
        key = key_of(obj)
        try:
            await self._client.delete(resource, key.name, key.namespace, uid=uid_of(obj))
        except NotFound:
            return

    async def _keep_account(self, key: Key) -> None:
        """Have the account that senders name; one that was made for them goes with the last of them."""
        ours = self._accounts.get(key)
        named = any(account_of(source) == key and not is_deleting(source) for source in self._all_sources())
        if ours is not None and not named:
            await self._remove(SERVICE_ACCOUNTS, ours)
        elif named and ours is None and await self._client.find(SERVICE_ACCOUNTS, key.name, key.namespace) is None:
            try:
                self._accounts.remember(await self._client.create(SERVICE_ACCOUNTS, account_manifest(key)))
            except AlreadyExists:
                return

    def _all_sources(self) -> Iterator[Obj]:
        for cache in self._sources.values():
            yield from cache.objects()

    async def _tell(self, source: Obj, why: str) -> None:
        """Write on a source whether it has its rights, where it does not say so already."""
        before = dig(source, "status", "conditions")
        said = condition(_READY, not why, "Refused" if why else "Granted", why)
        conditions = merge_conditions(before, [said], timestamp(self._client.runtime.now()))
        if conditions == before:
            return
        sender = sender_of(source)
        patch = {"status": {"conditions": conditions}}
        try:
            told = await self._client.patch(sender.resource, sender.name, patch, sender.namespace, subresource="status")
        except (NotFound, Forbidden):
            return
        self._sources[sender.resource].remember(told, quietly=True)


def _made_for(binding: Obj) -> Sender | None:
    return sender_named(annotations_of(binding).get(SENDER_ANNOTATION, ""))
