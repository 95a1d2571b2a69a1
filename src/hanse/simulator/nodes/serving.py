"""What the nodes of a real API server's cluster serve: logs and exec, as a kubelet does, and metrics.k8s.io.

One TLS listener on loopback stands for all kubelets and for the metrics server. It asks nobody who they are: what it
tells is made up, and only this machine can ask.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass

import orjson
from aiohttp import web

from hanse.apiserver.credentials import ServingCredentials
from hanse.apiserver.pod_doors import PodRun
from hanse.apiserver.streaming.channels import PROTOCOLS, ChannelSession, Wish, run_session
from hanse.apiserver.streaming.messages import Messages
from hanse.apiserver.streaming.websocket import hold_session
from hanse.kube.errors import ApiError
from hanse.kube.manifest import Obj, labels_of, name_of
from hanse.kube.resources import Resource
from hanse.kube.selectors import LabelSelector
from hanse.kube.server_log import SERVER_LOG
from hanse.simulator.metrics.readings import NODE_METRICS, POD_METRICS

ADDRESS = "127.0.0.1"
_STREAMS = {"stdin": "input", "stdout": "output", "stderr": "error", "tty": "tty"}

Logs = Callable[[str, str, Mapping[str, str]], Awaitable[bytes | AsyncIterator[bytes]]]
Metrics = Callable[[str], Iterable[Obj]]


@dataclass(frozen=True, slots=True)
class NodeAnswers:
    """The functions that answer for a cluster's nodes."""

    logs: Logs
    run: PodRun
    pod_metrics: Metrics
    node_metrics: Metrics


class NodeServer:
    """The listener of a cluster's nodes; make one with `open`."""

    def __init__(self, answers: NodeAnswers) -> None:
        self._answers = answers
        self._handler = web.Server(self._handle, access_log=None, logger=SERVER_LOG)
        self._server: asyncio.Server | None = None
        self.port = 0

    @classmethod
    async def open(cls, answers: NodeAnswers, credentials: ServingCredentials) -> NodeServer:
        """Listen on a free port of the loopback interface."""
        made = cls(answers)
        loop = asyncio.get_running_loop()
        tls = credentials.tls_context()
        # An API server shows a certificate of its own cluster's authority, which nobody here knows.
        tls.verify_mode = ssl.CERT_NONE
        made._server = await loop.create_server(made._handler, ADDRESS, 0, ssl=tls)
        made.port = int(made._server.sockets[0].getsockname()[1])
        return made

    async def close(self) -> None:
        """Stop listening and end what is still being answered."""
        if self._server is not None:
            self._server.close()
        await self._handler.shutdown(0.0)

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            match request.path.strip("/").split("/"):
                case ["containerLogs", namespace, pod, container]:
                    return await self._log(request, namespace, pod, container)
                case ["exec", namespace, pod, container]:
                    return await self._exec(request, _wish(request, namespace, pod, container))
                case ["apis", "metrics.k8s.io", "v1beta1", *rest]:
                    return _json(self._metrics(rest, request.query))
                case ["apis", "metrics.k8s.io"]:
                    return _json(_group())
        except ApiError as error:
            return web.Response(status=error.code, text=str(error))
        return web.Response(status=404, text="404 page not found\n")

    async def _log(self, request: web.BaseRequest, namespace: str, pod: str, container: str) -> web.StreamResponse:
        asked = {**request.query, "container": container}
        found = await self._answers.logs(namespace, pod, asked)
        if isinstance(found, bytes):
            return web.Response(body=found, content_type="text/plain")
        response = web.StreamResponse(headers={"Content-Type": "text/plain"})
        await response.prepare(request)
        async for piece in found:
            await response.write(piece)
        await response.write_eof()
        return response

    async def _exec(self, request: web.BaseRequest, wish: Wish) -> web.StreamResponse:
        async def converse(_protocol: str, messages: Messages) -> None:
            await run_session(ChannelSession(wish, messages), self._answers.run)

        return await hold_session(request, PROTOCOLS, converse)

    def _metrics(self, rest: list[str], query: Mapping[str, str]) -> Obj:
        match rest:
            case []:
                return _resources()
            case ["nodes", *name]:
                return _answer(NODE_METRICS, self._answers.node_metrics(""), name, query)
            case ["pods"]:
                return _answer(POD_METRICS, self._answers.pod_metrics(""), [], query)
            case ["namespaces", namespace, "pods", *name]:
                return _answer(POD_METRICS, self._answers.pod_metrics(namespace), name, query)
        raise ApiError(404, "NotFound", "the server could not find the requested resource")


def _wish(request: web.BaseRequest, namespace: str, pod: str, container: str) -> Wish:
    """Read what is to be run, in the words in which API servers ask kubelets."""
    streams = {name: request.query.get(word) == "1" for name, word in _STREAMS.items()}
    return Wish(namespace, pod, container, tuple(request.query.getall("command", [])), **streams)


def _answer(resource: Resource, found: Iterable[Obj], name: list[str], query: Mapping[str, str]) -> Obj:
    if name:
        named = next((obj for obj in found if name_of(obj) == name[0]), None)
        if named is None:
            raise ApiError(404, "NotFound", f'{resource.group_resource} "{name[0]}" not found')
        return named
    selector = LabelSelector.parse(query.get("labelSelector", ""))
    items = [obj for obj in found if selector.matches(labels_of(obj))]
    return {"kind": f"{resource.kind}List", "apiVersion": resource.api_version, "metadata": {}, "items": items}


def _resources() -> Obj:
    served = [
        {
            "name": one.plural,
            "singularName": "",
            "namespaced": one.namespaced,
            "kind": one.kind,
            "verbs": ["get", "list"],
        }
        for one in (NODE_METRICS, POD_METRICS)
    ]
    body = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": POD_METRICS.api_version}
    return {**body, "resources": served}


def _group() -> Obj:
    version = {"groupVersion": POD_METRICS.api_version, "version": POD_METRICS.version}
    body = {"kind": "APIGroup", "apiVersion": "v1", "name": POD_METRICS.group}
    return {**body, "versions": [version], "preferredVersion": version}


def _json(body: Obj) -> web.Response:
    return web.Response(body=orjson.dumps(body), content_type="application/json")
