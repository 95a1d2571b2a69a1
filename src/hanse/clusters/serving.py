"""Which kinds a host serves, asked until it answers."""

from __future__ import annotations

from collections.abc import Collection

from hanse.kube.client import Client
from hanse.kube.errors import ApiError
from hanse.kube.resources import Resource
from hanse.kube.transport import Unreachable

_PAUSE_SECONDS = 1.0


async def served_by(host: Client) -> Collection[Resource]:
    """Return every kind that the host serves now, whatever it served when it was last asked."""
    while True:
        host.discovery.forget()
        try:
            return frozenset(await host.discovery.resources())
        except (ApiError, Unreachable):
            await host.runtime.sleep(_PAUSE_SECONDS)
