"""The addresses behind the host names that some clouds give load balancers, resolved again as long as they are used."""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass

from hanse.kube.controller import Controller
from hanse.kube.manifest import Key
from hanse.kube.runtime import Runtime

# Raises OSError with the reason where a name has no address.
Resolve = Callable[[str], Awaitable[tuple[str, ...]]]
# Such names change their addresses while resolvers would still keep them.
_LONGEST_SECONDS = 60.0
_SHORTEST_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Resolved:
    """The last addresses that a name had, sorted, and why they may be old; None while it never had any."""

    addresses: tuple[str, ...] | None = None
    trouble: str = ""


class Hostnames:
    """Keeps names resolved; `changed` hears of services that use one whose addresses or trouble are others."""

    def __init__(self, runtime: Runtime, resolve: Resolve, changed: Callable[[Key], None]) -> None:
        self._resolve = resolve
        self._changed = changed
        self._known: dict[str, Resolved] = {}
        self._used: dict[Key, tuple[frozenset[str], int]] = {}
        self._controller: Controller[str] = Controller("hostnames", self._look, runtime, workers=4)

    async def run(self) -> None:
        """Resolve until cancelled."""
        await self._controller.run()

    def use(self, service: Key, hostnames: Collection[str], ttl: int) -> None:
        """Say which names a service has now; nobody looks after those that it had and no one else has."""
        names = frozenset(hostnames)
        before = self._used.pop(service, (frozenset[str](), 0))[0]
        if names:
            self._used[service] = (names, ttl)
        for name in before - names:
            if not self._users(name):
                self._known.pop(name, None)
        for name in names - before:
            self._controller.queue.add(name)

    def resolved(self, hostname: str) -> Resolved:
        """Return what is known of a name."""
        return self._known.get(hostname, Resolved())

    def _users(self, hostname: str) -> list[Key]:
        return [key for key, (names, _) in self._used.items() if hostname in names]

    async def _look(self, hostname: str) -> float | None:
        users = self._users(hostname)
        if not users:
            return None
        before = self.resolved(hostname)
        try:
            found = Resolved(tuple(sorted(set(await self._resolve(hostname)))))
        except OSError as error:
            found = Resolved(before.addresses, f"{hostname} cannot be resolved: {error.strerror or error}")
        if found != before:
            self._known[hostname] = found
            for key in self._users(hostname):
                self._changed(key)
        if found.trouble:
            return _SHORTEST_SECONDS
        shortest = min((self._used[key][1] for key in self._users(hostname)), default=_LONGEST_SECONDS)
        return max(_SHORTEST_SECONDS, min(_LONGEST_SECONDS, shortest))


def system_resolver(runtime: Runtime) -> Resolve:
    """Resolve names as this machine does."""

    async def resolve(hostname: str) -> tuple[str, ...]:
        found = await runtime.in_thread(lambda: socket.getaddrinfo(hostname, None, type=socket.SOCK_STREAM))
        return tuple(str(address[4][0]) for address in found)

    return resolve
