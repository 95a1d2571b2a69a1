"""An operator written with kopf serves a custom kind on a served instance."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import aclosing, contextmanager
from pathlib import Path

import pytest

from hanse.kube import Client, Kubeconfig, SystemRuntime, is_true
from hanse.kube.http import HttpTransport
from hanse.kube.resources import Resource
from hanse.kube.watch import WatchEvent
from tests.component.apiserver.real_tools import served

pytestmark = pytest.mark.kubernetes

pytest.importorskip("kopf", reason="the group `clients` is not installed: make test-kubernetes does")

OPERATOR = """
import kopf

@kopf.on.create("example.com", "v1", "greetings")
def greet(spec, **_):
    return {"text": "hello " + spec["whom"]}

@kopf.on.update("example.com", "v1", "greetings", field="spec.whom")
def greet_again(new, patch, **_):
    patch.status["again"] = "hello " + new

@kopf.on.delete("example.com", "v1", "greetings")
def part(**_):
    pass
"""
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "greetings.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "greetings", "kind": "Greeting", "singular": "greeting"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}
CRDS = Resource("apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False)
GREETING = {
    "apiVersion": "example.com/v1",
    "kind": "Greeting",
    "metadata": {"name": "g", "namespace": "default"},
    "spec": {"whom": "world"},
}
GREETINGS = Resource("example.com", "v1", "greetings", "Greeting", namespaced=True)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    with served(tmp_path) as folder:
        yield folder


@contextmanager
def operating(folder: Path) -> Iterator[Path]:
    """Run the operator for the length of a block, and give its log."""
    program, log = folder / "operator.py", folder / "operator.log"
    program.write_text(OPERATOR)
    command = [sys.executable, "-m", "kopf", "run", "--namespace=default", "--standalone", str(program)]
    environment = {**os.environ, "KUBECONFIG": str(folder / "kubeconfig")}
    with log.open("wb") as out, subprocess.Popen(command, stdout=out, stderr=out, env=environment) as operator:
        try:
            yield log
        finally:
            operator.terminate()


async def established(client: Client) -> None:
    """Wait until the custom kind is served."""
    definition = await client.get(CRDS, "greetings.example.com")
    if is_true(definition.get("status", {}).get("conditions"), "Established"):
        return
    version = definition["metadata"]["resourceVersion"]
    async with asyncio.timeout(30), aclosing(client.watch(CRDS, version=version)) as events:
        async for event in events:
            if is_true(event.object.get("status", {}).get("conditions"), "Established"):
                return


async def until(client: Client, happens: Callable[[WatchEvent], bool]) -> None:
    """Watch the greetings from their beginning until something happens."""
    async with asyncio.timeout(30), aclosing(client.watch(GREETINGS, "default", version="")) as events:
        async for event in events:
            if happens(event):
                return


async def test_an_operator_greets_follows_changes_and_lets_go(folder: Path) -> None:
    client = Client(HttpTransport(Kubeconfig.load(folder / "kubeconfig").endpoint("admin")), SystemRuntime())
    await client.create(CRDS, DEFINITION)
    await established(client)
    with operating(folder) as log:
        try:
            await client.create(GREETINGS, GREETING)
            await until(client, lambda event: "hello world" in str(event.object))
            await client.patch(GREETINGS, "g", {"spec": {"whom": "hanse"}}, namespace="default")
            await until(client, lambda event: "hello hanse" in str(event.object))
            leaving = asyncio.create_task(until(client, lambda event: event.type == "DELETED"))
            await client.delete(GREETINGS, "g", "default")
            await leaving
        finally:
            await client.close()
    assert "Handler 'part' succeeded." in log.read_text()
