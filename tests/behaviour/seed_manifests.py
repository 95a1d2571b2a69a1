"""The manifests of examples/federation-v1 as a user creates them: what comes of them in a federation of three clusters.

Numbers are the lines of docs/reference/federation-v1.md.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tests.e2e.federation import MEMBERS, Federation, Refused, get
from tests.kubernetes.real import KubectlError, wait_until

FOLDER = "examples/federation-v1"
FILES = ("my-namespace", "my-service", "my-service-rc", "myconfig")
# One of each kind: most clouds give a load balancer an address, some a name, a bare data centre nothing.
PROVIDERS = {"ap-south": "ip", "eu-west": "hostname", "us-east": "none"}
LABELS = {
    "ap-south": ("location=asia", "environment=prod"),
    "eu-west": ("location=europe", "environment=prod"),
    "us-east": ("location=us", "environment=prod"),
}
HOSTNAME = "my-service.my-namespace.federation.federation.local"
PATIENCE_SECONDS = 60.0


def the_seeds_manifests_give_the_seeds_results(federation: Federation) -> None:
    """Lines 1, 2, 3, 21, 72, 73 and 74, on clusters of three providers."""
    for member, labels in LABELS.items():
        federation.kubectl("federation", "label", "clusters", member, *labels, "--overwrite")
    for name in FILES:
        federation.kubectl("federation", "create", "--filename", f"{FOLDER}/{name}.yaml")

    _until("two replicas in each cluster", lambda: _ready(federation) == dict.fromkeys(MEMBERS, 2))
    _until("six replicas on the federation", lambda: _ready_on(federation, "federation") == 6)
    _until("two clusters with addresses", lambda: len(_told(federation)) == 2)
    _until("its own name", lambda: _addresses(federation, "federation") == [HOSTNAME])
    _until("the name in DNS", lambda: federation.dig(HOSTNAME))
    _services_are_the_clusters_own(federation)

    _until("the ConfigMap in europe alone", lambda: _configured(federation) == ["eu-west"])
    federation.kubectl("federation", "label", "clusters", "us-east", "location=europe", "--overwrite")
    _until("the ConfigMap in both", lambda: _configured(federation) == ["eu-west", "us-east"])
    federation.kubectl("federation", "label", "clusters", "eu-west", "location-")
    _until("the ConfigMap gone from one", lambda: _configured(federation) == ["us-east"])

    for name in reversed(FILES):
        federation.kubectl("federation", "delete", "--filename", f"{FOLDER}/{name}.yaml")
    assert _ready(federation) == {}
    assert _configured(federation) == []


def _until(what: str, holds: Any) -> None:
    wait_until(holds, seconds=PATIENCE_SECONDS, what=what)


def _services_are_the_clusters_own(federation: Federation) -> None:
    copies = {member: _service(federation, member) for member in MEMBERS}
    for copy in copies.values():
        assert [(port["name"], port["port"]) for port in copy["spec"]["ports"]] == [("client", 2379), ("peer", 2380)]
        assert copy["spec"]["selector"] == {"run": "my-service"}
        assert copy["spec"]["clusterIP"]
    told = {member: _addresses(federation, member) for member in MEMBERS}
    assert told["us-east"] == []
    assert _told(federation) == {member: entries for member, entries in told.items() if entries}
    # Real servers do not know the names of simulated load balancers, and lead clients to the others.
    _until("the address in DNS", lambda: told["ap-south"][0] in federation.dig(HOSTNAME))
    assert set(federation.dig(HOSTNAME)) <= {told["ap-south"][0], _behind(told["eu-west"][0])}


def _told(federation: Federation) -> dict[str, list[str]]:
    """Return the clusters' addresses as the federation's Service lists them."""
    annotations = _service(federation, "federation")["metadata"].get("annotations", {})
    items = json.loads(annotations.get("federation.kubernetes.io/service-ingresses", "{}")).get("items", [])
    entries = {item["cluster"]: item["items"] or [] for item in items}
    return {cluster: [entry.get("ip") or entry["hostname"] for entry in listed] for cluster, listed in entries.items()}


def _behind(name: str) -> str:
    """Return the address that a simulated load balancer's name stands for."""
    return name.split(".", maxsplit=1)[0].removeprefix("lb-").replace("-", ".")


def _service(federation: Federation, context: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = get(federation, context, "service", "my-service", "--namespace=my-namespace")
    return found


def _addresses(federation: Federation, context: str) -> list[str]:
    entries = _service(federation, context)["status"]["loadBalancer"].get("ingress", [])
    return [entry.get("ip") or entry["hostname"] for entry in entries]


def _ready(federation: Federation) -> dict[str, int]:
    found = {member: _ready_on(federation, member) for member in MEMBERS}
    return {member: count for member, count in found.items() if count is not None}


def _ready_on(federation: Federation, context: str) -> int | None:
    try:
        found = get(federation, context, "replicationcontroller", "my-service", "--namespace=my-namespace")
    except (Refused, KubectlError):
        return None
    ready: int = found["status"].get("readyReplicas", 0)
    return ready


def _configured(federation: Federation) -> list[str]:
    found = []
    for member in MEMBERS:
        items = get(federation, member, "configmaps", "--field-selector=metadata.name=myconfig")["items"]
        assert all(item["data"] == {"myconfigkey": "myconfigdata"} for item in items)
        found += [member] * len(items)
    return found
