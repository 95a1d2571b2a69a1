"""What an API server would store of a manifest, asked of the embedded one: defaults filled in, rules checked."""

from __future__ import annotations

from typing import Any

import orjson

from hanse.apiserver import ApiServer, Identity, MemoryStorage
from hanse.kube.runtime import SeededRuntime
from hanse.kube.transport import Request
from tests.fuzz.own_kinds import definitions
from tests.fuzz.requests.corpus import kinds
from tests.fuzz.requests.wording import as_json

Obj = dict[str, Any]
NAMESPACE = "default"
_SECONDS = 30.0


class ServerFault(Exception):
    """The server failed where it should have refused."""


class Store:
    """An API server in memory that is asked and keeps nothing."""

    def __init__(self, server: ApiServer) -> None:
        self._server = server
        self._asked = server.connect(Identity("admin", ("system:masters",)))
        self._paths = {
            (kind.api_version, kind.kind): kind.path.replace("/namespaces/fuzz/", f"/namespaces/{NAMESPACE}/")
            for kind in kinds()
        }

    @classmethod
    async def open(cls) -> Store:
        """Open a server that knows every kind."""
        store = cls(await ApiServer.open(name="fuzz", storage=MemoryStorage(), runtime=SeededRuntime(1)))
        for crd in definitions():
            await store._send("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd)
        return store

    async def close(self) -> None:
        """Close the server."""
        await self._server.close()

    async def stored(self, obj: Any) -> Obj | None:
        """Return what would be stored of a manifest, None where it would be refused."""
        if (
            not isinstance(obj, dict)
            or not isinstance(obj.get("kind"), str)
            or not isinstance(obj.get("apiVersion"), str)
        ):
            return None
        path = self._paths.get((obj["apiVersion"], obj["kind"]))
        metadata = obj.get("metadata")
        if path is None or not isinstance(metadata, dict):
            return None
        placed = {**obj, "metadata": {**metadata, **({"namespace": NAMESPACE} if "/namespaces/" in path else {})}}
        code, body = await self._send(f"{path}?dryRun=All", placed)
        if code >= 500:
            raise ServerFault(f"the server answered {code}: {body[:300]!r}")
        if code >= 300:
            return None
        found: Obj = orjson.loads(body)
        # What only another controller writes is as hostile as its author.
        if isinstance(obj.get("status"), dict):
            found.setdefault("status", {})
        return found

    async def _send(self, path: str, body: Any) -> tuple[int, bytes]:
        path, _, query = path.partition("?")
        asked = (("dryRun", "All"),) if query else ()
        request = Request("POST", path, asked, {"content-type": "application/json"}, as_json(body))
        answer = await self._asked.send(request, _SECONDS)
        return answer.status, answer.body
