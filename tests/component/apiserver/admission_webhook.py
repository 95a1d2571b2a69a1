"""A real HTTPS webhook for tests: it answers reviews as told and remembers what it was asked."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson
from aiohttp import web

from hanse.apiserver import CertificateAuthority
from hanse.kube.manifest import Obj
from hanse.kube.runtime import SystemRuntime

REGISTRATION = "/apis/admissionregistration.k8s.io/v1"
Answer = Callable[[Obj], Obj]


def allowed(**more: Any) -> Answer:
    return lambda request: {"allowed": True, **more}


def denied(**status: Any) -> Answer:
    return lambda request: {"allowed": False, "status": status}


def patching(*operations: Obj) -> Answer:
    patch = base64.b64encode(orjson.dumps(operations)).decode()
    return allowed(patch=patch, patchType="JSONPatch")


class Webhook:
    """Answers at any path: `answers` by path, allowing by default."""

    def __init__(self, authority: CertificateAuthority) -> None:
        self.ca_bundle = base64.b64encode(authority.certificate_pem).decode()
        self.answers: dict[str, Answer] = {}
        self.asked: list[tuple[str, Obj]] = []
        self.stuck = asyncio.Event()
        self.address = ""

    async def handle(self, request: web.Request) -> web.Response:
        review = orjson.loads(await request.read())
        self.asked.append((request.path, review["request"]))
        if request.path == "/stuck":
            await self.stuck.wait()
        if request.path == "/broken":
            return web.Response(status=500, text="out of order")
        answer = self.answers.get(request.path, allowed())(review["request"])
        response = {"uid": review["request"]["uid"], **answer}
        return web.json_response({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})

    def config(self, path: str = "/") -> Obj:
        return {"url": f"https://{self.address}{path}", "caBundle": self.ca_bundle}


@asynccontextmanager
async def serving(folder: Path, *names: str) -> AsyncIterator[Webhook]:
    runtime = SystemRuntime()
    authority = CertificateAuthority.open(folder, runtime=runtime)
    webhook = Webhook(authority)
    application = web.Application()
    application.router.add_post("/{path:.*}", webhook.handle)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    credentials = authority.serving(runtime=runtime, names=names)
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=credentials.tls_context())
    await site.start()
    host, port = runner.addresses[0][:2]
    webhook.address = f"{host}:{port}"
    try:
        yield webhook
    finally:
        webhook.stuck.set()
        await runner.cleanup()


def hook(webhook: Webhook, path: str = "/", **more: Any) -> Obj:
    """Return a webhook entry for all writes of ConfigMaps."""
    rule = {"operations": ["*"], "apiGroups": [""], "apiVersions": ["*"], "resources": ["configmaps"]}
    return {
        "name": "policy.example.com",
        "clientConfig": webhook.config(path),
        "rules": [rule],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        **more,
    }


def configuration(kind: str, *hooks: Obj, name: str = "policy") -> Obj:
    kind = f"{kind}WebhookConfiguration"
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": name},
        "webhooks": list(hooks),
    }
