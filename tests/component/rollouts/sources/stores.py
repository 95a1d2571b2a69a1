"""Charts made on the spot, and where they are had: an HTTP repository and a registry on loopback.

The registry is a stub of the distribution protocol: it speaks the few requests that fetching a chart needs.
"""

import asyncio
import hashlib
import io
import json
import tarfile
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import yaml
from aiohttp import web

from hanse.apiserver import ApiServer, Identity, MemoryStorage
from hanse.kube.client import Client
from hanse.kube.resources import CONFIGMAPS
from hanse.kube.runtime import SystemRuntime

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}-web
spec:
  replicas: {{ .Values.replicaCount }}
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels: {app: web}
    spec:
      containers:
        - name: web
          image: nginx:{{ .Chart.Version }}
"""
SERVICE = """\
apiVersion: v1
kind: Service
metadata:
  name: web
spec:
  selector: {app: web}
  ports: [{port: 80}]
"""


def packed(files):
    """A tar.gz of files by their paths."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, content in files.items():
            body = content if isinstance(content, bytes) else content.encode()
            member = tarfile.TarInfo(name)
            member.size = len(body)
            tar.addfile(member, io.BytesIO(body))
    return buffer.getvalue()


def chart_files(name="web", version="0.1.0", files=None):
    """The files of a chart; those given come on top."""
    return {
        "Chart.yaml": f"apiVersion: v2\nname: {name}\nversion: {version}\n",
        "values.yaml": "replicaCount: 2\n",
        "templates/deployment.yaml": DEPLOYMENT,
        "templates/service.yaml": SERVICE,
        **(files or {}),
    }


def packed_chart(name="web", version="0.1.0", files=None):
    """A chart as `helm package` packs it."""
    return packed({f"{name}/{path}": content for path, content in chart_files(name, version, files).items()})


@dataclass
class Store:
    """What a server on loopback has, and what it was asked for. `dead` breaks connections, `hung` lets them wait.

    A file may be a function that makes the answer.
    """

    url: str = ""
    index: dict[str, Any] = field(default_factory=lambda: {"apiVersion": "v1", "entries": {}})
    files: dict[str, Any] = field(default_factory=dict)
    headers: dict[str, Any] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    dead: bool = False
    hung: bool = False

    def add(self, archive, name="web", version="0.1.0", **entry):
        """Offer an archive, as `helm repo index` lists it."""
        path = f"{name}-{version}.tgz"
        self.files[path] = archive
        digest = hashlib.sha256(archive).hexdigest()
        listed = {"name": name, "version": version, "urls": [path], "digest": digest, **entry}
        self.index["entries"].setdefault(name, []).append(listed)

    async def answer(self, request):
        self.asked.append(request.path)
        if self.hung:
            await asyncio.Event().wait()
        if self.dead:
            request.transport.abort()
            return web.Response()
        name = request.path.removeprefix("/charts/")
        if name == "index.yaml" and name not in self.files:
            return web.Response(body=yaml.safe_dump(self.index).encode(), headers=self.headers)
        found = self.files.get(name)
        if callable(found):
            return found()
        return web.Response(status=404) if found is None else web.Response(body=found, headers=self.headers)


def status(code, **headers):
    """Make an answer without a body."""
    return lambda: web.Response(status=code, headers=headers)


@dataclass
class RegistryStub:
    """A registry with charts by repository and tag; with a `token` it wants that, and gives it to anybody."""

    host: str = ""
    charts: dict[str, Any] = field(default_factory=dict)
    blobs: dict[str, Any] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    token: str = ""
    page: int = 1000
    media_type: str = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
    challenge: str = 'Bearer realm="http://{host}/token",service="stub"'

    def push(self, repository, version, archive):
        digest = f"sha256:{hashlib.sha256(archive).hexdigest()}"
        self.blobs[digest] = archive
        layers = [{"mediaType": self.media_type, "digest": digest, "size": len(archive)}]
        self.charts.setdefault(repository, {})[version.replace("+", "_")] = {"schemaVersion": 2, "layers": layers}

    async def answer(self, request):
        self.asked.append(request.path)
        if request.path == "/token":
            return web.json_response({"token": self.token, "scope": request.query.get("scope")})
        if self.token and request.headers.get("authorization") != f"Bearer {self.token}":
            return web.Response(status=401, headers={"www-authenticate": self.challenge.format(host=self.host)})
        repository, kind, name = request.path.removeprefix("/v2/").rsplit("/", 2)
        tags = self.charts.get(repository, {})
        if kind == "blobs" and name in self.blobs:
            return web.Response(body=self.blobs[name])
        if kind == "manifests" and name in tags:
            return web.Response(body=json.dumps(tags[name]).encode())
        if kind == "tags" and tags:
            return self._list(request, sorted(tags))
        return web.Response(status=404)

    def _list(self, request, tags):
        start = int(request.query.get("last", 0))
        headers = {}
        if start + self.page < len(tags):
            headers["link"] = f'<{request.path}?last={start + self.page}>; rel="next"'
        return web.json_response({"tags": tags[start : start + self.page]}, headers=headers)


@asynccontextmanager
async def served(store, tls=None):
    """Serve a store on loopback."""
    runner = web.ServerRunner(web.Server(store.answer), shutdown_timeout=0.01)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
    await site.start()
    port = site._server.sockets[0].getsockname()[1]
    store.url, store.host = f"{'https' if tls else 'http'}://127.0.0.1:{port}/charts", f"127.0.0.1:{port}"
    try:
        yield store
    finally:
        await runner.cleanup()


async def host_client():
    """A client of an API server in memory, as an administrator, on real time."""
    runtime = SystemRuntime()
    server = await ApiServer.open(name="host", storage=MemoryStorage(), runtime=runtime)
    return Client(server.connect(Identity("admin", ("system:masters",))), runtime)


async def put_configmap(host, name, **fields):
    """Keep a ConfigMap in the namespace default."""
    metadata = {"name": name, "namespace": "default"}
    await host.create(CONFIGMAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **fields})
