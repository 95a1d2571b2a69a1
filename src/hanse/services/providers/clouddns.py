"""Publishes into a managed zone of Google Cloud DNS, over its REST API.

A batch is one Change, which Cloud DNS applies whole or not at all. What goes is deleted exactly as it was listed: where
somebody else was faster, the Change is refused.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import aiohttp

from hanse.api.dns_zones import CloudDnsSettings
from hanse.services.providers.clouddns_sets import ApiSet, Routing, api_set, read_sets
from hanse.services.providers.interface import Change, ProviderError, Refused, Stale, additions, removals
from hanse.services.providers.texts import dotted, undotted
from hanse.services.records import RecordSet

# Cloud DNS takes 1,000 additions and as many deletions in a Change; a set has at least one value.
_LARGEST_BATCH = 900
_TIMEOUT_SECONDS = 30.0
# Already there; gone; not as it was.
_STALE = (404, 409, 412)


class CloudDns:
    """A managed zone of Cloud DNS."""

    largest_batch = _LARGEST_BATCH

    def __init__(
        self,
        zone: str,
        settings: CloudDnsSettings,
        token: Callable[[], Awaitable[str]],
        *,
        region_of: Callable[[str], str] = lambda _cluster: "",
    ) -> None:
        """`token` gives an access token that holds for now; `region_of` tells in which region a cluster is."""
        self._zone = zone
        self._managed_zone = settings.managed_zone
        self._settings = settings
        self._token = token
        self._routing = Routing(settings, region_of)
        self._session: aiohttp.ClientSession | None = None
        self._listed: dict[tuple[str, str], ApiSet] = {}

    def stored(self, wanted: RecordSet) -> RecordSet:
        return self._routing.stored(wanted)

    async def records(self) -> list[RecordSet]:
        sets = await self._list(f"/{await self._find_zone()}/rrsets", "rrsets")
        self._listed = {(undotted(each["name"]), each["type"]): each for each in sets}
        return read_sets(sets)

    async def apply(self, changes: Sequence[Change]) -> None:
        gone = [self._listed.get((record.name, record.type)) or api_set(record) for record in removals(changes)]
        made = [api_set(record) for record in additions(changes)]
        path = f"/{await self._find_zone()}/changes"
        status, told = await self._ask("POST", path, body={"additions": made, "deletions": gone})
        if status in _STALE:
            raise Stale(f"the managed zone {self._zone} has changed since it was read: {_message(told)}")
        self._expect(status, told)
        for record in removals(changes):
            self._listed.pop((record.name, record.type), None)
        self._listed |= {(record.name, record.type): api_set(record) for record in additions(changes)}

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    async def _find_zone(self) -> str:
        """Return the managed zone's name; it is made where there is none, and refused where several could be meant."""
        if not self._managed_zone:
            found = await self._list("", "managedZones", {"dnsName": dotted(self._zone)})
            names = sorted(str(each["name"]) for each in found)
            if len(names) > 1:
                told = f"Cloud DNS has several managed zones {self._zone} ({', '.join(names)})"
                raise ProviderError(f"{told}: set spec.clouddns.managedZone")
            self._managed_zone = names[0] if names else await self._make_zone()
        return self._managed_zone

    async def _make_zone(self) -> str:
        name = f"hanse-{self._zone.replace('.', '-')}"[:63].rstrip("-")
        wanted = {"name": name, "dnsName": dotted(self._zone), "description": "Published by Hanse"}
        status, told = await self._ask("POST", "", body=wanted)
        self._expect(status, told)
        return str(told["name"])

    async def _list(self, path: str, field: str, query: Mapping[str, str] | None = None) -> list[ApiSet]:
        found: list[ApiSet] = []
        asked = dict(query or {})
        while True:
            status, told = await self._ask("GET", path, asked)
            self._expect(status, told)
            found += told.get(field) or []
            if not told.get("nextPageToken"):
                return found
            asked["pageToken"] = told["nextPageToken"]

    async def _ask(
        self, method: str, path: str, query: Mapping[str, str] | None = None, body: Any = None
    ) -> tuple[int, dict[str, Any]]:
        if self._session is None:
            self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=_TIMEOUT_SECONDS))
        url = f"{self._settings.endpoint}/dns/v1/projects/{self._settings.project}/managedZones{path}"
        headers = {"authorization": f"Bearer {await self._token()}"}
        try:
            async with self._session.request(method, url, params=query, json=body, headers=headers) as answer:
                told = await answer.json(content_type=None)
                return answer.status, told if isinstance(told, dict) else {}
        except (aiohttp.ClientError, TimeoutError, ValueError) as error:
            why = str(error) or "no answer in time"
            raise ProviderError(f"Cloud DNS cannot be asked about {self._zone}: {why}") from error

    def _expect(self, status: int, told: Mapping[str, Any]) -> None:
        if status >= 400:
            sort = Refused if status == 400 else ProviderError
            raise sort(f"Cloud DNS refuses what is asked for {self._zone} ({status}): {_message(told)}")


def _message(told: Mapping[str, Any]) -> str:
    error = told.get("error")
    return str(error.get("message", "without a message")) if isinstance(error, dict) else "without a message"
