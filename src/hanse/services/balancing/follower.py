"""The host followed for a balancer: which services ask to be balanced, where they are, and what became of the wish.

It needs no cluster's credentials: where a service is was decided by the control plane and lies in its ServiceAddresses.
While the host cannot be reached the balancer goes on with what it was told last.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence

from hanse.api.global_ingresses import GLOBAL_INGRESSES
from hanse.api.service_addresses import BALANCER_ANNOTATION, SERVICE_ADDRESSES
from hanse.kube.cache import Cache, Change, without_managed_fields
from hanse.kube.client import Client
from hanse.kube.events import EventRecorder
from hanse.kube.log import Log
from hanse.kube.manifest import Key, Obj, annotations_of, dig
from hanse.kube.resources import SERVICES
from hanse.services.addresses import parse_addresses
from hanse.services.balancing.balancer import Balancer, BalancerFailure
from hanse.services.balancing.lines import ANY_PORT, Asking, Drawn, PortRange, Trouble, draw_lines
from hanse.services.ingress.entrance import askings_of, parse_entrance

# Changes that come together are carried out together.
_GATHER_SECONDS = 0.05
_FIRST_PAUSE_SECONDS = 0.5
_LONGEST_PAUSE_SECONDS = 30.0
log = Log("hanse")


class BalancerFollower:
    """Keeps a balancer at what the services of a federation ask of it."""

    def __init__(
        self,
        host: Client,
        balancer: Balancer,
        *,
        allowed: tuple[PortRange, ...] = ANY_PORT,
        told: Callable[[Drawn], None] | None = None,
    ) -> None:
        self._balancer = balancer
        self._runtime = host.runtime
        self._allowed = allowed
        # Called with everything that was brought about, for those who show it.
        self._told = told
        self._events = EventRecorder(host, "hanse-balancer")
        self._services = Cache(host, SERVICES, project=_bare_service)
        self._addresses = Cache(host, SERVICE_ADDRESSES, project=without_managed_fields)
        self._entrances = Cache(host, GLOBAL_INGRESSES, project=without_managed_fields)
        self._changed = asyncio.Event()
        self._known: dict[Key, frozenset[str]] = {}

    async def run(self) -> None:
        """Follow the host until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for cache in (self._services, self._addresses, self._entrances):
                cache.subscribe(self._hear)
                tasks.create_task(cache.run())
            tasks.create_task(self._balancer.run())
            await self._services.wait_synced()
            await self._addresses.wait_synced()
            await self._entrances.wait_synced()
            await self._keep()

    def _hear(self, change: Change) -> None:
        # Most changes of Services are of no concern to a balancer.
        if change.old_bytes != change.new_bytes:
            self._changed.set()

    async def _keep(self) -> None:
        pause = _FIRST_PAUSE_SECONDS
        while True:
            self._changed.clear()
            drawn = draw_lines(self._askings(), self._allowed)
            try:
                troubles = await self._balancer.apply(drawn.lines)
            except BalancerFailure as error:
                log.warning("The balancer could not be changed", error=str(error), again_in=pause)
                await self._runtime.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)
                continue
            pause = _FIRST_PAUSE_SECONDS
            done = Drawn(drawn.lines, (*drawn.troubles, *troubles))
            if self._told is not None:
                self._told(done)
            await self._report(done.troubles)
            # A port that somebody else has may become free without anybody's word.
            await self._wait(_LONGEST_PAUSE_SECONDS if troubles else None)

    async def _wait(self, seconds: float | None) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        except TimeoutError:
            return
        await self._runtime.sleep(_GATHER_SECONDS)

    def _askings(self) -> Iterator[Asking]:
        for obj in self._addresses.objects():
            service = parse_addresses(obj)
            plain = self._services.get(service.key)
            # A Service that only a FederatedService makes is not on the host: there its ServiceAddresses is annotated.
            asked = annotations_of(plain if plain is not None else obj).get(BALANCER_ANNOTATION)
            if asked is not None:
                sticky = dig(plain, "spec", "sessionAffinity") == "ClientIP"
                yield Asking(service, asked, sticky, dig(plain or obj, "metadata", "creationTimestamp", default=""))
        for obj in self._entrances.objects():
            yield from askings_of(parse_entrance(obj), dig(obj, "metadata", "creationTimestamp", default=""))

    async def _report(self, troubles: Sequence[Trouble]) -> None:
        """Tell the owners of services what they do not get, once."""
        found: dict[Key, set[str]] = {}
        for trouble in troubles:
            found.setdefault(trouble.service, set()).add(trouble.why)
        before, self._known = self._known, {key: frozenset(whys) for key, whys in found.items()}
        for key, whys in sorted(self._known.items()):
            obj = self._services.get(key) or self._addresses.get(key)
            for why in sorted(whys - before.get(key, frozenset())):
                log.warning("A service is not balanced as it asks", service=str(key), why=why)
                if obj is not None:
                    await self._events.record(obj, "NotBalanced", why, warning=True)


def _bare_service(obj: Obj) -> Obj:
    metadata = {name: obj["metadata"].get(name) for name in ("name", "namespace", "uid", "creationTimestamp")}
    asked = annotations_of(obj).get(BALANCER_ANNOTATION)
    if asked is not None:
        metadata["annotations"] = {BALANCER_ANNOTATION: asked}
    spec = {"sessionAffinity": dig(obj, "spec", "sessionAffinity", default="None")}
    return {"apiVersion": SERVICES.api_version, "kind": SERVICES.kind, "metadata": metadata, "spec": spec}
