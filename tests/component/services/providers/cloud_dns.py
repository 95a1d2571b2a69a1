"""A small server with the documented semantics of Google Cloud DNS' REST API: enough to publish into.

A Change is applied whole or not at all; a deletion must equal what is there to the last field, an addition must not be
there; a CNAME stands alone; lists come in pages; every request needs the bearer token.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

TOKEN = "ya29.test"
PROJECT = "prod"
_PAGE = 100


class _Problem(Exception):
    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass
class ManagedZone:
    """A zone, its record sets by name and type, and how many changes it has seen."""

    name: str
    dns_name: str
    sets: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    changes: int = 0

    def __post_init__(self) -> None:
        apex = {"name": self.dns_name, "ttl": 21600}
        self.sets[self.dns_name, "NS"] = {**apex, "type": "NS", "rrdatas": ["ns-cloud-a1.googledomains.com."]}
        self.serve_soa()

    def serve_soa(self) -> None:
        soa = f"ns-cloud-a1.googledomains.com. cloud-dns-hostmaster.google.com. {self.changes} 21600 3600 259200 300"
        told = {"name": self.dns_name, "type": "SOA", "ttl": 21600, "rrdatas": [soa]}
        self.sets[self.dns_name, "SOA"] = told

    def change(self, additions: list[dict[str, Any]], deletions: list[dict[str, Any]]) -> None:
        after = dict(self.sets)
        for index, each in enumerate(deletions):
            present = after.pop((each["name"], each["type"]), None)
            if present is None:
                raise _Problem(
                    404, f"The 'entity.change.deletions[{index}]' resource named '{each['name']}' is not there"
                )
            if present != each:
                raise _Problem(412, f"Precondition not met for 'entity.change.deletions[{index}]'")
        for index, each in enumerate(additions):
            if not each["name"].endswith(f".{self.dns_name}") and each["name"] != self.dns_name:
                raise _Problem(400, f"Invalid value for 'entity.change.additions[{index}].name': '{each['name']}'")
            if (each["name"], each["type"]) in after:
                raise _Problem(409, f"The resource 'entity.change.additions[{index}]' already exists")
            after[each["name"], each["type"]] = each
        for name, kind in after:
            if kind == "CNAME" and sum(1 for other, _ in after if other == name) > 1:
                raise _Problem(
                    400, f"The resource record set '{name}' is invalid because it would coexist with a CNAME"
                )
        self.sets = after
        self.changes += 1
        self.serve_soa()


class CloudDnsServer:
    """The API of one project."""

    def __init__(self) -> None:
        self.zones: dict[str, ManagedZone] = {}
        self.url = ""

    def add(self, name: str, dns_name: str) -> ManagedZone:
        zone = self.zones[name] = ManagedZone(name, dns_name)
        return zone

    async def handle(self, request: web.Request) -> web.Response:
        try:
            if request.headers.get("authorization") != f"Bearer {TOKEN}":
                raise _Problem(401, "Request had invalid authentication credentials.")
            return web.json_response(await self._answer(request))
        except _Problem as problem:
            told = {"error": {"code": problem.status, "message": str(problem)}}
            return web.json_response(told, status=problem.status)

    async def _answer(self, request: web.Request) -> dict[str, Any]:
        path = request.match_info["path"].strip("/").split("/") if request.match_info["path"] else []
        if not path:
            return await self._zones(request)
        if path[0] not in self.zones:
            raise _Problem(404, f"The 'parameters.managedZone' resource named '{path[0]}' does not exist.")
        zone = self.zones[path[0]]
        if path[1:] == ["changes"] and request.method == "POST":
            body = await request.json()
            zone.change(body.get("additions", []), body.get("deletions", []))
            return {"kind": "dns#change", "id": str(zone.changes), "status": "pending", **body}
        found = sorted(zone.sets.values(), key=lambda each: (each["name"], each["type"]))
        start = int(request.query.get("pageToken", "0"))
        more = {"nextPageToken": str(start + _PAGE)} if start + _PAGE < len(found) else {}
        return {"rrsets": found[start : start + _PAGE], **more}

    async def _zones(self, request: web.Request) -> dict[str, Any]:
        if request.method == "POST":
            body = await request.json()
            if body["name"] in self.zones:
                raise _Problem(409, f"The resource 'entity.managedZone' named '{body['name']}' already exists")
            self.add(body["name"], body["dnsName"])
            return dict(body)
        wanted = request.query.get("dnsName")
        found = [each for each in self.zones.values() if wanted in (None, each.dns_name)]
        return {"managedZones": [{"name": each.name, "dnsName": each.dns_name} for each in found]}


@asynccontextmanager
async def cloud_dns() -> AsyncIterator[CloudDnsServer]:
    """Serve the API on a loopback port for the length of a block."""
    server = CloudDnsServer()
    application = web.Application()
    application.router.add_route("*", f"/dns/v1/projects/{PROJECT}/managedZones{{path:.*}}", server.handle)
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    server.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield server
    finally:
        await runner.cleanup()
