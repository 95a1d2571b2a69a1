"""The private targets of a source: each with the connection that its Secret gives it, taken up and dropped with it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from hanse.clusters.health import Health, HealthTerms
from hanse.clusters.member_transport import Connect
from hanse.clusters.status import health_from_status
from hanse.kube.client import Client
from hanse.kube.kubeconfig import Endpoint, KubeconfigError
from hanse.kube.log import Log
from hanse.kube.manifest import Obj
from hanse.kube.runtime import Runtime
from hanse.pods.targets.credentials import endpoint_of
from hanse.pods.targets.private import PrivateTarget
from hanse.pods.targets.reading import Target
from hanse.pods.targets.survey import Private

log = Log("hanse")

_RESTART_SECONDS = 1.0


@dataclass(slots=True)
class _Way:
    """A connection; `asked` is what the Secret said when it was made or last renewed."""

    target: PrivateTarget
    asked: Endpoint
    task: asyncio.Task[None]


class PrivateTargets:
    """Keeps one connection for each target whose credentials can be used."""

    def __init__(self, connect: Connect, runtime: Runtime, terms: HealthTerms, changed: Callable[[str], None]) -> None:
        """`changed` hears of targets of which something new is known."""
        self._connect = connect
        self._runtime = runtime
        self._terms = terms
        self._changed = changed
        self._ways: dict[str, _Way] = {}
        self._troubles: dict[str, str] = {}

    def known(self, name: str, conditions: list[Obj]) -> Private:
        """Return what is known of a target; of one that is not connected to yet, what its conditions say."""
        if trouble := self._troubles.get(name):
            return Private(trouble=trouble)
        way = self._ways.get(name)
        if way is None:
            return Private(health=health_from_status(conditions))
        return Private(way.target.endpoint.server, way.target.uid, way.target.health)

    def client(self, name: str) -> Client | None:
        """Return how to speak to a target, None where nothing leads there."""
        way = self._ways.get(name)
        return way.target.client if way is not None else None

    def summary(self, name: str) -> Obj | None:
        """Return what a target's nodes have together, None where it does not say."""
        way = self._ways.get(name)
        return way.target.summary if way is not None else None

    async def keep(self, target: Target, secret: Obj | None, conditions: list[Obj], tasks: asyncio.TaskGroup) -> None:
        """Have a connection run with the credentials that a target has now, or know why there is none."""
        if target.credentials is None:
            return
        name = str(target.name)
        try:
            endpoint = endpoint_of(target.credentials, secret)
            if not self._renewed(name, endpoint):
                await self._start(target, endpoint, conditions, tasks)
            self._troubles.pop(name, None)
        except KubeconfigError as error:
            await self.drop(name)
            self._troubles[name] = str(error)

    def lacks(self, name: str, why: str) -> None:
        """Note why nothing leads to a target; what leads there already goes on."""
        if name not in self._ways:
            self._troubles[name] = why

    async def drop(self, name: str) -> None:
        """End the connection to a target, if there is one."""
        self._troubles.pop(name, None)
        way = self._ways.pop(name, None)
        if way is not None:
            way.task.cancel()
            await asyncio.wait({way.task})

    def _renewed(self, name: str, endpoint: Endpoint) -> bool:
        """Tell whether there is a connection to an endpoint's place, which has its credentials from now on."""
        way = self._ways.get(name)
        if way is None or way.task.done() or _place(way.asked) != _place(endpoint):
            return False
        if way.asked != endpoint:
            way.target.renew(endpoint)
            way.asked = endpoint
            log.info("Took up new credentials of a target", target=name)
        return True

    async def _start(self, target: Target, endpoint: Endpoint, conditions: list[Obj], tasks: asyncio.TaskGroup) -> None:
        name = str(target.name)
        # What an earlier process found is where the judgement begins; of another place nothing is known.
        health = Health() if name in self._ways else health_from_status(conditions)
        made = PrivateTarget(
            endpoint,
            self._connect,
            self._runtime,
            namespace=target.name.namespace,
            terms=self._terms,
            health=health,
            changed=lambda: self._changed(name),
        )
        await self.drop(name)
        self._ways[name] = _Way(made, endpoint, tasks.create_task(self._look_after(name, made)))

    async def _look_after(self, name: str, target: PrivateTarget) -> None:
        try:
            while True:
                try:
                    await target.run()
                except Exception:
                    log.exception("Looking after a target ended; starting it again", target=name)
                await self._runtime.sleep(_RESTART_SECONDS)
        finally:
            await target.client.close()


def _place(endpoint: Endpoint) -> tuple[object, ...]:
    """Return where an endpoint leads, without who we are there."""
    return endpoint.server, endpoint.ca, endpoint.insecure, endpoint.tls_server_name, endpoint.proxy_url
