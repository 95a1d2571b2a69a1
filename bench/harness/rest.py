"""Plain Kubernetes REST: one API server, reached as a kubeconfig says."""

from __future__ import annotations

import asyncio
import base64
import json
import re
import ssl
import sys
import tempfile
import time
from collections.abc import Iterable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import yaml

Manifest = dict[str, Any]

clock = time.monotonic
_RETRIED = frozenset({429, 500, 502, 503, 504})


def log(text: str) -> None:
    """Tell the person at the terminal how far the run is."""
    print(f"[{time.strftime('%H:%M:%S')}] {text}", file=sys.stderr, flush=True)


@dataclass(frozen=True)
class Endpoint:
    """What a kubeconfig's current context says about one API server."""

    server: str
    tls: ssl.SSLContext | bool
    headers: dict[str, str]


def load_kubeconfig(path: str) -> Endpoint:
    """Read the current context of a kubeconfig."""
    config = yaml.safe_load(Path(path).read_text())

    def pick(section: str, name: str) -> Manifest:
        found: Manifest = next(entry for entry in config[section] if entry["name"] == name)
        return found

    context = pick("contexts", config["current-context"])["context"]
    cluster = pick("clusters", context["cluster"])["cluster"]
    user = pick("users", context["user"])["user"]
    here = Path(path).parent

    def material(holder: Manifest, key: str) -> bytes | None:
        if data := holder.get(f"{key}-data"):
            return base64.b64decode(data)
        if name := holder.get(key):
            return here.joinpath(name).read_bytes()
        return None

    tls: ssl.SSLContext | bool = True
    if cluster["server"].startswith("https"):
        ca = material(cluster, "certificate-authority")
        tls = ssl.create_default_context(cadata=ca.decode() if ca else None)
        if cluster.get("insecure-skip-tls-verify"):
            tls.check_hostname = False
            tls.verify_mode = ssl.CERT_NONE
        cert, key = material(user, "client-certificate"), material(user, "client-key")
        if cert and key:  # load_cert_chain only takes files
            with tempfile.NamedTemporaryFile() as pem:
                pem.write(cert + b"\n" + key)
                pem.flush()
                tls.load_cert_chain(pem.name)
    headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
    if token := user.get("token"):
        headers["Authorization"] = f"Bearer {token}"
    return Endpoint(cluster["server"].rstrip("/"), tls, headers)


class ApiError(Exception):
    """An API server refused a request."""

    def __init__(self, status: int, text: str):
        super().__init__(f"HTTP {status}: {text[:300]}")
        self.status = status


class Api:
    """One API server. Retries what a well-behaved client would retry."""

    def __init__(self, name: str, kubeconfig: str, connections: int):
        self.name = name
        self.retries = 0
        self._endpoint = load_kubeconfig(kubeconfig)
        self._session = aiohttp.ClientSession(
            headers=self._endpoint.headers,
            connector=aiohttp.TCPConnector(limit=connections, ssl=self._endpoint.tls),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=30),
        )

    async def close(self) -> None:
        """Close all connections."""
        await self._session.close()

    async def request(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        content_type: str = "application/json",
        accept: Iterable[int] = (),
    ) -> bytes:
        """Send one request; statuses in `accept` count as success."""
        headers = {"Content-Type": content_type} if body is not None else None
        attempt = 0
        while True:
            attempt += 1
            try:
                async with self._session.request(
                    method, self._endpoint.server + path, data=body, headers=headers
                ) as response:
                    payload = await response.read()
                    status, wait = response.status, response.headers.get("Retry-After")
            except (aiohttp.ClientConnectionError, aiohttp.ClientPayloadError):
                if attempt >= 6:
                    raise
                status, payload, wait = 0, b"", None
            if 200 <= status < 300 or status in accept:
                return payload
            if status and (status not in _RETRIED or attempt >= 6):
                raise ApiError(status, payload.decode(errors="replace"))
            self.retries += 1
            await asyncio.sleep(float(wait or 0) or 0.05 * 2**attempt)

    async def get(self, path: str) -> Manifest:
        """Read an object or a list."""
        answer: Manifest = json.loads(await self.request("GET", path))
        return answer

    async def create(self, obj: Manifest) -> None:
        """Create an object, unless it is there already."""
        path = path_of(obj).rsplit("/", 1)[0]
        await self.request("POST", path, json.dumps(obj).encode(), accept=(409,))

    async def revision(self) -> int:
        """The store's current global revision: its rate of change is the write rate."""
        probe = await self.get("/api/v1/namespaces/kube-system/configmaps?limit=1")
        return int(probe["metadata"]["resourceVersion"])

    async def changes(self) -> int:
        """How many requests to change something the server has answered, Leases and questions aside."""
        return changes_in((await self.request("GET", "/metrics")).decode())

    def stream(self, path: str) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        """Open an answer that is read as it comes, such as a watch."""
        return self._session.get(self._endpoint.server + path)


_CHANGE = re.compile(r"^apiserver_request_total\{(.*)\} (\S+)$", re.MULTILINE)
_CHANGING_VERBS = frozenset({"POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETECOLLECTION"})
_ASKING_GROUPS = frozenset({"authorization.k8s.io", "authentication.k8s.io"})


def changes_in(metrics: str) -> int:
    """Count the requests to change something in a server's metrics; a Lease is renewed whether or not one rests."""
    total = 0
    for labels, count in _CHANGE.findall(metrics):
        named = dict(re.findall(r'(\w+)="([^"]*)"', labels))
        asks = named.get("group") in _ASKING_GROUPS or named.get("resource") == "leases"
        if named.get("verb") in _CHANGING_VERBS and not asks:
            total += int(float(count))
    return total


PLURAL_EXCEPTIONS = {"Endpoints": "endpoints", "Ingress": "ingresses"}


def path_of(obj: Manifest) -> str:
    """REST path of an object, for kinds with a regular plural."""
    kind, version = obj["kind"], obj["apiVersion"]
    low = kind.lower()
    plural = PLURAL_EXCEPTIONS.get(kind) or (low[:-1] + "ies" if low.endswith("y") else low + "s")
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    namespace = obj["metadata"].get("namespace")
    middle = f"/namespaces/{namespace}" if namespace else ""
    return f"{root}{middle}/{plural}/{obj['metadata']['name']}"
