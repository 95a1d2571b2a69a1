"""Waiting for a cluster to serve Admiralty's kinds, without asking more of one that never will than it costs to ask."""

from __future__ import annotations

import orjson

from hanse.api.admiralty.kinds import GROUP, VERSION
from hanse.kube.client import Client
from hanse.kube.errors import ApiError
from hanse.kube.resources import Resource
from hanse.kube.transport import Unreachable

_FIRST_PAUSE_SECONDS = 0.2
_LAST_PAUSE_SECONDS = 15.0


async def wait_served(client: Client, *resources: Resource) -> None:
    """Return when a cluster serves all of some kinds; one that cannot be asked is asked again."""
    pause = _FIRST_PAUSE_SECONDS
    while not await _serves(client, {resource.plural for resource in resources}):
        await client.runtime.sleep(pause * client.runtime.uniform(0.8, 1.0))
        pause = min(2 * pause, _LAST_PAUSE_SECONDS)


async def _serves(client: Client, plurals: set[str]) -> bool:
    try:
        listed = orjson.loads(await client.get_raw(f"/apis/{GROUP}/{VERSION}"))
        return plurals <= {each["name"] for each in listed["resources"]}
    except (ApiError, Unreachable, TimeoutError):
        return False
    except (ValueError, TypeError, KeyError):
        # It answers, but not as an API server does.
        return False
