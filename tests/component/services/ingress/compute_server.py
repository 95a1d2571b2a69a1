"""The Compute API in this process: what its documentation says of names, links in use, fingerprints and operations."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer

Obj = dict[str, Any]
PROJECT = "p"
TOKEN = "ya29.secret"
ZONE = "zones/us-east4-a"
# What leads to what: a resource cannot go while one of these leads to it, and cannot come before those are there.
LINKS = ("healthChecks", "defaultService", "urlMap", "target", "sslCertificates", "pathMatchers")
WITH_FINGERPRINT = ("backendServices", "urlMaps")


class ComputeServer:
    """One project; `requests` are the writes in order, `slow` operations take one look more.

    Whatever request has one of the `broken` words in its method and path is refused.
    """

    def __init__(self, *, slow: bool = False) -> None:
        self.slow = slow
        self.resources: dict[str, dict[str, Obj]] = {"addresses": {"shared-ip": {"address": "203.0.113.7"}}}
        self.zonal: dict[str, Obj] = {}
        self.requests: list[tuple[str, str]] = []
        self.broken: set[str] = set()
        self._operations: dict[str, Obj] = {}
        self._count = itertools.count(1)
        self.url = ""

    def add_cluster(self, group: str, tag: str, ports: dict[str, int]) -> str:
        """Have an instance group with one instance; returns the zone's link, as ingress controllers tell it."""
        link = f"{self.url}/projects/{PROJECT}/{ZONE}"
        named = [{"name": name, "port": port} for name, port in ports.items()]
        instance = f"{ZONE}/instances/{group}-1"
        self.zonal[f"{ZONE}/instanceGroups/{group}"] = {"name": group, "namedPorts": named}
        self.zonal[f"{ZONE}/instanceGroups/{group}/listInstances"] = {
            "items": [{"instance": f"{self.url}/projects/{PROJECT}/{instance}"}]
        }
        network = f"{self.url}/projects/{PROJECT}/global/networks/default"
        self.zonal[instance] = {
            "name": f"{group}-1",
            "tags": {"items": [tag]},
            "networkInterfaces": [{"network": network}],
        }
        return link

    def names(self) -> list[str]:
        """Return the names of everything that was made, in the order of making."""
        made = [each for kept in self.resources.values() for each in kept.values() if "id" in each]
        return [each["name"] for each in sorted(made, key=lambda each: int(each["id"]))]

    def find(self, name: str) -> Obj:
        """Return a resource by its name."""
        return next(kept[name] for kept in self.resources.values() if name in kept)

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[ComputeServer]:
        """Answer on a port of this machine."""
        app = web.Application()
        app.router.add_route("*", "/compute/v1/projects/p/{path:.*}", self._answer)
        server = TestServer(app)
        await server.start_server()
        self.url = f"{server.make_url('/')}compute/v1"
        try:
            yield self
        finally:
            await server.close()

    async def _answer(self, request: web.Request) -> web.Response:
        path = request.match_info["path"]
        if request.headers.get("authorization") != f"Bearer {TOKEN}":
            return _refusal(401, "Request had invalid authentication credentials")
        if path.startswith("global/operations/"):
            operation = self._operations[path.rpartition("/")[2]]
            return web.json_response({**operation, "status": "DONE"})
        if path in self.zonal:
            return web.json_response(self.zonal[path])
        body = await request.json() if request.can_read_body else {}
        if request.method != "GET":
            self.requests.append((request.method, path))
        if any(part in f"{request.method} {path}" for part in self.broken):
            return _refusal(503, "The service is currently unavailable")
        parts = path.removeprefix("global/").split("/")
        collection, name = parts[0], parts[1] if len(parts) > 1 else ""
        kept = self.resources.setdefault(collection, {})
        if len(parts) == 3:
            return self._changed(collection, name, parts[2], body)
        match request.method:
            case "GET" if not name:
                return self._page(list(kept.values()), request.query.get("pageToken", ""))
            case "POST":
                return self._inserted(collection, body)
        if name not in kept:
            return _refusal(404, f"The resource 'projects/p/global/{collection}/{name}' was not found")
        match request.method:
            case "PUT":
                return self._replaced(collection, name, body)
            case "DELETE":
                return self._deleted(collection, name)
        return web.json_response(kept[name])

    def _page(self, items: list[Obj], token: str) -> web.Response:
        start = int(token or 0)
        page = {"items": items[start : start + 2]}
        return web.json_response(page | ({"nextPageToken": str(start + 2)} if items[start + 2 :] else {}))

    def _inserted(self, collection: str, body: Obj) -> web.Response:
        if body["name"] in self.resources[collection]:
            return _refusal(409, f"The resource {body['name']!r} already exists")
        if missing := self._missing(body):
            return _refusal(400, f"The resource {missing!r} was not found")
        self._store(collection, body)
        return self._operation()

    def _replaced(self, collection: str, name: str, body: Obj) -> web.Response:
        present = self.resources[collection][name]
        if collection in WITH_FINGERPRINT and body.get("fingerprint") != present["fingerprint"]:
            return _refusal(412, "Invalid fingerprint")
        self._store(collection, {**body, "id": present["id"]})
        return self._operation()

    def _changed(self, collection: str, name: str, method: str, body: Obj) -> web.Response:
        assert method in {"setUrlMap", "setTarget", "setSslCertificates"}
        self._store(collection, {**self.resources[collection][name], **body})
        return self._operation()

    def _deleted(self, collection: str, name: str) -> web.Response:
        link = f"global/{collection}/{name}"
        users = [each["name"] for kept in self.resources.values() for each in kept.values() if link in _links(each)]
        if users:
            return _refusal(400, f"The resource {name!r} is already being used by {users[0]!r}")
        del self.resources[collection][name]
        return self._operation()

    def _missing(self, body: Obj) -> str:
        known = {f"global/{collection}/{name}" for collection, kept in self.resources.items() for name in kept}
        return next((link for link in _links(body) if link not in known), "")

    def _store(self, collection: str, body: Obj) -> None:
        number = str(next(self._count))
        link = f"{self.url}/projects/{PROJECT}/global/{collection}/{body['name']}"
        kept = {"id": number, **body, "kind": f"compute#{collection}", "selfLink": link, "fingerprint": f"f{number}"}
        kept.pop("privateKey", None)
        self.resources[collection][body["name"]] = kept

    def _operation(self) -> web.Response:
        name = f"operation-{next(self._count)}"
        self._operations[name] = {
            "kind": "compute#operation",
            "name": name,
            "status": "RUNNING" if self.slow else "DONE",
        }
        return web.json_response(self._operations[name])


def _links(body: Obj) -> set[str]:
    """Return the paths of all resources of the project that one leads to."""
    found: set[str] = set()
    for field in LINKS:
        value = body.get(field)
        for each in value if isinstance(value, list) else [value]:
            texts = [rule["service"] for rule in each["pathRules"]] if isinstance(each, dict) else [each]
            found |= {text[text.index("global/") :] for text in texts if text and "global/" in text}
    return found


def _refusal(code: int, message: str) -> web.Response:
    return web.json_response({"error": {"code": code, "message": message}}, status=code)
