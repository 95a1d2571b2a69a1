"""A cluster that fetches its work, as its Works show it: enough to say what it has of federated objects and why.

To whoever asks it is an API server that serves the copies that the agent has told of, and may show nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from hanse.api.names import MANAGED_LABEL
from hanse.api.works import AGENTS, WORKS, agent_namespace, kind_of
from hanse.kube.client import Client
from hanse.kube.manifest import Obj, dig
from hanse.kube.resources import Resource
from hanse.kube.transport import Request, Response, Stream, Unreachable
from hanse.propagation.works import answer_of, ref_of

_COPIES = ("labelSelector", f"{MANAGED_LABEL}=true")


class WorksView:
    """Answers what can be answered from a cluster's Works on the host."""

    def __init__(self, host: Client, cluster: str) -> None:
        self._host = host
        self._cluster = cluster

    @property
    def address(self) -> str:
        """What is asked instead of the cluster."""
        return f"the works of cluster {self._cluster}"

    async def send(self, request: Request, timeout: float) -> Response:
        """Answer a read of a copy, or of all copies of a kind; everything else is forbidden."""
        plain = request.headers.get("accept") == "application/json"
        if request.method != "GET" or not plain:
            return self._forbidden()
        agent = await self._host.find(AGENTS, self._cluster, agent_namespace(self._cluster))
        told = [kind_of(entry) for entry in dig(agent, "status", "kinds", default=[]) if entry.get("seen")]
        works = (await self._host.list(WORKS, agent_namespace(self._cluster))).items
        copies = {ref_of(work): answer_of(work).copy for work in works}
        for kind in told:
            if request.path == kind.path() and _COPIES in request.query:
                items = [copy for ref, copy in copies.items() if ref.resource == kind and copy is not None]
                return _response(200, {"kind": f"{kind.kind}List", "metadata": {}, "items": items})
            if _names_object(request.path, kind):
                found = [copy for ref, copy in copies.items() if kind.path(*ref.key) == request.path]
                return _response(200, found[0]) if found and found[0] is not None else _refusal(404, "NotFound", "")
        return self._forbidden()

    async def stream(self, request: Request, timeout: float) -> Stream:
        """Refuse: what is told cannot be followed as the cluster itself can."""
        raise Unreachable(self.address, f"cluster {self._cluster} fetches its work and cannot be followed from here")

    async def close(self) -> None:
        """Do nothing; the host's connections are its owner's."""

    def _forbidden(self) -> Response:
        why = f"cluster {self._cluster} fetches its work by an agent; only what the agent tells can be seen from here"
        return _refusal(403, "Forbidden", why)


def _names_object(path: str, kind: Resource) -> bool:
    """Tell whether a path is that of one object of this kind, in any namespace."""
    *before, last = path.split("/")
    namespace = before[-2] if kind.namespaced and len(before) > 1 else ""
    return bool(last) and kind.path(namespace, last) == path


def _response(status: int, body: Mapping[str, Any]) -> Response:
    return Response(status, {}, orjson.dumps(body))


def _refusal(code: int, reason: str, message: str) -> Response:
    status: Obj = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": code}
    return _response(code, {**status, "message": message or "the agent tells of no such copy"})
