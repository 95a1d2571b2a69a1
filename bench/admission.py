"""Measures the admission of elected pods: how long a review takes, over HTTPS as an API server asks and without it.

The server and whoever asks share one process and one connection, so that what is measured includes both ends.
"""

from __future__ import annotations

import argparse
import asyncio
import ssl
import time
from collections.abc import Sequence

import aiohttp
import orjson

from hanse.api.admiralty.definitions import ADMIRALTY_CRDS
from hanse.api.admiralty.keys import ELECT
from hanse.api.admiralty.kinds import CLUSTER_TARGETS
from hanse.api.admiralty.names import TargetName
from hanse.apiserver import ApiServer, Identity, MemoryStorage
from hanse.kube.client import Client
from hanse.kube.manifest import Obj
from hanse.kube.resources import CRDS
from hanse.kube.runtime import SystemRuntime
from hanse.pods.admission.certificates import new_authority, new_certificate
from hanse.pods.admission.manifests import PODS_PATH
from hanse.pods.admission.reviews import Knowledge, answer_pod, read_review
from hanse.pods.admission.seals import Sealer
from hanse.pods.admission.server import AdmissionServer

_TARGETS = 10
_WARM_UP = 100


def ordinary_review() -> bytes:
    """Return a review of a pod as a Deployment makes them: two containers, probes, volumes, about 5 KB."""
    container = {
        "name": "web",
        "image": "registry.example.com/shop/web:1.2.3",
        "env": [{"name": f"SETTING_{number}", "value": "x" * 40} for number in range(20)],
        "ports": [{"containerPort": 8080, "protocol": "TCP"}],
        "resources": {"requests": {"cpu": "250m", "memory": "256Mi"}, "limits": {"memory": "256Mi"}},
        "livenessProbe": {"httpGet": {"path": "/healthz", "port": 8080}, "periodSeconds": 10},
        "volumeMounts": [{"name": f"config-{number}", "mountPath": f"/etc/{number}"} for number in range(5)],
    }
    spec = {
        "containers": [container, {**container, "name": "sidecar"}],
        "volumes": [{"name": f"config-{number}", "configMap": {"name": f"c-{number}"}} for number in range(5)],
        "nodeSelector": {"disk": "fast"},
        "tolerations": [{"key": "node.kubernetes.io/not-ready", "effect": "NoExecute", "tolerationSeconds": 300}],
    }
    metadata = {"generateName": "web-", "namespace": "shop", "labels": {"app": "web"}, "annotations": {ELECT: ""}}
    request = {
        "uid": "0a1b2c3d",
        "operation": "CREATE",
        "namespace": "shop",
        "userInfo": {"username": "system:serviceaccount:kube-system:replicaset-controller", "groups": []},
        "object": {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec},
    }
    return orjson.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})


async def over_https(reviews: int) -> list[float]:
    """Return how many seconds each review took over one connection."""
    runtime = SystemRuntime()
    api = await ApiServer.open(name="source", storage=MemoryStorage(), runtime=runtime)
    client = Client(api.connect(Identity("admin", ("system:masters",))), runtime)
    for definition in ADMIRALTY_CRDS:
        await client.create(CRDS, definition)
    for number in range(_TARGETS):
        about: Obj = {"metadata": {"name": f"target-{number}"}, "spec": {"self": True}}
        kind = {"apiVersion": CLUSTER_TARGETS.api_version, "kind": CLUSTER_TARGETS.kind}
        await client.create(CLUSTER_TARGETS, {**kind, **about})
    certificate = new_certificate(new_authority(runtime), ["127.0.0.1"], runtime)
    server = AdmissionServer(client, "home", certificate, "127.0.0.1")
    running = asyncio.create_task(server.run())
    await server.wait_serving()
    trusting = ssl.create_default_context(cadata=certificate.authority_pem.decode())
    connector = aiohttp.TCPConnector(ssl=trusting, limit=1)
    try:
        async with aiohttp.ClientSession(f"https://127.0.0.1:{server.port}", connector=connector) as session:
            return await _asked(session, reviews)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await api.close()


async def _asked(session: aiohttp.ClientSession, reviews: int) -> list[float]:
    body, taken = ordinary_review(), []
    for number in range(reviews + _WARM_UP):
        began = time.perf_counter()
        async with session.post(PODS_PATH, data=body) as answer:
            told = orjson.loads(await answer.read())["response"]
        if number >= _WARM_UP:
            taken.append(time.perf_counter() - began)
        if not told["allowed"] or "patch" not in told:
            raise RuntimeError(f"the pod was not elected: {told}")
    return taken


def by_function(reviews: int) -> list[float]:
    """Return how many seconds each answer took, without a network."""
    targets = [TargetName("", f"target-{number}") for number in range(_TARGETS)]
    known, body, taken = Knowledge("home", targets, Sealer(b"key", 0.0)), ordinary_review(), []
    for _ in range(reviews):
        began = time.perf_counter()
        orjson.dumps(answer_pod(read_review(body), known))
        taken.append(time.perf_counter() - began)
    return taken


def _line(what: str, taken: Sequence[float]) -> str:
    ordered = sorted(taken)
    shares = {f"P{share}": ordered[min(len(ordered) - 1, len(ordered) * share // 100)] for share in (50, 90, 99)}
    told = ", ".join(f"{name} {seconds * 1000:.2f} ms" for name, seconds in shares.items())
    return f"{what}: {told}, longest {ordered[-1] * 1000:.2f} ms ({len(ordered)} reviews)"


def main() -> None:
    """Print how long reviews of an ordinary pod take."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reviews", type=int, default=2000)
    reviews = parser.parse_args().reviews
    print(f"an ordinary pod, {len(ordinary_review())} bytes of review, {_TARGETS} targets (target: P99 10 ms)")
    print(_line("the answer alone", by_function(reviews)))
    print(_line("over HTTPS", asyncio.run(over_https(reviews))))


if __name__ == "__main__":
    main()
